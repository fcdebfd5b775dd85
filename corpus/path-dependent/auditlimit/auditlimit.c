/*
 * auditlimit: a payment is booked under the lock of the account; a large one is
 * noted in the audit book, too, which an auditor reads beside it.
 *
 * Ours, for hunting inputs and schedules together; modelled on lock orders that
 * only a rare branch inverts.
 *
 * Bug (deadlock): the auditor locks the book and then the account, a payment the
 * account and then, if it is at least LIMIT, the book. It takes a large amount,
 * and that both hold their first lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define LIMIT 10000
#define MOST 1000000

extern int __VERIFIER_nondet_int(void);

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t book = PTHREAD_MUTEX_INITIALIZER;
static int balance;
static int noted;

static void *pay(void *arg)
{
	const int *amount = arg;

	pthread_mutex_lock(&account);
	balance += *amount;
	if (*amount >= LIMIT) {
		pthread_mutex_lock(&book);
		noted += *amount;
		pthread_mutex_unlock(&book);
	}
	pthread_mutex_unlock(&account);
	return NULL;
}

static void *audit(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&book);
	pthread_mutex_lock(&account);
	assert(noted <= balance);
	pthread_mutex_unlock(&account);
	pthread_mutex_unlock(&book);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int amount = __VERIFIER_nondet_int();

	if (amount < 0 || amount > MOST)
		return 0;
	pthread_create(&threads[0], NULL, pay, &amount);
	pthread_create(&threads[1], NULL, audit, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
