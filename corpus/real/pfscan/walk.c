/*
 * The walk over files and directories. Entries of a directory are visited in
 * the order of their names, so that the walk does not depend on the file system.
 */
#include "pfscan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct listing {
    char **names;
    size_t count;
    size_t capacity;
};

struct walk {
    const struct options *options;
    struct pqueue *queue;
    struct report *report;
};

static void visit(struct walk *wp, const char *path, int depth);

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int listing_add(struct listing *lp, const char *name)
{
    if (lp->count == lp->capacity) {
        size_t capacity = lp->capacity == 0 ? 8 : 2 * lp->capacity;
        char **names = realloc(lp->names, capacity * sizeof *names);
        if (names == NULL)
            return -1;
        lp->names = names;
        lp->capacity = capacity;
    }
    lp->names[lp->count] = strdup(name);
    if (lp->names[lp->count] == NULL)
        return -1;
    lp->count++;
    return 0;
}

static void listing_free(struct listing *lp)
{
    size_t i;

    for (i = 0; i < lp->count; i++)
        free(lp->names[i]);
    free(lp->names);
}

/* Reads the names in a directory. Returns 0, or the error number. */
static int list_directory(const char *path, struct listing *lp)
{
    struct dirent *entry;
    DIR *dir = opendir(path);
    int error = 0;

    if (dir == NULL)
        return errno;
    while (error == 0 && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (listing_add(lp, entry->d_name) < 0)
            error = ENOMEM;
    }
    closedir(dir);
    if (lp->count > 1)
        qsort(lp->names, lp->count, sizeof *lp->names, by_name);
    return error;
}

static char *join_path(const char *directory, const char *name)
{
    size_t length = strlen(directory);
    size_t size = length + strlen(name) + 2;
    const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    char *path = malloc(size);

    if (path != NULL)
        snprintf(path, size, "%s%s%s", directory, slash, name);
    return path;
}

static void visit_directory(struct walk *wp, const char *path, int depth)
{
    struct listing listing = {NULL, 0, 0};
    int error;
    size_t i;

    if (depth >= MAX_DEPTH) {
        report_error(wp->report, path, ELOOP);
        return;
    }
    error = list_directory(path, &listing);
    if (error != 0)
        report_error(wp->report, path, error);
    for (i = 0; i < listing.count; i++) {
        char *child = join_path(path, listing.names[i]);
        if (child == NULL)
            report_error(wp->report, path, ENOMEM);
        else
            visit(wp, child, depth + 1);
        free(child);
    }
    listing_free(&listing);
}

static int has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);

    return n >= m && strcmp(path + n - m, suffix) == 0;
}

static void visit_file(struct walk *wp, const char *path)
{
    char *copy;

    if (wp->options->suffix != NULL && !has_suffix(path, wp->options->suffix))
        return;
    copy = strdup(path); /* the worker frees it */
    if (copy == NULL)
        report_error(wp->report, path, ENOMEM);
    else if (!pqueue_put(wp->queue, copy))
        free(copy);
}

static void visit(struct walk *wp, const char *path, int depth)
{
    struct stat status;
    int failed = wp->options->follow ? stat(path, &status) : lstat(path, &status);

    if (failed)
        report_error(wp->report, path, errno);
    else if (S_ISDIR(status.st_mode))
        visit_directory(wp, path, depth);
    else if (S_ISREG(status.st_mode))
        visit_file(wp, path);
    /* Links, devices, pipes and sockets are passed over. */
}

void walk_tree(const struct options *options, const char *root,
               struct pqueue *queue, struct report *report)
{
    struct walk walk = {options, queue, report};

    visit(&walk, root, 0);
}
