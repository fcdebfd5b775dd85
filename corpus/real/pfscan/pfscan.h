/* What the parts of pfscan share. */
#ifndef PFSCAN_H
#define PFSCAN_H

#include "pqueue.h"

#include <pthread.h>
#include <stddef.h>

#define PFSCAN_VERSION "1.0"
#define MAX_WORKERS 64
#define MAX_DEPTH 32
#define MAX_FILE_SIZE (16L * 1024 * 1024)

enum {
    EXIT_MATCH = 0,    /* something was found */
    EXIT_NO_MATCH = 1, /* nothing was found */
    EXIT_TROUBLE = 2   /* bad usage, or a file could not be read */
};

/* Set from the command line, then read by all threads. */
struct options {
    const char *pattern;
    int ignore_case;
    int list_only;   /* names of matching files, no matches */
    int show_line;   /* the whole line of a match */
    int quiet;       /* nothing but the exit code */
    int verbose;     /* a summary at the end, on stderr */
    int follow;      /* follow symbolic links */
    int workers;
    int queue_size;
    int max_matches; /* per file; 0: no limit */
    char *suffix;    /* scan only names that end so; NULL: all */
};

/* search.c: a compiled pattern (Horspool). */
struct search {
    unsigned char *pattern;
    size_t length;
    int ignore_case;
    size_t skip[256];
};

int search_compile(struct search *sp, const char *pattern, int ignore_case);
void search_free(struct search *sp);
/* Offset of the first match in text at or after start, or -1. */
long search_next(const struct search *sp, const unsigned char *text,
                 size_t length, size_t start);

/* report.c: matches, error messages and totals of all workers. */
struct report {
    const struct options *options;
    pthread_mutex_t output;   /* one message at a time */
    pthread_mutex_t counters; /* protects what follows */
    long files;
    long bytes;
    long matching_files;
    long matches;
    long errors;
};

/* A file in the memory of one worker. */
struct text {
    const char *path;
    unsigned char *data;
    size_t length;
    size_t capacity;
};

void report_init(struct report *rp, const struct options *options);
void report_destroy(struct report *rp);
void report_match(struct report *rp, const struct text *text, size_t offset,
                  size_t length);
void report_file(struct report *rp, const struct text *text, int matches);
void report_error(struct report *rp, const char *path, int error);
void report_summary(struct report *rp, struct pqueue *queue);
int report_exit_code(struct report *rp);

/* scan.c: the worker threads. */
struct scanner {
    const struct options *options;
    const struct search *search;
    struct pqueue *queue;
    struct report *report;
};

/* Thread function; takes paths from the queue until it is closed. */
void *scan_worker(void *scanner);

/* walk.c: puts the path of every file below root into the queue. */
void walk_tree(const struct options *options, const char *root,
               struct pqueue *queue, struct report *report);

#endif
