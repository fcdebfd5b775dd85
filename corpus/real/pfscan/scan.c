/* The workers: take a path from the queue, read the file, search it. */
#include "pfscan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes room for length bytes; what the buffer held is lost. */
static int reserve(struct text *text, size_t length)
{
    unsigned char *data;

    if (length <= text->capacity)
        return 0;
    data = malloc(length);
    if (data == NULL)
        return -1;
    free(text->data);
    text->data = data;
    text->capacity = length;
    return 0;
}

static int read_fully(int fd, struct text *text, size_t wanted)
{
    text->length = 0;
    while (text->length < wanted) {
        ssize_t n = read(fd, text->data + text->length, wanted - text->length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break; /* the file shrank meanwhile */
        text->length += (size_t)n;
    }
    return 0;
}

/* Returns 0, or the error number. */
static int load_file(const char *path, struct text *text)
{
    struct stat status;
    int error = 0;
    int fd = open(path, O_RDONLY);

    text->path = path;
    text->length = 0;
    if (fd < 0)
        return errno;
    if (fstat(fd, &status) < 0)
        error = errno;
    else if (status.st_size > MAX_FILE_SIZE)
        error = EFBIG;
    else if (reserve(text, (size_t)status.st_size) < 0)
        error = ENOMEM;
    else if (read_fully(fd, text, (size_t)status.st_size) < 0)
        error = errno;
    close(fd);
    return error;
}

static int scan_text(struct scanner *sp, const struct text *text)
{
    const struct options *options = sp->options;
    const struct search *search = sp->search;
    int matches = 0;
    long at = search_next(search, text->data, text->length, 0);

    while (at >= 0) {
        matches++;
        report_match(sp->report, text, (size_t)at, search->length);
        if (options->list_only || options->quiet)
            break; /* one is enough */
        if (options->max_matches > 0 && matches >= options->max_matches)
            break;
        at = search_next(search, text->data, text->length,
                         (size_t)at + search->length);
    }
    return matches;
}

static void scan_file(struct scanner *sp, const char *path, struct text *text)
{
    int error = load_file(path, text);

    if (error != 0) {
        report_error(sp->report, path, error);
        return;
    }
    report_file(sp->report, text, scan_text(sp, text));
}

void *scan_worker(void *scanner)
{
    struct scanner *sp = scanner;
    struct text text = {NULL, NULL, 0, 0};
    void *item;

    while (pqueue_get(sp->queue, &item)) {
        scan_file(sp, item, &text);
        free(item);
    }
    free(text.data);
    return NULL;
}
