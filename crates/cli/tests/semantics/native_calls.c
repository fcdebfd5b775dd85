// Native functions with values of every class, and native functions that call back.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <complex.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <iconv.h>
#include <langinfo.h>
#include <link.h>
#include <math.h>
#include <netinet/in.h>
#include <obstack.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

static int visible(const struct dirent *e) { return e->d_name[0] != '.'; }
static int reversed(const struct dirent **a, const struct dirent **b) { return -alphasort(a, b); }
static int files, directories;
static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw) { (void)st; if (type == FTW_F) files += ftw->level; else directories += 10 * (ftw->level + 1); return strstr(path, "never") != NULL; }
struct memory { char text[256]; size_t read, written; int closed; };
static ssize_t cookie_read(void *c, char *to, size_t n) { struct memory *m = c; size_t left = m->written - m->read; if (n > left) n = left; memcpy(to, m->text + m->read, n); m->read += n; return (ssize_t)n; }
static ssize_t cookie_write(void *c, const char *from, size_t n) { struct memory *m = c; for (size_t i = 0; i < n; i++) m->text[m->written++] = (char)(from[i] ^ (from[i] >= 'a' && from[i] <= 'z' ? 0x20 : 0)); return (ssize_t)n; }
static int cookie_close(void *c) { ((struct memory *)c)->closed = 1; return 0; }
static int loaded(struct dl_phdr_info *info, size_t size, void *count) { (void)size; *(int *)count += info->dlpi_phnum > 0; return 0; }
static int order(const void *a, const void *b) { return strcmp(a, b); }
static int tree_sum;
static void walk(const void *node, VISIT which, void *closure) { if (which == postorder || which == leaf) tree_sum += (int)strlen(*(char *const *)node) * *(int *)closure; }
static void drop(void *node) { tree_sum += ((char *)node)[0]; }
static int with_context(const void *a, const void *b, void *direction) { return (*(const double *)a > *(const double *)b ? 1 : -1) * *(int *)direction; }
static void touch(const char *path) { FILE *f = fopen(path, "w"); fputs(path, f); fclose(f); }

