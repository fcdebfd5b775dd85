/*
 * The fixed twin of derby-2861.c: getObjectName() reads the shared field once and
 * uses its own copy (the maps themselves are never freed or changed).
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define CONNECTIONS 2
#define COLUMNS 3

struct FormatableBitSet {
	bool bits[COLUMNS];
};

struct TableDescriptor {
	const char *columns[COLUMNS];
	_Atomic(struct FormatableBitSet *) referencedColumnMap;
};

static struct TableDescriptor table = { { "id", "name", "city" }, NULL };

static int statements = 1; /* of each connection */

static bool isSet(const struct FormatableBitSet *set, int column)
{
	return set->bits[column];
}

static void setReferencedColumnMap(struct TableDescriptor *td,
				   struct FormatableBitSet *map)
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

	for (int i = 0; i < statements; i++) {
		setReferencedColumnMap(&table, &map);
		*listed = getObjectName(&table);
		setReferencedColumnMap(&table, NULL);
	}
	return NULL;
}

/* The argument is the number of statements that each connection compiles. */
int main(int argc, char **argv)
{
	static int listed[CONNECTIONS];
	pthread_t connections[CONNECTIONS];

	if (argc > 1)
		statements = atoi(argv[1]);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_create(&connections[i], NULL, compile, &listed[i]);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(connections[i], NULL);
	for (int i = 0; i < CONNECTIONS; i++)
		assert(listed[i] == 2 || listed[i] == COLUMNS);
	return 0;
}
