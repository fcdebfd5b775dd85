/*
 * preempt_5: a baton goes round between three runners, who each reach for it a fixed
 * number of times and never wait. Nobody expects it to get as far as the eighth leg.
 *
 * Written for this corpus, after the notion of a preemption bound (CHESS; Tinertia
 * counts forced switches apart): the bug needs exactly 5 preemptions.
 *
 * Bug (order violation): nothing keeps the runners from taking turns. Fails only if
 * the legs are run in the order
 *     0: A | 1: B | 2: C | 3: A | 4: B | 5: C | 6: A | 7: B
 *
 * Why not 4: a leg raises the baton from its own number to the next, in one atomic
 * step, and does nothing if it finds another number. Numbers only grow, and each leg
 * is tried at one place, once. So all failing runs have these eight segments in this
 * order, with seven switches between them. No thread ever blocks; a thread is left
 * without a preemption only at its end. Of the seven switches, those after legs 0 to
 * 4 leave a thread that has a leg ahead of it: five preemptions. After legs 5 and 6
 * C and A have ended. Main blocks in its first join and is not needed before the end.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_int baton;

/* Whether the baton was there for this leg. */
static bool run_leg(int leg)
{
	return atomic_compare_exchange_strong(&baton, &leg, leg + 1);
}

static void *runner_a(void *arg)
{
	(void)arg;
	run_leg(0);
	run_leg(3);
	run_leg(6);
	return NULL;
}

static void *runner_b(void *arg)
{
	(void)arg;
	run_leg(1);
	run_leg(4);
	bool last = run_leg(7);
	assert(!last);
	return NULL;
}

static void *runner_c(void *arg)
{
	(void)arg;
	run_leg(2);
	run_leg(5);
	return NULL;
}

int main(void)
{
	pthread_t a, b, c;

	pthread_create(&a, NULL, runner_a, NULL);
	pthread_create(&b, NULL, runner_b, NULL);
	pthread_create(&c, NULL, runner_c, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_join(c, NULL);
	return 0;
}
