/* One of N compare-exchanges succeeds; the others find out which. */
static atomic_int owner;

static void *work(void *number)
{
	int nobody = 0;
	atomic_compare_exchange_strong(&owner, &nobody, 1 + (int)(long)number);
	return 0;
}

int main(void)
{
	run();
	return 0;
}
