/* Written for this corpus, after buffers that every call sets up and takes down anew.
 *
 * Two scales weigh parcels and note each on a pad, which a call takes out of the drawer and puts away when it is done.
 *
 * Bug: there is one pad for both. Fails when one puts away the pad that the other has just taken out: that one writes to none.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct pad {
    int grams;
};

static struct pad drawer[2];
static struct pad *pad;
static int noted[2];

static void weigh(int scale, int grams)
{
    pad = &drawer[scale];
    pad->grams = grams;
    noted[scale] = pad->grams;
    pad = NULL;
}

static void *left(void *arg)
{
    (void)arg;
    weigh(0, 250);
    return NULL;
}

static void *right(void *arg)
{
    (void)arg;
    weigh(1, 900);
    return NULL;
}

int main(void)
{
    pthread_t scales[2];

    pthread_create(&scales[0], NULL, left, NULL);
    pthread_create(&scales[1], NULL, right, NULL);
    pthread_join(scales[0], NULL);
    pthread_join(scales[1], NULL);
    return noted[0] + noted[1] > 0 ? 0 : 1;
}
