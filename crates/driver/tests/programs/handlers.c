/* Signal handlers that run recorded code: asynchronous, nested, with all signals blocked, and a handler of SIGSEGV of the program's own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static volatile int ticks, faults;
static char *page;

static void on_tick(int number)
{
    (void)number;
    for (int i = 0; i < 20; i++)
        if ((i ^ ticks) & 1)
            ticks++;
    if (ticks % 5 == 0)
        raise(SIGUSR1);
}

static void on_user(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_signo == SIGUSR1)
        ticks += 3;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if ((char *)info->si_addr != page)
        abort();
    faults++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    struct sigaction action;
    struct itimerval timer = {{0, 500}, {0, 500}};
    sigset_t all, old;
    unsigned long sum = 0;
    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_tick;
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGUSR1);
    sigaction(SIGALRM, &action, 0);
    action.sa_sigaction = on_user;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, 0);
    action.sa_sigaction = on_fault;
    sigaction(SIGSEGV, &action, &action);
    if (action.sa_handler != SIG_DFL)
        return 3;
    setitimer(ITIMER_REAL, &timer, 0);
    for (int i = 0; i < rounds; i++) {
        mprotect(page, 4096, PROT_NONE);
        page[0] = (char)i;
        for (int j = 0; j < 20000; j++)
            sum += (sum ^ (unsigned long)j) % 3 ? 1 : 7;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        for (int j = 0; j < 2000; j++)
            sum += (sum ^ (unsigned long)j) % 5 ? 1 : 7;
        pthread_sigmask(SIG_SETMASK, &old, 0);
    }
    printf("%d %lu\n", faults, sum);
    return faults == rounds ? 0 : 1;
}
