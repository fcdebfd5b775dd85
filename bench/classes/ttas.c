/* A lock that is looked at before it is taken, with a yield between the looks. */
#include <sched.h>

static atomic_int lock;
static int count;

static void *work(void *number)
{
	(void)number;
	do
		while (lock)
			sched_yield();
	while (atomic_exchange(&lock, 1));
	count++;
	lock = 0;
	return 0;
}

int main(void)
{
	run();
	return count != N;
}
