/* A hash table with open addressing: inserts, looks up, deletes. */
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1 << 16 };
static struct { unsigned key; int state, value; } table[SLOTS];

static unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x45d9f3bu;
    return x ^ x >> 16;
}

static int find(unsigned key)
{
    unsigned at = mix(key) % SLOTS;
    int free_slot = -1;
    for (int i = 0; i < SLOTS; i++, at = (at + 1) % SLOTS) {
        if (table[at].state == 0)
            return free_slot >= 0 ? ~free_slot : ~(int)at;
        if (table[at].state == 2) {
            if (free_slot < 0)
                free_slot = (int)at;
        } else if (table[at].key == key) {
            return (int)at;
        }
    }
    return ~free_slot;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    unsigned seed = 7;
    long sum = 0;
    for (long i = 0; i < 100000L * rounds; i++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned key = (seed >> 8) % 40000;
        int at = find(key);
        if (at >= 0 && seed % 3 == 0) {
            table[at].state = 2;
        } else if (at >= 0) {
            sum += ++table[at].value;
        } else {
            table[~at].state = 1;
            table[~at].key = key;
            table[~at].value = 0;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
