/* Strings: Horspool's search for words in a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20 };
static char text[SIZE + 1];

static int count(const char *word)
{
    int length = (int)strlen(word), skip[256], found = 0;
    for (int i = 0; i < 256; i++)
        skip[i] = length;
    for (int i = 0; i + 1 < length; i++)
        skip[(unsigned char)word[i]] = length - 1 - i;
    for (int at = 0; at + length <= SIZE;) {
        int i = length - 1;
        while (i >= 0 && text[at + i] == word[i])
            i--;
        if (i < 0)
            found++;
        at += skip[(unsigned char)text[at + length - 1]];
    }
    return found;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    static const char *words[] = {"abcabd", "bbca", "cccccc", "dabacab"};
    unsigned seed = 3;
    long sum = 0;
    for (int i = 0; i < SIZE; i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = (char)('a' + (seed >> 28) % 5);
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < 4; i++)
            sum += count(words[i]);
    printf("%ld\n", sum);
    return 0;
}
