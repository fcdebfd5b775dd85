/* The fixed twin of real/derby-2861: rounds are the statements of each connection. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "rounds.h"

#define CONNECTIONS 2
#define COLUMNS 3

struct FormatableBitSet {
	bool bits[COLUMNS];
};

struct TableDescriptor {
	const char *columns[COLUMNS];
	_Atomic(struct FormatableBitSet *) referencedColumnMap;
};

/* Not static: the optimiser of the plain program would see that nobody else looks, and leave all accesses out. */
struct TableDescriptor table = { { "id", "name", "city" }, NULL };

static bool isSet(const struct FormatableBitSet *set, int column)
{
	return set->bits[column];
}

static void setReferencedColumnMap(struct TableDescriptor *td, struct FormatableBitSet *map)
{
	td->referencedColumnMap = map;
}

/* Returns how many columns the name lists: all, or the referenced ones. */
static int getObjectName(struct TableDescriptor *td)
{
	struct FormatableBitSet *map = td->referencedColumnMap;
	int listed = 0;

	if (map == NULL)
		return COLUMNS;
	for (int i = 0; i < COLUMNS; i++) {
		if (isSet(map, i))
			listed++;
	}
	return listed;
}

static void *compile(void *arg)
{
	static struct FormatableBitSet map = { { true, false, true } };
	int *listed = arg;
	unsigned value = 1;

	for (int i = 0; i < rounds; i++) {
		setReferencedColumnMap(&table, &map);
		*listed = getObjectName(&table);
		setReferencedColumnMap(&table, NULL);
		value = compute(value, 4);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	static int listed[CONNECTIONS];
	pthread_t connections[CONNECTIONS];

	take_arguments(argc, argv);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_create(&connections[i], NULL, compile, &listed[i]);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(connections[i], NULL);
	for (int i = 0; i < CONNECTIONS; i++)
		assert(listed[i] == 2 || listed[i] == COLUMNS);
	return 0;
}
