/*
 * llvm-8441, repaired as in LLVM: finding a list and taking a reference are one step
 * under the set's lock, and so are dropping the last one and the removal.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define NO_UNWIND 1u

struct attributes {
    int refs; /* under al_mutex */
    unsigned attrs;
    struct attributes *next;
};

static pthread_mutex_t al_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct attributes *attributes_lists; /* the set, under al_mutex */

/* The caller holds al_mutex. */
static struct attributes *find_or_insert(unsigned attrs)
{
    struct attributes *a = attributes_lists;
    while (a != NULL && a->attrs != attrs)
        a = a->next;
    if (a == NULL) {
        a = malloc(sizeof *a);
        a->refs = 0;
        a->attrs = attrs;
        a->next = attributes_lists;
        attributes_lists = a;
    }
    return a;
}

static struct attributes *attr_list_get(unsigned attrs)
{
    pthread_mutex_lock(&al_mutex);
    struct attributes *a = find_or_insert(attrs);
    a->refs++;
    pthread_mutex_unlock(&al_mutex);
    return a;
}

/* The caller holds al_mutex. */
static void attr_list_delete(struct attributes *a)
{
    struct attributes **p = &attributes_lists;
    while (*p != a)
        p = &(*p)->next;
    *p = a->next;
    free(a);
}

static void drop_ref(struct attributes *a)
{
    pthread_mutex_lock(&al_mutex);
    if (--a->refs == 0)
        attr_list_delete(a);
    pthread_mutex_unlock(&al_mutex);
}

static void *first_function(void *arg)
{
    drop_ref(arg);
    return NULL;
}

static void *second_function(void *arg)
{
    struct attributes **mine = arg;
    *mine = attr_list_get(NO_UNWIND);
    assert((*mine)->attrs == NO_UNWIND);
    return NULL;
}

int main(void)
{
    struct attributes *mine = NULL;
    pthread_t t1, t2;
    pthread_create(&t1, NULL, first_function, attr_list_get(NO_UNWIND));
    pthread_create(&t2, NULL, second_function, &mine);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    drop_ref(mine);
    return 0;
}
