// A shop on the heap with a till and a shelf, each with a lock of its own. Locks are never taken directly: `take` and
// `give` are thin wrappers that check what the functions of POSIX return, as most projects have them, and the shop itself
// comes from a wrapper of `malloc`.
//
// The bug: a sale locks the till and then the shelf, a delivery the shelf and then the till.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct guard {
    long taken;
    pthread_mutex_t mutex;
};

struct shop {
    struct guard till;
    int cash;
    struct guard shelf;
    int goods;
};

static void stop(int error, const char *where) {
    fprintf(stderr, "%s: error %d\n", where, error);
    exit(2);
}

static void prepare(struct guard *guard) {
    int error = pthread_mutex_init(&guard->mutex, NULL);
    if (error != 0)
        stop(error, "prepare");
}

static void take(struct guard *guard) {
    int error = pthread_mutex_lock(&guard->mutex);
    if (error != 0)
        stop(error, "take");
}

static void give(struct guard *guard) {
    int error = pthread_mutex_unlock(&guard->mutex);
    if (error != 0)
        stop(error, "give");
}

static void *allot(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        stop(0, "allot");
    return memory;
}

static void *sale(void *argument) {
    struct shop *shop = argument;
    take(&shop->till);
    take(&shop->shelf);
    shop->goods -= 1;
    shop->cash += 5;
    give(&shop->shelf);
    give(&shop->till);
    return NULL;
}

static void *delivery(void *argument) {
    struct shop *shop = argument;
    take(&shop->shelf);
    take(&shop->till);
    shop->goods += 10;
    shop->cash -= 20;
    give(&shop->till);
    give(&shop->shelf);
    return NULL;
}

int main(void) {
    struct shop *shop = allot(sizeof *shop);
    prepare(&shop->till);
    prepare(&shop->shelf);
    pthread_t seller, supplier;
    pthread_create(&seller, NULL, sale, shop);
    pthread_create(&supplier, NULL, delivery, shop);
    pthread_join(seller, NULL);
    pthread_join(supplier, NULL);
    pthread_mutex_destroy(&shop->till.mutex);
    pthread_mutex_destroy(&shop->shelf.mutex);
    free(shop);
    return 0;
}
