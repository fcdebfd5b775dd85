/*
 * aba_stack: a pool of three nodes as a lock-free stack. One thread takes two nodes, one
 * takes a node and gives it back, one takes a node and keeps it.
 *
 * Modelled on Treiber's stack and its textbook ABA problem.
 *
 * Bug (atomicity violation that a compare-and-swap does not notice): pop() reads the
 * top and the node below it, then swaps the top if it is still the same node. The same
 * node need not mean the same stack.
 * Fails when the taker has read "0 on top, 1 below" and stops; the borrower pops 0, the
 * keeper pops 1, the borrower gives 0 back; the taker's swap succeeds and puts 1, which
 * is in use, on top. Its second pop hands 1 out once more.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define NODES 3
#define NONE (-1)

static atomic_int top = 0;
static atomic_int below[NODES] = { 1, 2, NONE };
static atomic_bool in_use[NODES];

/* A node for the caller alone, or NONE. A swap fails only if another one succeeded. */
static int pop(void)
{
	int node = top;

	while (node != NONE && !atomic_compare_exchange_strong(&top, &node, below[node]))
		;
	if (node != NONE) {
		bool handed_out = atomic_exchange(&in_use[node], true);
		assert(!handed_out);
	}
	return node;
}

static void push(int node)
{
	int old = top;

	in_use[node] = false;
	do
		below[node] = old;
	while (!atomic_compare_exchange_strong(&top, &old, node));
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
