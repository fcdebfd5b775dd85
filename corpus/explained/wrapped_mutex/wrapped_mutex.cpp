// A ticket office that is allocated with `new`. Its mutexes are a class of the project around `std::mutex`, and are held by
// a guard of the project: every lock is taken in `Lock`, which is called in `Hold`, and neither says where.
//
// The bug: `sell` locks the desk and then the safe, `count` the safe and then the desk.
#include <mutex>
#include <thread>

class Mutex {
public:
    void Lock() { inner_.lock(); }
    void Unlock() { inner_.unlock(); }

private:
    std::mutex inner_;
};

class Hold {
public:
    explicit Hold(Mutex *mutex) : mutex_(mutex) { mutex_->Lock(); }
    ~Hold() { mutex_->Unlock(); }

private:
    Mutex *const mutex_;
};

class Office {
public:
    void sell() {
        Hold desk(&desk_);
        tickets_ -= 1;
        Hold safe(&safe_);
        money_ += 30;
    }

    int count() {
        Hold safe(&safe_);
        int sum = money_;
        Hold desk(&desk_);
        return sum + 30 * tickets_;
    }

private:
    Mutex desk_;
    int tickets_ = 10;
    Mutex safe_;
    int money_ = 0;
};

int main() {
    Office *office = new Office;
    std::thread seller([office] { office->sell(); });
    std::thread keeper([office] { office->count(); });
    seller.join();
    keeper.join();
    delete office;
}
