/*
 * The fixed twin of auditlimit.c: the auditor takes the locks in the order in
 * which a payment does.
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
	pthread_mutex_lock(&account);
	pthread_mutex_lock(&book);
	assert(noted <= balance);
	pthread_mutex_unlock(&book);
	pthread_mutex_unlock(&account);
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
