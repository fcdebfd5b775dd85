// setjmp and longjmp: loops, nested, from callees, several buffers, with VLAs and volatile locals.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf outer, inner;
static int trail[16], steps;
static void mark(int x) { if (steps < 16) trail[steps++] = x; }

static void thrower(int code) { mark(100 + code); longjmp(outer, code); }
static void deep(int n, int code) { char pad[200]; memset(pad, n, sizeof pad); if (n == 0) thrower(code + pad[0]); deep(n - 1, code); mark(-1); }

static int nested(void) {
    volatile int level = 0;
    if (setjmp(outer) == 0) {
        level = 1;
        int r = setjmp(inner);
        if (r < 3) { level++; longjmp(inner, r + 1); }
        mark(level);
        longjmp(outer, 9);
    }
    return level * 10;
}

// An exception-like mechanism with a stack of buffers.
struct handler { jmp_buf env; struct handler *next; };
static struct handler *handlers;
static void raise_error(int code) { struct handler *h = handlers; handlers = h->next; longjmp(h->env, code); }
static int guarded(int (*body)(int), int arg) {
    struct handler h;
    h.next = handlers;
    handlers = &h;
    int code = setjmp(h.env);
    if (code == 0) { int r = body(arg); handlers = h.next; return r; }
    return -code;
}
static int risky(int n) { if (n % 3 == 0) raise_error(n + 1); return n * 2; }
static int riskier(int n) { int a = guarded(risky, n), b = guarded(risky, n + 1); if (a + b < 0) raise_error(50 - a - b); return a + b; }

static int scan(const char *text) {
    jmp_buf fail;
    volatile int depth = 0, at = 0;
    switch (setjmp(fail)) {
    case 0: break;
    case 1: return -1000 - at;
    default: return -2000 - at;
    }
    for (; text[at]; at++) {
        if (text[at] == '(') depth++;
        if (text[at] == ')' && --depth < 0) longjmp(fail, 1);
        if (text[at] == '!') longjmp(fail, 2);
    }
    return depth;
}
static int with_vla(int n) {
    jmp_buf env;
    volatile int rounds = 0;
    int kept[n];
    for (int i = 0; i < n; i++) kept[i] = i * i;
    if (setjmp(env) < 3) { int more[n * (rounds + 1)]; more[n - 1] = 5; rounds += more[n - 1] / 5; longjmp(env, rounds); }
    int s = 0;
    for (int i = 0; i < n; i++) s += kept[i];
    return s + rounds;
}
static int compare_calls;
static int compare(const void *a, const void *b) { compare_calls++; return *(const int *)a - *(const int *)b; }

int main(void) {
    volatile int loops = 0;
    int code = setjmp(outer);
    mark(code);
    if (loops++ < 4) deep(loops * 3, loops);
    printf("loops %d\n", loops);
    printf("nested %d\n", nested());
    for (int i = 0; i < 8; i++) printf("%d ", guarded(riskier, i));
    printf("\n%d %d %d %d\n", scan("(()())"), scan("((("), scan("())"), scan("(!"));
    printf("%d %d\n", with_vla(4), with_vla(50));
    sigjmp_buf sig;
    int r = sigsetjmp(sig, 1);
    if (r == 0) siglongjmp(sig, 0);
    printf("zero becomes %d\n", r);
    if (_setjmp(inner) == 0) { int v[3] = { 3, 1, 2 }; qsort(v, 3, sizeof *v, compare); printf("%d%d%d\n", v[0], v[1], v[2]); _longjmp(inner, -5); } else printf("back %d\n", compare_calls > 0);
    for (int i = 0; i < steps; i++) printf("%d ", trail[i]);
    printf("\n");
    return steps;
}
