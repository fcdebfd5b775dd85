/*
 * The fixed twin of lent_local.c: the thread is waited for before the function returns.
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

static void run_shop(int amount)
{
	struct order order = {amount, 3};
	pthread_t thread;
	pthread_create(&thread, NULL, clerk, &order);
	atomic_store(&opened, 1);
	pthread_join(thread, NULL);
}

int main(void)
{
	run_shop(4);
	return atomic_load(&sum) == 12 ? 0 : 1;
}
