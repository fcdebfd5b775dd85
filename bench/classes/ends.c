/* Nothing is shared. */
static atomic_int own[N];

static void *work(void *number)
{
	own[(long)number] = 1;
	own[(long)number]++;
	return 0;
}

int main(void)
{
	run();
	return 0;
}
