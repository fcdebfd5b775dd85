/* All meet twice; between, each does something of its own. */
static pthread_barrier_t barrier;
static int done[N];

static void *work(void *number)
{
	pthread_barrier_wait(&barrier);
	done[(long)number] = 1;
	pthread_barrier_wait(&barrier);
	return 0;
}

int main(void)
{
	pthread_barrier_init(&barrier, 0, N);
	run();
	return 0;
}
