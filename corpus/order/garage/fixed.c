/*
 * The fixed twin of garage.c: the manager announces himself when all tasks are on
 * the board.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define WORKERS 2
#define POLLS 6

enum task { NO_TASK, CHANGE_OIL, CHANGE_TYRES };

struct status_board {
	atomic_bool managerArrived;
	_Atomic enum task tasks[WORKERS];
	atomic_int done;
};

static struct status_board board;

/* Busy-waits, but not for ever: a worker who meets nobody goes home. */
static bool waitForManager(void)
{
	for (int i = 0; i < POLLS; i++) {
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
	atomic_fetch_add(&board.done, 1);
	return NULL;
}

static void *manager(void *arg)
{
	(void)arg;
	for (int i = 0; i < WORKERS; i++)
		board.tasks[i] = i % 2 == 0 ? CHANGE_OIL : CHANGE_TYRES;
	board.managerArrived = true;
	return NULL;
}

int main(void)
{
	static int ids[WORKERS] = { 0, 1 };
	pthread_t workers[WORKERS];
	pthread_t boss;

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, &ids[i]);
	pthread_create(&boss, NULL, manager, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(boss, NULL);

	assert(board.done <= WORKERS);
	return 0;
}
