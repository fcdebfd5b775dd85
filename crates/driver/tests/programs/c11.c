/* Threads, locks, conditions and once of <threads.h>; the second argument says that nobody signals. */
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

static mtx_t lock, timed;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static int ready, rounds, silent, made;

static void make(void)
{
	made++;
}

static int waiter(void *arg)
{
	call_once(&once, make);
	mtx_lock(&lock);
	while (ready < rounds)
		cnd_wait(&changed, &lock);
	mtx_unlock(&lock);
	return *(int *)arg + 1;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : 3;
	silent = argc > 2;
	mtx_init(&lock, mtx_plain);
	mtx_init(&timed, mtx_timed);
	cnd_init(&changed);
	thrd_t thread;
	int value = 41, result = 0;
	if (thrd_create(&thread, waiter, &value) != thrd_success)
		return 2;
	call_once(&once, make);
	for (int i = 0; i < rounds && !silent; i++) {
		mtx_lock(&lock);
		ready++;
		cnd_broadcast(&changed);
		mtx_unlock(&lock);
	}
	struct timespec until = {0, 0};
	if (mtx_trylock(&timed) != thrd_success || mtx_timedlock(&timed, &until) != thrd_timedout)
		return 3;
	if (cnd_timedwait(&changed, &timed, &until) != thrd_timedout)
		return 4;
	mtx_unlock(&timed);
	thrd_join(thread, &result);
	printf("%d %d\n", result, made);
	return result == 42 && made == 1 ? 0 : 5;
}
