/*
 * slot_desk: guests take a locker each and give it back.
 *
 * Written for this corpus, after pools of connections.
 *
 * Bug (check then act): a free locker is looked for in one section of the lock and taken in the
 * next. Fails when two guests look before either takes: both have the same one.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define GUESTS 2
#define LOCKERS 2

static struct {
	int taken;
	int guests;
} lockers[LOCKERS];

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;

static int vacant(void)
{
	int found = -1;

	pthread_mutex_lock(&desk);
	for (int i = 0; i < LOCKERS && found < 0; i++)
		if (!lockers[i].taken)
			found = i;
	pthread_mutex_unlock(&desk);
	return found;
}

static int take(void)
{
	int number = vacant();

	if (number < 0)
		return number;
	pthread_mutex_lock(&desk);
	lockers[number].taken = 1;
	lockers[number].guests++;
	pthread_mutex_unlock(&desk);
	return number;
}

static void give_back(int number)
{
	pthread_mutex_lock(&desk);
	lockers[number].guests--;
	lockers[number].taken = 0;
	pthread_mutex_unlock(&desk);
}

static void *guest(void *arg)
{
	(void)arg;
	int number = take();

	if (number < 0)
		return NULL;
	pthread_mutex_lock(&desk);
	assert(lockers[number].guests == 1);
	pthread_mutex_unlock(&desk);
	give_back(number);
	return NULL;
}

int main(void)
{
	pthread_t guests[GUESTS];

	for (int i = 0; i < GUESTS; i++)
		pthread_create(&guests[i], NULL, guest, NULL);
	for (int i = 0; i < GUESTS; i++)
		pthread_join(guests[i], NULL);
	printf("closed\n");
	return 0;
}
