/*
 * The fixed twin of garage.c: the manager announces himself when all tasks are on
 * the board.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_WORKERS 16

enum task { NO_TASK, CHANGE_OIL, CHANGE_TYRES };

struct status_board {
	atomic_bool managerArrived;
	_Atomic enum task tasks[MAX_WORKERS];
	atomic_int done; /* steps, of all tasks */
};

static struct status_board board;
static int workers = 2;
static int polls = 6;
static int steps = 1; /* of a task */

/* Busy-waits, but not for ever: a worker who meets nobody goes home. */
static bool waitForManager(void)
{
	for (int i = 0; i < polls; i++) {
		if (board.managerArrived)
			return true;
		sched_yield();
	}
	return false;
}

static void *worker(void *arg)
{
	int id = *(int *)arg;

	if (!waitForManager())
		return NULL;
	enum task task = board.tasks[id];
	if (task == NO_TASK) /* the board may not be complete yet */
		task = board.tasks[id];
	assert(task != NO_TASK);
	for (int i = 0; i < steps; i++)
		atomic_fetch_add(&board.done, 1);
	return NULL;
}

static void *manager(void *arg)
{
	(void)arg;
	for (int i = 0; i < workers; i++)
		board.tasks[i] = i % 2 == 0 ? CHANGE_OIL : CHANGE_TYRES;
	board.managerArrived = true;
	return NULL;
}

/* The arguments are the number of workers, how often each of them polls, and the steps of a task. */
int main(int argc, char **argv)
{
	int ids[MAX_WORKERS];
	pthread_t crew[MAX_WORKERS];
	pthread_t boss;

	if (argc > 1)
		workers = atoi(argv[1]);
	if (argc > 2)
		polls = atoi(argv[2]);
	if (argc > 3)
		steps = atoi(argv[3]);
	if (workers > MAX_WORKERS)
		return 2;
	for (int i = 0; i < workers; i++) {
		ids[i] = i;
		pthread_create(&crew[i], NULL, worker, &ids[i]);
	}
	pthread_create(&boss, NULL, manager, NULL);
	for (int i = 0; i < workers; i++)
		pthread_join(crew[i], NULL);
	pthread_join(boss, NULL);

	assert(board.done <= workers * steps);
	return 0;
}
