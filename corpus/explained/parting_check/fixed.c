/*
 * The fixed twin of parting_check.c: the auditor expects what there is, and main waits for it.
 */
#include <assert.h>
#include <pthread.h>

static int parts[] = {2, 3, 4};

static void *auditor(void *unused)
{
	int total = 0;
	for (int i = 0; i < 3; i++)
		total += parts[i];
	assert(total == 9);
	return unused;
}

int main(void)
{
	pthread_t audits;
	pthread_create(&audits, NULL, auditor, NULL);
	pthread_join(audits, NULL);
	return 0;
}
