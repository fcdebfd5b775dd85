/*
 * lent_local: a thread is given the address of a local variable of the function that starts it,
 * and that function returns.
 *
 * Written for this corpus.
 *
 * Bug (missing join): nobody waits for the thread before the function returns. Fails when it
 * has returned before the thread has read what was lent to it.
 */
#include <pthread.h>
#include <stdatomic.h>

struct order {
	int amount;
	int price;
};

static atomic_int sum;
static atomic_int opened;

static void *clerk(void *lent)
{
	struct order *order = lent;
	atomic_store(&sum, order->amount * order->price);
	return NULL;
}

static pthread_t open_shop(int amount)
{
	struct order order = {amount, 3};
	pthread_t thread;
	pthread_create(&thread, NULL, clerk, &order);
	atomic_store(&opened, 1);
	return thread;
}

int main(void)
{
	pthread_t thread = open_shop(4);
	pthread_join(thread, NULL);
	return atomic_load(&sum) == 12 ? 0 : 1;
}
