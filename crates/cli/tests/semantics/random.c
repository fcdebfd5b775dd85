// The generators of the C library, whose sequences programs see natively, and sorting what they give.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) { int x = *(int *)a, y = *(int *)b; return (x > y) - (x < y); }
struct item { int key; char name[40]; };
static int calls;
static int by_key(const void *a, const void *b) { calls++; return ((struct item *)a)->key - ((struct item *)b)->key; }

int main(void) {
    for (int i = 0; i < 5; i++) printf("%d ", rand());
    int seeds[] = { 0, 1, 42, -1, 2147483647, 12345 };
    for (int s = 0; s < 6; s++) { srand((unsigned)seeds[s]); for (int i = 0; i < 40; i++) { int r = rand(); if (i % 13 == 0) printf("%d ", r); } }
    printf("%d\n", RAND_MAX);
    srandom(7); printf("%ld %ld ", random(), random()); srand(7); printf("%d %d\n", rand(), rand());
    unsigned state = 99; for (int i = 0; i < 4; i++) printf("%d ", rand_r(&state)); printf("%u\n", state);
    printf("%.17g %ld %ld\n", drand48(), lrand48(), mrand48());
    srand48(5); for (int i = 0; i < 3; i++) printf("%.17g %ld %ld ", drand48(), lrand48(), mrand48());
    unsigned short seed48_state[3] = { 1, 2, 3 }; printf("%.17g %ld %ld %d\n", erand48(seed48_state), nrand48(seed48_state), jrand48(seed48_state), seed48_state[1]);
    seed48((unsigned short[]){ 9, 8, 7 }); printf("%.17g %ld\n", drand48(), mrand48());
    char old_state[64]; char *saved = initstate(3, old_state, sizeof old_state); printf("%ld %ld ", random(), random()); setstate(saved); printf("%ld\n", random());
    struct random_data data; memset(&data, 0, sizeof data); char buffer[32]; int32_t result; initstate_r(11, buffer, sizeof buffer, &data); random_r(&data, &result); printf("%d\n", result);

    srand(3); int numbers[1000]; for (int i = 0; i < 1000; i++) numbers[i] = rand() % 500;
    qsort(numbers, 1000, sizeof *numbers, by_value);
    long check = 0; for (int i = 0; i < 1000; i++) { check = check * 31 + numbers[i]; if (i && numbers[i - 1] > numbers[i]) printf("unsorted\n"); } printf("%ld\n", check);
    struct item items[100]; for (int i = 0; i < 100; i++) { items[i].key = rand() % 10; snprintf(items[i].name, 40, "item %d", i); }
    qsort(items, 100, sizeof *items, by_key); for (int i = 0; i < 100; i += 9) printf("%d:%s ", items[i].key, items[i].name); printf("%d\n", calls);
    struct item key = { 4, "" }, *found = bsearch(&key, items, 100, sizeof key, by_key); printf("%s\n", found ? found->name : "none");
    for (int i = 99; i > 0; i--) { int j = rand() % (i + 1); struct item t = items[i]; items[i] = items[j]; items[j] = t; } printf("%s %s\n", items[0].name, items[99].name);
    return 0;
}