int main(void) {
    struct in_addr address = { htonl(0x7f000102) }; printf("%s %x %u\n", inet_ntoa(address), ntohl(inet_addr("10.1.2.3")), ntohl(inet_makeaddr(10, 5).s_addr)); printf("%x %d\n", inet_netof(address), inet_lnaof(address)); char text[64]; printf("%s\n", inet_ntop(AF_INET, &address, text, sizeof text));
    double complex z = 3 - 4 * I; float complex f = 1 + 2 * I; long double complex l = -2 + 0.5L * I; printf("%.15g %.7g %.18Lg\n", cabs(z), cabsf(f), cabsl(l)); z = csqrt(z); f = cexpf(f); l = csqrtl(l); printf("%.15g %.15g %.6g %.6g %.17Lg %.17Lg\n", creal(z), cimag(z), crealf(f), cimagf(f), creall(l), cimagl(l)); z = cpow(z, 1 + I); l = conjl(cpowl(l, 2)); f = cprojf(f); printf("%.13g %.13g %.15Lg %.15Lg %.6g\n", creal(z), cimag(z), creall(l), cimagl(l), carg(f)); double complex (*function)(double complex) = csin; z = function(z); printf("%.12g %.12g\n", creal(z), cimag(z));
    int sign; printf("%.17g %.9g %.20Lg %.17g\n", nexttoward(1.0, 2.0L), nexttowardf(1.0f, 2.0L), scalbnl(1.5L, 3), lgamma_r(0.7, &sign)); printf("%.20Lg %s %s\n", strtold("1.1", NULL), gcvt(3.25, 5, text), ecvt(1234.5, 6, &sign, &sign)); char long_text[64]; snprintf(long_text, 64, "%.15Lg|%d|%s", 2.5L, 7, "x"); puts(long_text);
    mkdir("tree", 0700); mkdir("tree/sub", 0700); touch("tree/b.txt"); touch("tree/a.txt"); touch("tree/sub/c.txt"); struct dirent **names; int n = scandir("tree", &names, visible, reversed); for (int i = 0; i < n; i++) { printf("%s ", names[i]->d_name); free(names[i]); } free(names); printf("%d ", nftw("tree", visit, 8, FTW_PHYS)); printf("%d %d\n", files, directories); glob_t found; printf("%d ", glob("tree/*.txt", 0, NULL, &found)); for (size_t i = 0; i < found.gl_pathc; i++) printf("%s ", found.gl_pathv[i]); globfree(&found); wordexp_t words; printf("%d ", wordexp("one 'two three' $((3+4))", &words, 0)); for (size_t i = 0; i < words.we_wordc; i++) printf("[%s]", words.we_wordv[i]); wordfree(&words); printf("\n"); unlink("tree/a.txt"); unlink("tree/b.txt"); unlink("tree/sub/c.txt"); rmdir("tree/sub"); printf("%d\n", rmdir("tree"));
    struct memory memory = { 0 }; FILE *stream = fopencookie(&memory, "w+", (cookie_io_functions_t){ cookie_read, cookie_write, NULL, cookie_close }); fprintf(stream, "shout %d times\nsecond", 3); fflush(stream); fgets(text, sizeof text, stream); printf("%s%zu ", text, memory.written); fclose(stream); printf("%d\n", memory.closed); int objects = 0; printf("%d %d\n", dl_iterate_phdr(loaded, &objects), objects > 0);
    void *tree = NULL; char *keys[] = { "pear", "fig", "apple", "kiwi" }; for (int i = 0; i < 4; i++) tsearch(keys[i], &tree, order); int factor = 3; twalk_r(tree, walk, &factor); printf("%d ", tree_sum); tdelete("fig", &tree, order); tdestroy(tree, drop); printf("%d\n", tree_sum); hcreate(10); for (long i = 0; i < 4; i++) hsearch((ENTRY){ keys[i], (void *)i }, ENTER); ENTRY *hit = hsearch((ENTRY){ "apple", NULL }, FIND); printf("%ld %d\n", hit ? (long)hit->data : -1L, hsearch((ENTRY){ "plum", NULL }, FIND) == NULL); hdestroy(); double values[] = { 2.5, -1, 9, 4 }; int direction = -1; qsort_r(values, 4, sizeof *values, with_context, &direction); printf("%g %g\n", values[0], values[3]);
    struct obstack stack; obstack_init(&stack); obstack_printf(&stack, "grown %d", 1); obstack_grow0(&stack, "!", 1); printf("%s\n", (char *)obstack_finish(&stack)); obstack_free(&stack, NULL); iconv_t conv = iconv_open("UTF-16LE", "UTF-8"); char input[] = "h\xc3\xa9", output[16], *from = input, *to = output; size_t in_left = 3, out_left = 16; printf("%d %zu %d\n", conv != (iconv_t)-1 ? (int)iconv(conv, &from, &in_left, &to, &out_left) : -1, 16 - out_left, (unsigned char)output[2]); iconv_close(conv); void *library = dlopen("libm.so.6", RTLD_NOW); double (*cosine)(double) = (double (*)(double))dlsym(library, "cos"); printf("%.15g %d\n", cosine(0.5), dlclose(library)); printf("%s\n", nl_langinfo(RADIXCHAR)); int (*native)(const char *, ...) = printf; native("%s %d %.2f\n", "indirect", 1, 2.0); size_t (*length)(const char *) = strlen; printf("%zu\n", length("five5")); void *(*allocate)(size_t) = malloc; void (*release)(void *) = free; char *p = allocate(8); strcpy(p, "heap"); printf("%s\n", p); release(p); struct { int (*compare)(const char *, const char *); } table = { strcmp }; printf("%d\n", table.compare("a", "a")); printf("%d\n", atexit == NULL); struct tm tm = { .tm_year = 100, .tm_mday = 1 }; printf("%ld\n", (long)timegm(&tm)); struct timeval a = { 3, 900000 }, b = { 1, 200000 }, c; timersub(&a, &b, &c); printf("%ld %ld\n", (long)c.tv_sec, (long)c.tv_usec);
    return 0;
}
