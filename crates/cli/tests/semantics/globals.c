// Initialisers with addresses, weak symbols, aliases, constructors and destructors, atexit, thread-locals.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int numbers[] = { 1, 2, 3, 4, 5 };
static int *middle = &numbers[2], *past = numbers + 5;
static const char *words[] = { "alpha", "beta", "gamma" };
static const char **second = &words[1];
static char inline_text[] = "writable", *tail = inline_text + 5;
struct node { int value; struct node *next; const char **name; int (*f)(int); };
static int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x; }
static struct node nodes[3] = { { 1, &nodes[1], words, twice }, { 2, &nodes[2], words + 2, thrice }, { 3, &nodes[0], &words[1], 0 } };
static struct node *self_pointer = nodes, **to_self = &self_pointer;
static long difference = (char *)&nodes[2].value - (char *)&nodes[0].value;
static intptr_t as_integer = (intptr_t)&numbers[1];
static void *labels_of_data[] = { &numbers, &middle, &inline_text };
static union { int *p; long l; } tagged = { &numbers[3] };
static double constants[] = { 1.0 / 3, 0x1p-3, 1e100, -0.0 };
static const struct { char c; short s; long l; float f; const void *p; } constant = { 'c', -2, 1L << 40, 2.5f, &constant };
static struct node partial[4] = { [1] = { .value = 5 }, [3].name = words };
static int tentative;
int tentative_too;
extern int later;
static int *to_later = &later;
int later = 77;
static char zero_block[4096];

extern int missing_variable __attribute__((weak));
extern void missing_function(void) __attribute__((weak));
__attribute__((weak)) int replaceable(void) { return 5; }
static int (*maybe)(void) = replaceable;
static void (*absent)(void) = missing_function;
int original(int x) { return x + 1000; }
int alias(int x) __attribute__((alias("original")));
int variable = 5;
extern int variable_alias __attribute__((alias("variable")));
__attribute__((visibility("hidden"))) int hidden = 3;
static inline int counted(void) { static int count = 10; return ++count; }
static int other_counted(void) { static int count; static int *where = &count; return ++*where; }

_Thread_local int local = 42;
static _Thread_local int local_array[4] = { 1, 2 };
static __thread int *local_pointer = numbers;
static _Thread_local char local_text[8] = "tls";

static int order[16], placed;
__attribute__((constructor)) static void first(void) { order[placed++] = 1; puts("constructor"); }
__attribute__((constructor(200))) static void early(void) { order[placed++] = 2; puts("constructor 200"); }
__attribute__((constructor(150))) static void earlier(void) { order[placed++] = 3; puts("constructor 150"); }
__attribute__((destructor)) static void last(void) { puts("destructor"); }
__attribute__((destructor(200))) static void very_last(void) { puts("destructor 200"); }
__attribute__((destructor(150))) static void end(void) { puts("destructor 150"); }
static void at_end_one(void) { puts("atexit one"); }
static void at_end_nested(void) { puts("atexit from atexit"); }
static void at_end_two(void) { puts("atexit two"); atexit(at_end_nested); }
static void with_status(int status, void *arg) { printf("on_exit %d %s\n", status, (char *)arg); }

int main(int argc, char **argv, char **envp) {
    printf("%d %d %s %s %c\n", *middle, past[-1], *second, second[1], *tail);
    printf("%d %d %s %d %d\n", nodes[0].next->value, nodes[0].next->next->next->value, *nodes[1].name, nodes[0].f(21), nodes[1].f(14));
    printf("%d %ld %d %d %d\n", (*to_self)->value, difference, *(int *)as_integer, tagged.p[0], ((int *)labels_of_data[0])[4]);
    for (int i = 0; i < 4; i++) printf("%.17g ", constants[i]);
    printf("%c %d %ld %g %d\n", constant.c, constant.s, constant.l, constant.f, constant.p == &constant);
    printf("%d %d %d %d\n", partial[1].value, partial[2].next == NULL, partial[3].name == words, *to_later);
    tentative++; tentative_too += 2; printf("%d %d %d\n", tentative, tentative_too, zero_block[4095]);
    printf("%d %d %d %d\n", &missing_variable == NULL, missing_function == NULL, absent == NULL, maybe());
    printf("%d %d %d\n", alias(1), original(2), alias == original);
    variable_alias = 9; printf("%d %d\n", variable, hidden);
    printf("%d %d %d %d\n", counted(), counted(), other_counted(), other_counted());
    local++; local_array[2] = local; local_pointer++; strcat(local_text, "!");
    printf("%d %d %d %d %s\n", local, local_array[1], local_array[2], *local_pointer, local_text);
    for (int i = 0; i < placed; i++) printf("%d ", order[i]);
    printf("%d %d %d\n", argc, strlen(argv[0]) > 0, argv[argc] == NULL);
    int home = 0;
    for (char **e = envp; *e; e++) home += strncmp(*e, "PATH=", 5) == 0;
    printf("%d %d\n", home, environ != NULL && getenv("PATH") != NULL);
    inline_text[0] = 'W'; printf("%s\n", inline_text);
    atexit(at_end_one); atexit(at_end_two); on_exit(with_status, "argument");
    if (argc > 5) _exit(9);
    exit(300 + 4);
}
