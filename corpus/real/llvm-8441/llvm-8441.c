/*
 * llvm-8441, of ConcBugAssist's table 5.1 (244 lines, 3 threads, order violation;
 * 21 causes of 3.3 constraints). The original is LLVM bug 8441: uniqued attribute
 * lists are found in a global set by their contents and freed with their last
 * reference; the count was atomic, the removal from the set came later.
 * One thread drops the only reference to a list, another asks for a list with the
 * same contents.
 * The bug: between the decrement to 0 and the removal, the dying list can still
 * be found and referenced.
 * Fails (use after free) when the second thread looks the list up after the
 * decrement and before the removal: its reference, its reading, or the drop of
 * its reference then meets freed memory.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define NO_UNWIND 1u

struct attributes {
    atomic_int refs;
    unsigned attrs;
    struct attributes *next;
};

static pthread_mutex_t al_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct attributes *attributes_lists; /* the set, under al_mutex */

static struct attributes *find_or_insert(unsigned attrs)
{
    pthread_mutex_lock(&al_mutex);
    struct attributes *a = attributes_lists;
    while (a != NULL && a->attrs != attrs)
        a = a->next;
    if (a == NULL) {
        a = malloc(sizeof *a);
        atomic_init(&a->refs, 0);
        a->attrs = attrs;
        a->next = attributes_lists;
        attributes_lists = a;
    }
    pthread_mutex_unlock(&al_mutex);
    return a;
}

static struct attributes *attr_list_get(unsigned attrs)
{
    struct attributes *a = find_or_insert(attrs);
    atomic_fetch_add(&a->refs, 1);
    return a;
}

static void attr_list_delete(struct attributes *a)
{
    pthread_mutex_lock(&al_mutex);
    struct attributes **p = &attributes_lists;
    while (*p != a)
        p = &(*p)->next;
    *p = a->next;
    pthread_mutex_unlock(&al_mutex);
    free(a);
}

static void drop_ref(struct attributes *a)
{
    if (atomic_fetch_sub(&a->refs, 1) == 1)
        attr_list_delete(a);
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
