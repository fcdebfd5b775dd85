/*
 * The fixed twin of c11_trylock.c: who comes first is told by an atomic flag, who has to wait
 * waits.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <threads.h>

static mtx_t lock;
static atomic_flag taken = ATOMIC_FLAG_INIT;
static int cleaned;

static int clean(void *arg)
{
	(void)arg;
	if (atomic_flag_test_and_set(&taken))
		return 0;
	mtx_lock(&lock);
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
