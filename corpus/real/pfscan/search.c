/* Horspool's string search, with or without regard to case. */
#include "pfscan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int search_compile(struct search *sp, const char *pattern, int ignore_case)
{
    size_t i;

    sp->length = strlen(pattern);
    sp->ignore_case = ignore_case;
    sp->pattern = malloc(sp->length + 1);
    if (sp->pattern == NULL)
        return -1;
    for (i = 0; i <= sp->length; i++) {
        unsigned char c = (unsigned char)pattern[i];
        sp->pattern[i] = ignore_case ? (unsigned char)tolower(c) : c;
    }

    /* How far the pattern may move when c stands under its last character. */
    for (i = 0; i < 256; i++)
        sp->skip[i] = sp->length;
    for (i = 0; i + 1 < sp->length; i++) {
        unsigned char c = sp->pattern[i];
        sp->skip[c] = sp->length - 1 - i;
        if (ignore_case)
            sp->skip[toupper(c)] = sp->length - 1 - i;
    }
    return 0;
}

void search_free(struct search *sp)
{
    free(sp->pattern);
    sp->pattern = NULL;
}

static int matches_at(const struct search *sp, const unsigned char *text)
{
    size_t i = sp->length;

    if (!sp->ignore_case)
        return memcmp(text, sp->pattern, sp->length) == 0;
    while (i > 0) {
        i--;
        if (tolower(text[i]) != sp->pattern[i])
            return 0;
    }
    return 1;
}

long search_next(const struct search *sp, const unsigned char *text,
                 size_t length, size_t start)
{
    size_t last = sp->length - 1;
    size_t at = start;

    while (at + last < length) {
        if (matches_at(sp, text + at))
            return (long)at;
        at += sp->skip[text[at + last]];
    }
    return -1;
}
