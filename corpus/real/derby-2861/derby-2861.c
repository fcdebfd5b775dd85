/*
 * derby-2861: two connections compile statements against the same cached table
 * descriptor.
 *
 * Modelled on bug 2861 of Apache Derby (thread safety of TableDescriptor) as
 * studied by CoopREP (table 3.6). The map of referenced columns is a field of
 * the shared descriptor that a compilation sets for its own use and clears
 * when it is done.
 *
 * Bug (atomicity violation): getObjectName() tests referencedColumnMap and
 * then uses it; the other connection clears the field in between, and the
 * first follows null.
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
	int listed = 0;

	if (td->referencedColumnMap == NULL)
		return COLUMNS;
	for (int i = 0; i < COLUMNS; i++) {
		if (isSet(td->referencedColumnMap, i))
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
