/* Updates of one counter; nobody looks at what it was. */
static atomic_int count;

static void *work(void *number)
{
	(void)number;
	atomic_fetch_add(&count, 1);
	return 0;
}

int main(void)
{
	run();
	return count != N;
}
