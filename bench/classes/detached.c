/* Nothing is shared, and nobody waits. */
static atomic_int own[N];

static void *work(void *number)
{
	own[(long)number] = 1;
	return 0;
}

int main(void)
{
	for (long i = 0; i < N; i++) {
		pthread_t thread;
		pthread_create(&thread, 0, work, (void *)i);
		pthread_detach(thread);
	}
	(void)run;
	pthread_exit(0);
}
