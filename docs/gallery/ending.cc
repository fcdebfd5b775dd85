#include <stdexcept>
#include "ThreadPool.h"

int main()
{
    ThreadPool pool(1);
    pool.enqueue([] { return 1; });
}
