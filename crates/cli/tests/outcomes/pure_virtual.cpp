// kind: crash
// says: pure virtual
struct Base {
    Base() { call(); }
    void call() {
        work(); // HERE
    }
    virtual void work() = 0;
};
struct Derived : Base {
    void work() override {}
};
int main() {
    Derived derived;
}
