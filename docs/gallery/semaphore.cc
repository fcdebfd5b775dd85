#include <semaphore>
#include <thread>

int main()
{
    std::counting_semaphore<> places(0);
    std::thread first([&] { places.acquire(); });
    std::thread second([&] { places.acquire(); });
    places.release();
    places.release();
    first.join();
    second.join();
}
