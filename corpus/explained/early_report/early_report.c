/*
 * early_report: five workers render a row of an image each, and main writes a report of them.
 *
 * Written for this corpus.
 *
 * Bug (missing join): the workers are joined after the report, not before. Fails when main
 * reads the result of a row that is not done.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ROWS 5

struct row {
	pthread_t thread;
	int index;
	atomic_int pixels;
};

static struct row rows[ROWS];
static atomic_int next_color;

static int shade(void)
{
	return 1 + atomic_fetch_add(&next_color, 1) % 3;
}

static void *render(void *arg)
{
	struct row *row = arg;
	int pixels = row->index;

	if (shade() > 0)
		pixels += 10;
	row->pixels = pixels;
	return NULL;
}

static int report(void)
{
	int pixels = 0;

	for (int i = 0; i < ROWS; i++)
		pixels += rows[i].pixels;
	return pixels;
}

static void join_all(void)
{
	for (int i = 0; i < ROWS; i++)
		pthread_join(rows[i].thread, NULL);
}

int main(void)
{
	for (int i = 0; i < ROWS; i++) {
		rows[i].index = i;
		pthread_create(&rows[i].thread, NULL, render, &rows[i]);
	}

	int pixels = report();
	assert(pixels == 60);
	join_all();
	printf("%d pixels, %d colors\n", pixels, atomic_load(&next_color));
	return 0;
}
