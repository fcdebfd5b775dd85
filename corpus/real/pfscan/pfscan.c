/*
 * pfscan: searches files and directories for a string, several files at once.
 *
 *     pfscan [options] STRING PATH...
 *
 * The main thread walks the paths and puts the names of files into a queue;
 * worker threads take them out, read the files and search them. See pqueue.c
 * for where this program comes from and for its bug.
 */
#include "pfscan.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out)
{
    fputs("usage: pfscan [options] STRING PATH...\n"
          "  -i      ignore case\n"
          "  -l      list the names of matching files only\n"
          "  -L      show the whole line of a match\n"
          "  -f      follow symbolic links\n"
          "  -e END  scan only files whose names end in END\n"
          "  -m N    stop after N matches in a file\n"
          "  -n N    number of worker threads (default 4)\n"
          "  -Q N    length of the work queue (default 16)\n"
          "  -q      print nothing, only set the exit code\n"
          "  -v      print a summary\n"
          "  -V      print the version\n"
          "  -h      print this\n"
          "Exit code: 0 found, 1 not found, 2 trouble.\n",
          out);
}

/* The number in an option's argument; ends the program if it is not one. */
static int number(const char *argument, char option, int least, int most)
{
    char *end;
    long n = strtol(argument, &end, 10);

    if (*argument == '\0' || *end != '\0' || n < least || n > most) {
        fprintf(stderr, "pfscan: -%c: not a number from %d to %d: %s\n",
                option, least, most, argument);
        exit(EXIT_TROUBLE);
    }
    return (int)n;
}

/* Fills in the options; returns the index of the first path. */
static int parse_options(struct options *options, int argc, char **argv)
{
    int c;

    memset(options, 0, sizeof *options);
    options->workers = 4;
    options->queue_size = 16;
    while ((c = getopt(argc, argv, "ilLfqvVhe:m:n:Q:")) != -1) {
        switch (c) {
        case 'i':
            options->ignore_case = 1;
            break;
        case 'l':
            options->list_only = 1;
            break;
        case 'L':
            options->show_line = 1;
            break;
        case 'f':
            options->follow = 1;
            break;
        case 'q':
            options->quiet = 1;
            break;
        case 'v':
            options->verbose = 1;
            break;
        case 'e':
            options->suffix = optarg;
            break;
        case 'm':
            options->max_matches = number(optarg, 'm', 1, INT_MAX);
            break;
        case 'n':
            options->workers = number(optarg, 'n', 1, MAX_WORKERS);
            break;
        case 'Q':
            options->queue_size = number(optarg, 'Q', 1, 4096);
            break;
        case 'V':
            puts("pfscan " PFSCAN_VERSION);
            exit(0);
        case 'h':
            usage(stdout);
            exit(0);
        default:
            usage(stderr);
            exit(EXIT_TROUBLE);
        }
    }
    if (argc - optind < 2 || argv[optind][0] == '\0') {
        usage(stderr);
        exit(EXIT_TROUBLE);
    }
    options->pattern = argv[optind];
    return optind + 1;
}

/* Starts the workers; returns how many could be started. */
static int start_workers(pthread_t *threads, int wanted, struct scanner *sp)
{
    int started = 0;

    while (started < wanted &&
           pthread_create(&threads[started], NULL, scan_worker, sp) == 0)
        started++;
    return started;
}

int main(int argc, char **argv)
{
    struct options options;
    struct search search;
    struct report report;
    struct pqueue queue;
    struct scanner scanner = {&options, &search, &queue, &report};
    pthread_t threads[MAX_WORKERS];
    int path = parse_options(&options, argc, argv);
    int started, i, code;

    if (search_compile(&search, options.pattern, options.ignore_case) < 0 ||
        pqueue_init(&queue, options.queue_size) < 0) {
        fputs("pfscan: out of memory\n", stderr);
        return EXIT_TROUBLE;
    }
    report_init(&report, &options);

    started = start_workers(threads, options.workers, &scanner);
    if (started == 0) {
        fputs("pfscan: cannot start a thread\n", stderr);
        return EXIT_TROUBLE;
    }
    for (; path < argc; path++)
        walk_tree(&options, argv[path], &queue, &report);
    pqueue_close(&queue);
    for (i = 0; i < started; i++)
        pthread_join(threads[i], NULL);

    if (options.verbose)
        report_summary(&report, &queue);
    code = report_exit_code(&report);
    pqueue_destroy(&queue);
    report_destroy(&report);
    search_free(&search);
    return code;
}
