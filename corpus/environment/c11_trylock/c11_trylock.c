/*
 * c11_trylock: a thread cleans up, unless another one does; who does not get the lock leaves
 * the work to the one who has it.
 *
 * Written for this corpus: C11 7.26.4.5.
 *
 * Bug: if mtx_trylock fails, somebody else has the lock and cleans up, one should think. But
 * the function may fail although the mutex is free, and then nobody has cleaned up.
 * Natively: 0 of 200 runs; glibc's does not fail so.
 */
#include <assert.h>
#include <stddef.h>
#include <threads.h>

static mtx_t lock;
static int cleaned;

static int clean(void *arg)
{
	(void)arg;
	if (mtx_trylock(&lock) != thrd_success)
		return 0;
	cleaned++;
	mtx_unlock(&lock);
	return 0;
}

int main(void)
{
	thrd_t cleaner;

	mtx_init(&lock, mtx_plain);
	if (thrd_create(&cleaner, clean, NULL) != thrd_success)
		return 0;
	thrd_join(cleaner, NULL);
	assert(cleaned == 1);
	mtx_destroy(&lock);
	return 0;
}
