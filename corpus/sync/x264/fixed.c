/*
 * The fixed twin of x264.c: every finished row wakes all frames that wait.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define ROWS 2 /* of a group */
#define FRAMES 2 /* that refer to the first one */
#define MAX_GROUPS 64

struct frame {
	pthread_mutex_t mutex;
	pthread_cond_t cv;
	int i_lines_completed;
	int pixels[MAX_GROUPS * ROWS];
};

static struct frame reference = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cv = PTHREAD_COND_INITIALIZER,
};
static int encoded[FRAMES];
static int groups = 1; /* of rows */

static void x264_frame_cond_broadcast(struct frame *f, int lines)
{
	pthread_mutex_lock(&f->mutex);
	f->i_lines_completed = lines;
	pthread_cond_broadcast(&f->cv);
	pthread_mutex_unlock(&f->mutex);
}

static void x264_frame_cond_wait(struct frame *f, int lines)
{
	pthread_mutex_lock(&f->mutex);
	while (f->i_lines_completed < lines)
		pthread_cond_wait(&f->cv, &f->mutex);
	pthread_mutex_unlock(&f->mutex);
}

static void *encode_reference(void *arg)
{
	struct frame *f = arg;

	for (int row = 0; row < groups * ROWS; row++) {
		f->pixels[row] = 10 * (row + 1);
		x264_frame_cond_broadcast(f, row + 1);
	}
	return NULL;
}

/* Frame i needs the rows up to i of each group of the reference frame. */
static void *encode(void *arg)
{
	int i = *(int *)arg;

	for (int row = i; row < groups * ROWS; row += ROWS) {
		x264_frame_cond_wait(&reference, row + 1);
		encoded[i] = reference.pixels[row] + 1;
	}
	return NULL;
}

/* The argument is the number of groups of two rows. */
int main(int argc, char **argv)
{
	static int ids[FRAMES] = { 0, 1 };
	pthread_t threads[FRAMES + 1];

	if (argc > 1)
		groups = atoi(argv[1]);
	if (groups > MAX_GROUPS)
		return 2;
	for (int i = 0; i < FRAMES; i++)
		pthread_create(&threads[i], NULL, encode, &ids[i]);
	pthread_create(&threads[FRAMES], NULL, encode_reference, &reference);
	for (int i = 0; i <= FRAMES; i++)
		pthread_join(threads[i], NULL);
	assert(encoded[0] == 20 * groups - 9 && encoded[1] == 20 * groups + 1);
	return 0;
}
