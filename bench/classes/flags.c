/* Each raises its flag and waits busily for those of all others. */
static atomic_int flag[N];

static void *work(void *number)
{
	flag[(long)number] = 1;
	for (int i = 0; i < N; i++)
		while (!flag[i])
			;
	return 0;
}

int main(void)
{
	run();
	return 0;
}
