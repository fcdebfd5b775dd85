/* A lock that is given in the order of the tickets. */
static atomic_int ticket, served;
static int count;

static void *work(void *number)
{
	(void)number;
	int mine = atomic_fetch_add(&ticket, 1);
	while (served != mine)
		;
	count++;
	served = mine + 1;
	return 0;
}

int main(void)
{
	run();
	return count != N;
}
