/* A wait as verifiers write it: what does not hold is not looked at. */
void __VERIFIER_assume(int holds);
static atomic_int turn;

static void *work(void *number)
{
	__VERIFIER_assume(turn == (int)(long)number);
	turn = (int)(long)number + 1;
	return 0;
}

int main(void)
{
	run();
	return turn != N;
}
