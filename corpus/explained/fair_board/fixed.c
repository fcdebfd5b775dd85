/* fair_board.c, mended: the price is written before the board is announced, and both with the lock; visits and the
 * stock have it, too.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int posted, price;
static int cups = 4, sold;
static int visits;

static void *gate(void *unused)
{
	pthread_mutex_lock(&lock);
	visits++;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *sell(void *unused)
{
	pthread_mutex_lock(&lock);
	if (cups > 3) {
		cups--;
		sold++;
	}
	assert(cups >= 3);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *post(void *unused)
{
	pthread_mutex_lock(&lock);
	price = 12;
	posted = 1;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *visit(void *unused)
{
	int asked = 0;

	pthread_mutex_lock(&lock);
	if (posted) {
		asked = price;
		assert(asked == 12);
	}
	pthread_mutex_unlock(&lock);
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
