/*
 * parting_check: main starts an auditor and leaves; the auditor finds that a total is not what
 * it should be.
 *
 * Written for this corpus.
 *
 * Bug (what is demanded never holds): the auditor expects 10 where 9 are. It fails whenever it
 * comes so far; runs pass only because main returns before, and nobody waits for the auditor.
 */
#include <assert.h>
#include <pthread.h>

static int parts[] = {2, 3, 4};

static void *auditor(void *unused)
{
	int total = 0;
	for (int i = 0; i < 3; i++)
		total += parts[i];
	assert(total == 10);
	return unused;
}

int main(void)
{
	pthread_t audits;
	pthread_create(&audits, NULL, auditor, NULL);
	pthread_detach(audits);
	return 0;
}
