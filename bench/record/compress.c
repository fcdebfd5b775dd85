/* Compression: the longest earlier match, found by a hash of three bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20, HASHES = 1 << 14 };
static unsigned char input[SIZE], output[SIZE * 2];
static int last[HASHES];

static unsigned hash(const unsigned char *at)
{
    return (at[0] * 2654435761u ^ at[1] * 40503u ^ at[2] * 2246822519u) >> 18;
}

static long pack(void)
{
    long length = 0;
    memset(last, -1, sizeof last);
    for (int i = 0; i + 3 < SIZE;) {
        unsigned h = hash(&input[i]);
        int before = last[h], match = 0;
        last[h] = i;
        if (before >= 0 && i - before < 65536)
            while (match < 255 && i + match < SIZE && input[before + match] == input[i + match])
                match++;
        if (match >= 4) {
            output[length++] = 255;
            output[length++] = (unsigned char)match;
            output[length++] = (unsigned char)(i - before);
            output[length++] = (unsigned char)((i - before) >> 8);
            i += match;
        } else {
            output[length++] = input[i++];
        }
    }
    return length;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    unsigned seed = 1;
    long sum = 0;
    for (int i = 0; i < SIZE; i++) {
        seed = seed * 1664525u + 1013904223u;
        input[i] = i > 5000 && seed >> 30 ? input[i - 1 - (int)(seed >> 20) % 5000] : (unsigned char)(seed >> 24);
    }
    for (int round = 0; round < rounds; round++)
        sum += pack();
    printf("%ld\n", sum);
    return 0;
}
