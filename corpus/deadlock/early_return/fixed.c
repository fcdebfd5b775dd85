/*
 * The fixed twin of early_return.c: the error path unlocks, too.
 */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 10;

static int withdraw(int amount)
{
	pthread_mutex_lock(&account_lock);
	if (amount > balance) {
		pthread_mutex_unlock(&account_lock);
		return -1;
	}
	balance -= amount;
	pthread_mutex_unlock(&account_lock);
	return 0;
}

static void *clerk(void *amount)
{
	withdraw(*(int *)amount);
	return NULL;
}

int main(void)
{
	int amounts[] = { 3, 20 };
	pthread_t clerks[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&clerks[i], NULL, clerk, &amounts[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(clerks[i], NULL);
	return 0;
}
