// Accesses whose names the tests check.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

struct account {
    int id;
    long balance;
    pthread_mutex_t lock;
};

typedef struct {
    pthread_mutex_t lock;
    struct account accounts[8];
    int used;
} Bank;

struct node {
    int value;
    struct node *next;
};

struct fifo {
    int items[10];
    int head, tail;
    pthread_mutex_t *mut;
    union {
        int number;
        float real;
    } last;
};

Bank bank;
struct node *head;
static volatile int running = 1;
_Atomic int ready;
int matrix[3][4];
__thread int mine;
sem_t slots;

void transfer(int from, int to, long amount) {
    pthread_mutex_lock(&bank.lock);
    bank.accounts[from].balance -= amount;
    bank.accounts[to + 1].balance = amount;
    bank.accounts[2].id++;
    bank.used = 1;
    pthread_mutex_unlock(&bank.lock);
}

void one(struct account *account, int *out) {
    pthread_mutex_lock(&account->lock);
    account->balance++;
    *out = account->id;
    out[3] = 4;
    pthread_mutex_unlock(&account->lock);
}

void list(void) {
    head->next->value = 1;
    for (struct node *n = head; n; n = n->next) n->value++;
}

void put(struct fifo *fifo, int i) {
    pthread_mutex_lock(fifo->mut);
    fifo->items[fifo->tail] = i;
    fifo->tail = (fifo->tail + 1) % 10;
    fifo->last.number = i;
    pthread_mutex_unlock(fifo->mut);
}

void others(int row) {
    static int calls;
    calls++;
    matrix[row][2] = 5;
    mine = 3;
    while (running && !ready) {}
    sem_wait(&slots);
    fprintf(stdout, "%d\n", matrix[1][row]);
}

void *cast(void *argument) {
    struct fifo *fifo = argument;
    struct node *fresh = malloc(sizeof *fresh);
    fresh->value = fifo->head;
    ((struct node *)argument)->value = 2;
    free(fresh);
    return argument;
}

int escaping(void (*use)(struct node *)) {
    struct node shared = {1, 0};
    int scratch[4] = {0};
    use(&shared);
    for (int i = 0; i < 4; i++) scratch[i] = shared.value;
    return scratch[2] + shared.value;
}

int main(void) {
    transfer(1, 2, 3);
    return 0;
}
