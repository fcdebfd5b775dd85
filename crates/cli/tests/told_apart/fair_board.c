/* Written for this corpus: a fair with several bugs at once, as in programs that were written in a hurry.
 *
 * The bug that is told here: the board is announced (posted) before its price is written. In the order 35 -> 44 -> 45
 * -> 36 a visitor looks at the board and finds no price on it. In most other schedules the fair fails otherwise: two
 * sellers take the last but one cup because what they saw of the stock is out of date, and visits are counted by two
 * gates without a lock. Whoever fails first ends the run, so each of the bugs hides the others.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int posted, price;
static int cups = 4, sold;
static int visits;

static void *gate(void *unused)
{
	visits++;
	return unused;
}

static void *sell(void *unused)
{
	if (cups > 3) {
		cups--;
		sold++;
	}
	assert(cups >= 3);
	return unused;
}

static void *post(void *unused)
{
	/* The price comes too late. */
	posted = 1;
	price = 12;
	return unused;
}

static void *visit(void *unused)
{
	int asked = 0;

	if (posted) {
		asked = price;
		assert(asked == 12);
	}
	return unused;
}

int main(void)
{
	void *(*people[])(void *) = { gate, sell, post, visit, sell, gate };
	pthread_t threads[6];

	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, people[i], NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	assert(visits == 2);
	return 0;
}
