/* A lock that is taken by exchanging until it was free. */
static atomic_int lock;
static int count;

static void *work(void *number)
{
	(void)number;
	for (int free = 0; !atomic_compare_exchange_strong(&lock, &free, 1); free = 0)
		;
	count++;
	lock = 0;
	return 0;
}

int main(void)
{
	run();
	return count != N;
}
