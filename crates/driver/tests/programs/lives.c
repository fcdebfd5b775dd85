/* The life of processes and threads: fork, exec, a library that is loaded late, a thousand threads, ways for a thread to end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_key_t key;
static int gone;

static int spin(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        if ((i ^ sum) % 3)
            sum += i;
    return sum;
}

static void destroy(void *value)
{
    if (value)
        gone += spin(10) > 0;
}

static void clean_up(void *argument)
{
    *(int *)argument += spin(20) > 0;
}

static void *one(void *argument)
{
    long n = (long)argument;
    int cleaned = 0;
    pthread_setspecific(key, argument);
    pthread_cleanup_push(clean_up, &cleaned);
    if (n % 3 == 0 && spin((int)n) >= 0)
        pthread_exit((void *)n);
    pthread_cleanup_pop(1);
    return (void *)(long)spin((int)n % 50);
}

static void *forever(void *none)
{
    for (;;)
        usleep(100);
    return none;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 10, status = 0;
    pthread_key_create(&key, destroy);
    if (!strcmp(what, "threads")) {
        pthread_t *threads = malloc(sizeof *threads * (size_t)count);
        for (long i = 0; i < count; i++)
            if (pthread_create(&threads[i], 0, one, (void *)i))
                return 2;
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], 0);
        free(threads);
    } else if (!strcmp(what, "cancel")) {
        pthread_t thread;
        pthread_create(&thread, 0, forever, 0);
        usleep(1000);
        pthread_cancel(thread);
        pthread_join(thread, 0);
    } else if (!strcmp(what, "fork")) {
        int before = spin(100);
        pid_t child = fork();
        if (child == 0)
            _exit(spin(500) == before ? 1 : 4);
        spin(1000);
        waitpid(child, &status, 0);
        return WEXITSTATUS(status) == 4 ? 0 : 1;
    } else if (!strcmp(what, "exec")) {
        spin(100);
        execv(argv[0], (char *[]){argv[0], "threads", "2", 0});
        return 1;
    } else if (!strcmp(what, "load")) {
        void *library = dlopen(argv[2], RTLD_NOW);
        int (*twice)(int (*)(int), int) = library ? (int (*)(int (*)(int), int))dlsym(library, "twice") : 0;
        if (!twice) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        printf("%d\n", twice(spin, 30));
    }
    printf("%s %d\n", what, gone);
    return 0;
}
