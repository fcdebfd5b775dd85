// String, memory, ctype and conversion functions.
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

static int sign(int x) { return (x > 0) - (x < 0); }
static long offset(const void *base, const void *at) { return at ? (const char *)at - (const char *)base : -1; }

int main(void) {
    char a[64] = "hello", b[64] = "world", buffer[256];
    printf("%zu %zu %zu %zu\n", strlen(a), strnlen(a, 3), strnlen(a, 99), strlen(""));
    printf("%s %s %s\n", strcpy(buffer, a), strcat(buffer, b), strncat(buffer, "abcdef", 3));
    memset(buffer, 'x', 20); buffer[20] = 0;
    strncpy(buffer, "ab", 5); printf("%s %d %c\n", buffer, buffer[4], buffer[5]);
    printf("%ld %s\n", offset(buffer, stpcpy(buffer, "stop")), buffer);
    printf("%ld %s\n", offset(buffer, stpncpy(buffer, "stopping", 4)), buffer);
    printf("%d %d %d %d %d %d\n", sign(strcmp("a", "b")), sign(strcmp("b", "a")), strcmp("same", "same"), sign(strcmp("a", "ab")), sign(strcmp("\xff", "a")), sign(strcmp("", "")));
    printf("%d %d %d %d\n", sign(strncmp("abcx", "abcy", 3)), sign(strncmp("abcx", "abcy", 4)), strncmp("a", "b", 0), sign(strncmp("ab", "abc", 9)));
    printf("%d %d %d %d\n", strcasecmp("HeLLo", "hEllO"), sign(strcasecmp("a", "B")), strncasecmp("ABCd", "abcE", 3), sign(strncasecmp("z", "A", 1)));
    printf("%d %d %d\n", sign(memcmp("abc", "abd", 3)), memcmp("abc", "abd", 2), sign(memcmp("\x80", "\x7f", 1)));
    const char *text = "the quick brown fox jumps over the lazy dog";
    printf("%ld %ld %ld %ld %ld\n", offset(text, strchr(text, 'q')), offset(text, strchr(text, 'z')), offset(text, strchr(text, '!')), offset(text, strchr(text, 0)), offset(text, strrchr(text, 'o')));
    printf("%ld %ld %ld %ld\n", offset(text, strstr(text, "fox")), offset(text, strstr(text, "cat")), offset(text, strstr(text, "")), offset(text, strcasestr(text, "LAZY")));
    printf("%ld %ld %ld %ld\n", offset(text, memchr(text, 'b', 11)), offset(text, memchr(text, 'b', 10)), offset(text, memrchr(text, 't', 40)), offset(text, memmem(text, 40, "over", 4)));
    printf("%zu %zu %ld %ld %ld\n", strspn(text, "eht "), strcspn(text, "xyz"), offset(text, strpbrk(text, "zyx")), offset(text, strpbrk(text, "@")), offset(text, strchrnul(text, '@')));
    printf("%ld\n", offset(text, rawmemchr(text, 'j')));
    char tokens[] = "a,b;;c d,,e", *save = NULL, *rest = tokens;
    for (char *t = strtok_r(tokens, ",; ", &save); t; t = strtok_r(NULL, ",; ", &save)) printf("<%s>", t);
    strcpy(buffer, "one two  three");
    for (char *t = strtok(buffer, " "); t; t = strtok(NULL, " ")) printf("[%s]", t);
    char fields[] = "x::y:z"; rest = fields;
    for (char *t; (t = strsep(&rest, ":"));) printf("{%s}", t);
    printf("\n");
    for (int i = 0; i < 40; i++) buffer[i] = (char)('A' + i % 26);
    memmove(buffer + 3, buffer, 20); memmove(buffer + 10, buffer + 14, 12); buffer[40] = 0; printf("%s\n", buffer);
    memcpy(buffer, "0123456789", 10); mempcpy(buffer + 10, "XYZ", 3); memset(buffer + 20, '-', 5); printf("%s\n", buffer);
    printf("%d\n", memccpy(b, "copy until:this", ':', 64) == b + 11);
    bcopy(buffer, buffer + 2, 10); bzero(buffer + 12, 1); printf("%s %d\n", buffer, bcmp("ab", "ac", 2) != 0);
    char *d = strdup(text), *n = strndup(text, 9);
    printf("%s|%s\n", d, n); free(d); free(n);
    swab("badcfe", buffer, 6); buffer[6] = 0; printf("%s\n", buffer);
    strcpy(buffer, "reverse"); strfry(buffer); printf("%zu\n", strlen(buffer));
    printf("%s|%s|%s\n", strerror(ENOENT), strerror(0), strsignal(11));
    printf("%s %s\n", basename("/usr/lib/file.c"), strerrorname_np(EINVAL));
    printf("%d %d %d\n", sign(strverscmp("file9", "file10")), sign(strcoll("a", "b")), ffs(48));
    char xfrm[16]; printf("%zu\n", strxfrm(xfrm, "abc", sizeof xfrm));

    int classes = 0;
    for (int c = 0; c < 256; c++) {
        classes = classes * 31 + !!isalpha(c) + 2 * !!isdigit(c) + 4 * !!isalnum(c) + 8 * !!isspace(c) + 16 * !!isupper(c) + 32 * !!islower(c) + 64 * !!ispunct(c) +
                  128 * !!isprint(c) + 256 * !!isxdigit(c) + 512 * !!iscntrl(c) + 1024 * !!isgraph(c) + 2048 * !!isblank(c) + toupper(c) * 3 + tolower(c) * 5;
        if (c % 32 == 31) printf("%d ", classes);
    }
    printf("%d %d\n", !!isascii(200), toascii(200));

    const char *numbers[] = { "42", "-17", "  +99x", "0x1f", "077", "9999999999", "99999999999999999999", "-99999999999999999999", "abc", "", "1e3", "0b11", "0x", "- 5" };
    for (int i = 0; i < 14; i++) {
        char *end;
        errno = 0; long l = strtol(numbers[i], &end, 0); printf("%ld@%ld,%d ", l, offset(numbers[i], end), errno);
        errno = 0; unsigned long u = strtoul(numbers[i], &end, 16); printf("%lu@%ld,%d ", u, offset(numbers[i], end), errno);
        errno = 0; long long q = strtoll(numbers[i], NULL, 10); printf("%lld,%d ", q, errno);
        printf("%d %ld %g %g\n", i == 5 || i == 6 || i == 7 ? 0 : atoi(numbers[i]), atol(numbers[i]), atof(numbers[i]), strtod(numbers[i], &end));
    }
    printf("%ld %ld %ld\n", strtol("zz", NULL, 36), strtol("101", NULL, 2), strtol("1", NULL, 1));
    printf("%" PRIdMAX " %" PRIuMAX "\n", strtoimax("-12345678901", NULL, 10), strtoumax("777", NULL, 8));

    wchar_t wide[32] = L"wide"; wcscat(wide, L" text"); mbstate_t state = { 0 };
    printf("%zu %d %ls %d\n", wcslen(wide), sign(wcscmp(wide, L"wider")), wide, (int)(wcschr(wide, L't') - wide));
    char multi[32]; const wchar_t *from = wide; printf("%zu %s\n", wcsrtombs(multi, &from, sizeof multi, &state), multi);
    wchar_t back[32]; printf("%zu %d %lc %ld\n", mbstowcs(back, "back", 32), (int)towupper(L'q'), L'x', wcstol(L"0x10", NULL, 0));
    wmemset(back, L'z', 3); back[3] = 0; swprintf(wide, 32, L"%ls-%d", back, 5); printf("%ls\n", wide);

    setenv("SEMANTICS_TEST", "value", 1); printf("%s ", getenv("SEMANTICS_TEST")); unsetenv("SEMANTICS_TEST"); printf("%d\n", getenv("SEMANTICS_TEST") == NULL);
    char *grown = malloc(4); strcpy(grown, "abc"); grown = realloc(grown, 1000); strcat(grown, "def"); printf("%s\n", grown);
    grown = realloc(grown, 5); grown[4] = 0; printf("%s\n", grown); free(grown);
    int *zeros = calloc(10, sizeof *zeros), total = 0; for (int i = 0; i < 10; i++) total += zeros[i]; printf("%d\n", total); free(zeros);
    void *aligned; printf("%d %d %d\n", posix_memalign(&aligned, 256, 100), (int)((uintptr_t)aligned % 256), posix_memalign(&aligned, 3, 8) == EINVAL); 
    void *other = aligned_alloc(64, 128); printf("%d\n", (int)((uintptr_t)other % 64)); free(other); free(NULL);
    void *volatile nothing = malloc(0), *volatile all = calloc(SIZE_MAX / 2, 4); printf("%d %d %d\n", nothing != NULL, all == NULL, errno == ENOMEM);
    char *formatted; printf("%d ", asprintf(&formatted, "%d-%s", 5, "made")); printf("%s\n", formatted); free(formatted);
    return 7;
}
