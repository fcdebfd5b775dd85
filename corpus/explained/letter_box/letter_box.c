/*
 * letter_box: a postman brings two letters, and two readers take one each.
 *
 * Written for this corpus.
 *
 * Bug (missed recheck): a reader that is woken does not look again whether there is a letter.
 * Fails when the other reader, who did not have to wait, takes the letter for which this one
 * was woken.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define LETTERS 2

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	int letters[LETTERS];
	int count;
} box = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
};

static atomic_int waits;

static void put(int letter)
{
	pthread_mutex_lock(&box.lock);
	box.letters[box.count] = letter;
	box.count++;
	pthread_mutex_unlock(&box.lock);
	pthread_cond_signal(&box.filled);
}

static int take(void)
{
	pthread_mutex_lock(&box.lock);
	if (box.count == 0) {
		atomic_fetch_add(&waits, 1);
		pthread_cond_wait(&box.filled, &box.lock);
	}
	assert(box.count > 0);
	box.count--;
	int letter = box.letters[box.count];
	pthread_mutex_unlock(&box.lock);
	return letter;
}

static void *postman(void *arg)
{
	for (int i = 0; i < LETTERS; i++)
		put(i + 1);
	return arg;
}

static void *reader(void *arg)
{
	*(int *)arg = take();
	return NULL;
}

int main(void)
{
	int read[LETTERS] = { 0, 0 };
	pthread_t threads[LETTERS + 1];

	for (int i = 0; i < LETTERS; i++)
		pthread_create(&threads[i], NULL, reader, &read[i]);
	pthread_create(&threads[LETTERS], NULL, postman, NULL);
	for (int i = 0; i <= LETTERS; i++)
		pthread_join(threads[i], NULL);
	printf("letters %d and %d after %d waits\n", read[0], read[1], atomic_load(&waits));
	return 0;
}
