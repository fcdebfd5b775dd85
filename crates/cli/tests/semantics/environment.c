// errno, getopt, arguments, signals' defaults, and time where only plausibility can be compared.
// args: -a -b value --long=7 --flag rest -c more
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <libgen.h>
#include <fnmatch.h>
#include <regex.h>
#include <sched.h>
#include <assert.h>

static volatile sig_atomic_t caught;
static void on_signal(int number) { caught = number; }

int main(int argc, char **argv) {
    printf("%d", argc); for (int i = 1; i < argc; i++) printf(" %s", argv[i]); printf("\n");
    struct option options[] = { { "long", required_argument, NULL, 'L' }, { "flag", no_argument, NULL, 'F' }, { 0 } };
    for (int c; (c = getopt_long(argc, argv, "ab:c", options, NULL)) != -1;) printf("%c:%s ", c, optarg ? optarg : "-");
    printf("%d", optind); for (int i = optind; i < argc; i++) printf(" %s", argv[i]); printf("\n");
    optind = 1; opterr = 0; char *fake[] = { "prog", "-x", "-vv", "-o", "out", "-zbad", "--", "-notopt", NULL };
    for (int c; (c = getopt(8, fake, "vo:x")) != -1;) printf("%c%s ", c, c == 'o' ? optarg : ""); printf("%d %s\n", optind, fake[optind]);

    errno = 0; printf("%d ", close(-1)); printf("%d %s\n", errno, strerror(errno));
    errno = 0; printf("%d %d\n", (int)strtol("99999999999999999999", NULL, 10) == -1, errno == ERANGE);
    errno = 0; volatile double root = sqrt(-1.0); printf("%d %d\n", errno == EDOM, root != root);
    errno = 5; printf("%d\n", errno); int *where = &errno; *where = 6; printf("%d %m\n", errno);
    printf("%d %d %d\n", mkstemp((char[]){ "no/such/XXXXXX" }) == -1, errno == ENOENT, read(99, NULL, 0) == -1);

    time_t now = time(NULL); struct tm tm; gmtime_r(&now, &tm); printf("%d %d\n", now > 1500000000, tm.tm_year > 115);
    time_t fixed = 1234567890; gmtime_r(&fixed, &tm); char text[64]; strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %a %j", &tm); printf("%s %ld %s", text, (long)timegm(&tm), asctime(&tm));
    struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); usleep(2000); clock_gettime(CLOCK_MONOTONIC, &b);
    double passed = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9; printf("%d\n", passed >= 0.002 && passed < 5);
    struct timeval tv; printf("%d %d %d\n", gettimeofday(&tv, NULL), tv.tv_sec >= now, tv.tv_usec < 1000000);
    struct timespec res; printf("%d %d\n", clock_getres(CLOCK_REALTIME, &res), res.tv_sec == 0); printf("%d %g\n", clock() >= 0, difftime(10, 4));
    nanosleep(&(struct timespec){ 0, 1000 }, NULL); time_t after = time(NULL); sleep(1); printf("%d\n", time(NULL) > after);
    struct tm parsed = { 0 }; printf("%d %d %d\n", strptime("2021-03-04", "%Y-%m-%d", &parsed) != NULL, parsed.tm_mon, parsed.tm_mday);

    printf("%d %d %ld %d\n", getpid() > 0, getppid() > 0, sysconf(_SC_PAGESIZE), sysconf(_SC_NPROCESSORS_ONLN) > 0);
    char path[PATH_MAX]; printf("%d %s %s\n", getcwd(path, sizeof path) != NULL, basename(strcpy(path, "/a/b.c")), dirname(strcpy(path, "/a/b.c")));
    struct utsname name; printf("%d %s\n", uname(&name), name.sysname); struct rusage usage; printf("%d\n", getrusage(RUSAGE_SELF, &usage));
    printf("%s %s\n", setlocale(LC_ALL, "C"), localeconv()->decimal_point); printf("%d\n", isatty(99)); printf("%d\n", sched_yield());
    printf("%d %d\n", fnmatch("*.c", "file.c", 0), fnmatch("*.c", "file.h", 0) != 0); regex_t re; regmatch_t match[2];
    printf("%d ", regcomp(&re, "a(b+)c", REG_EXTENDED)); printf("%d %d %d\n", regexec(&re, "xxabbbc", 2, match, 0), match[1].rm_so, match[1].rm_eo); regfree(&re);
    void *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); ((char *)map)[8191] = 'm'; printf("%d %c %d\n", map != MAP_FAILED, ((char *)map)[8191], munmap(map, 8192));
    signal(SIGUSR1, on_signal); printf("%d\n", signal(SIGUSR1, SIG_DFL) == on_signal); struct sigaction act = { .sa_handler = SIG_IGN }; printf("%d\n", sigaction(SIGPIPE, &act, NULL));
    sigset_t set; sigemptyset(&set); sigaddset(&set, SIGINT); printf("%d %d\n", sigismember(&set, SIGINT), sigismember(&set, SIGTERM)); printf("%d\n", pthread_sigmask(SIG_BLOCK, &set, NULL));
    putenv("PUT_HERE=yes"); printf("%s\n", getenv("PUT_HERE")); assert(argc > 0); printf("%d %ld\n", getpagesize(), pathconf("/", _PC_NAME_MAX));
    printf("%d %d\n", strcmp(ctime(&fixed), asctime(localtime(&fixed))), caught);
    return argc;
}
