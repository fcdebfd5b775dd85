/*
 * thesis-3.3: figure 3.3 of the thesis on cooperative concurrency debugging: a
 * writer inserts a value and keeps two counters in step, a reader takes all
 * values and sets both back. Shared: pos, countW, countR, threads.
 *
 * Bug (atomicity violation over two variables): the reader resets pos and
 * countW after the writer's pos++ and before its countW++; the writer then
 * finds pos == 0 and countW == 1.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define SIZE 4

static int array[SIZE];
static int pos, countR, countW;
static atomic_int threads;

static void *writer(void *arg)
{
	(void)arg;
	threads++;
	array[pos] = 42;
	pos++; /* line 4 of the figure */
	countW++; /* line 5 */
	threads--;
	assert(pos == countW); /* line 7 */
	return NULL;
}

static void *reader(void *arg)
{
	(void)arg;
	threads++;
	countR = countR + pos;
	pos = 0; /* line 10 */
	countW = 0; /* line 11 */
	threads--;
	return NULL;
}

int main(void)
{
	pthread_t w, r;

	pthread_create(&w, NULL, writer, NULL);
	pthread_create(&r, NULL, reader, NULL);
	pthread_join(w, NULL);
	pthread_join(r, NULL);
	assert(threads == 0);
	return 0;
}
