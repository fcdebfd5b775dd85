/* Writes of one variable, which is read at the end. */
static atomic_int last;

static void *work(void *number)
{
	last = 1 + (int)(long)number;
	return 0;
}

int main(void)
{
	run();
	return last == 0;
}
