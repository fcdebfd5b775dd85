/*
 * The fixed twin of aba_stack.c: the top carries a version, which grows with every
 * change, so that a swap succeeds only if nothing has changed.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define NODES 3
#define NONE (-1)

/* The top node, and how often the top was changed: no state of the stack comes twice. */
struct top {
	int node;
	unsigned version;
};

static _Atomic struct top top;
static atomic_int below[NODES] = { 1, 2, NONE };
static atomic_bool in_use[NODES];

/* A node for the caller alone, or NONE. A swap fails only if another one succeeded. */
static int pop(void)
{
	struct top old = top, new;

	do {
		if (old.node == NONE)
			return NONE;
		new = (struct top){ below[old.node], old.version + 1 };
	} while (!atomic_compare_exchange_strong(&top, &old, new));
	bool handed_out = atomic_exchange(&in_use[old.node], true);
	assert(!handed_out);
	return old.node;
}

static void push(int node)
{
	struct top old = top, new;

	in_use[node] = false;
	do {
		below[node] = old.node;
		new = (struct top){ node, old.version + 1 };
	} while (!atomic_compare_exchange_strong(&top, &old, new));
}

static void *taker(void *arg)
{
	(void)arg;
	pop();
	pop();
	return NULL;
}

static void *borrower(void *arg)
{
	(void)arg;
	int node = pop();
	if (node != NONE)
		push(node);
	return NULL;
}

static void *keeper(void *arg)
{
	(void)arg;
	pop();
	return NULL;
}

int main(void)
{
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, taker, NULL);
	pthread_create(&threads[1], NULL, borrower, NULL);
	pthread_create(&threads[2], NULL, keeper, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
