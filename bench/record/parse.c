/* Branchy: a recursive-descent parser of nested lists and numbers. */
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1 << 18 };
static char text[SIZE + 64];
static const char *at;

static long value(void)
{
    long sum = 0;
    while (*at == ' ' || *at == ',')
        at++;
    if (*at == '[') {
        at++;
        while (*at && *at != ']')
            sum = sum * 31 + value();
        if (*at)
            at++;
        return sum;
    }
    if (*at == '-') {
        at++;
        return -value();
    }
    while (*at >= '0' && *at <= '9')
        sum = sum * 10 + (*at++ - '0');
    if (*at && *at != ' ' && *at != ',' && *at != '[' && *at != ']' && *at != '-' && !(*at >= '0' && *at <= '9'))
        at++;
    return sum;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, depth = 0;
    unsigned seed = 5;
    long sum = 0;
    for (int i = 0; i < SIZE; i++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned kind = (seed >> 24) % 16;
        if (kind == 0 && depth < 40) {
            text[i] = '[';
            depth++;
        } else if (kind == 1 && depth > 0) {
            text[i] = ']';
            depth--;
        } else {
            text[i] = kind < 5 ? ',' : kind == 5 ? '-' : (char)('0' + kind % 10);
        }
    }
    for (int round = 0; round < rounds; round++)
        for (at = text; *at;) {
            const char *before = at;
            sum += value();
            at += at == before;
        }
    printf("%ld\n", sum);
    return 0;
}
