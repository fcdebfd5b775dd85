/*
 * The fixed twin of early_report.c: the workers are joined before the report.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ROWS 5

struct row {
	pthread_t thread;
	int index;
	int pixels;
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
	join_all();

	int pixels = report();
	assert(pixels == 60);
	printf("%d pixels, %d colors\n", pixels, atomic_load(&next_color));
	return 0;
}
