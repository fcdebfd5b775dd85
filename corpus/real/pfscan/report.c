/* Output and totals. Workers call all of this concurrently. */
#include "pfscan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CONTEXT 12 /* characters shown on either side of a match */

void report_init(struct report *rp, const struct options *options)
{
    rp->options = options;
    rp->files = 0;
    rp->bytes = 0;
    rp->matching_files = 0;
    rp->matches = 0;
    rp->errors = 0;
    pthread_mutex_init(&rp->output, NULL);
    pthread_mutex_init(&rp->counters, NULL);
}

void report_destroy(struct report *rp)
{
    pthread_mutex_destroy(&rp->counters);
    pthread_mutex_destroy(&rp->output);
}

static long line_number(const struct text *text, size_t offset)
{
    long line = 1;
    size_t i;

    for (i = 0; i < offset; i++)
        if (text->data[i] == '\n')
            line++;
    return line;
}

/* First and last + 1 offset of what is shown of a match. */
static void find_extent(const struct text *text, size_t offset, size_t length,
                        int whole_line, size_t *from, size_t *to)
{
    size_t before = 0, after = 0;

    while (before < offset && text->data[offset - before - 1] != '\n' &&
           (whole_line || before < CONTEXT))
        before++;
    while (offset + length + after < text->length &&
           text->data[offset + length + after] != '\n' &&
           (whole_line || after < CONTEXT))
        after++;
    *from = offset - before;
    *to = offset + length + after;
}

void report_match(struct report *rp, const struct text *text, size_t offset,
                  size_t length)
{
    const struct options *options = rp->options;
    char line[512];
    size_t from, to, i, n = 0;

    if (options->quiet || options->list_only)
        return;
    find_extent(text, offset, length, options->show_line, &from, &to);
    for (i = from; i < to && n + 1 < sizeof line; i++)
        line[n++] = isprint(text->data[i]) ? (char)text->data[i] : '.';
    line[n] = '\0';

    pthread_mutex_lock(&rp->output);
    printf("%s:%ld: %s\n", text->path, line_number(text, offset), line);
    pthread_mutex_unlock(&rp->output);
}

void report_file(struct report *rp, const struct text *text, int matches)
{
    pthread_mutex_lock(&rp->counters);
    rp->files++;
    rp->bytes += (long)text->length;
    rp->matches += matches;
    if (matches > 0)
        rp->matching_files++;
    pthread_mutex_unlock(&rp->counters);

    if (matches > 0 && rp->options->list_only && !rp->options->quiet) {
        pthread_mutex_lock(&rp->output);
        puts(text->path);
        pthread_mutex_unlock(&rp->output);
    }
}

void report_error(struct report *rp, const char *path, int error)
{
    pthread_mutex_lock(&rp->counters);
    rp->errors++;
    pthread_mutex_unlock(&rp->counters);

    pthread_mutex_lock(&rp->output);
    fprintf(stderr, "pfscan: %s: %s\n", path, strerror(error));
    pthread_mutex_unlock(&rp->output);
}

void report_summary(struct report *rp, struct pqueue *queue)
{
    struct pqueue_totals totals;

    pqueue_read_totals(queue, &totals);
    pthread_mutex_lock(&rp->counters);
    fprintf(stderr, "pfscan: %ld matches in %ld of %ld files, %ld bytes\n",
            rp->matches, rp->matching_files, rp->files, rp->bytes);
    fprintf(stderr, "pfscan: queue: %lu puts, %lu gets, %lu stalls\n",
            totals.puts, totals.gets, totals.stalls);
    pthread_mutex_unlock(&rp->counters);
}

int report_exit_code(struct report *rp)
{
    int code;

    pthread_mutex_lock(&rp->counters);
    if (rp->errors > 0)
        code = EXIT_TROUBLE;
    else
        code = rp->matches > 0 ? EXIT_MATCH : EXIT_NO_MATCH;
    pthread_mutex_unlock(&rp->counters);
    return code;
}
