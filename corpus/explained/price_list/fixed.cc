// price_list.cc, where the pointer is copied with the lock held.
#include <memory>
#include <mutex>
#include <thread>

struct List {
    int price;
};

static std::mutex shop;
static std::shared_ptr<List> prices = std::make_shared<List>(List{3});

static void replace(int price)
{
    auto fresh = std::make_shared<List>(List{price});
    std::lock_guard<std::mutex> guard(shop);
    prices = fresh;
}

static int look_up()
{
    std::shared_ptr<List> list;
    {
        std::lock_guard<std::mutex> guard(shop);
        list = prices;
    }
    return list->price;
}

int main()
{
    std::thread one([] { replace(5); });
    std::thread two([] { look_up(); });
    one.join();
    two.join();
}
