// Written for this corpus, after settings behind a shared_ptr that are exchanged while others read them.
//
// The list is replaced with a lock held; who looks up a price copies the pointer without it. The old list may be given back
// between the reading of the pointer and the counting of the copy. There are many orders in which that goes wrong, and one lock
// that is missing.
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
    std::shared_ptr<List> list = prices;
    return list->price;
}

int main()
{
    std::thread one([] { replace(5); });
    std::thread two([] { look_up(); });
    one.join();
    two.join();
}
