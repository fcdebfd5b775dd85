// printf and scanf families, standard input, files in the current directory.
// stdin: 12 -7 3.5 word\nsecond line with spaces\nkey=value;0x1F\nlast
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>
#include <dirent.h>
#include <sys/uio.h>

int main(void) {
    int i, j; double d; char word[32], line[64], k[16], v[16]; unsigned x; char c;
    printf("%d", scanf("%d %d %lf %31s", &i, &j, &d, word)); printf(" %d %d %g %s\n", i, j, d, word);
    printf("%d", getchar()); printf(" %s", fgets(line, sizeof line, stdin));
    printf("%d", scanf("%15[^=]=%15[^;];%x%c", k, v, &x, &c)); printf(" %s %s %u %d\n", k, v, x, c);
    ungetc('L', stdin); printf("%c", getchar());
    size_t size = 0; char *read_line = NULL; ssize_t n = getline(&read_line, &size, stdin); printf(" %zd %s\n", n, read_line); free(read_line);
    printf("%d %d %d %d\n", getchar(), feof(stdin) != 0, ferror(stdin), scanf("%d", &i));

    printf("[%5d] [%-5d] [%05d] [%+d] [% d] [%x] [%X] [%#x] [%o] [%#o] [%u]\n", 42, 42, 42, 42, 42, 255, 255, 255, 8, 8, -1);
    printf("[%10s] [%-10s] [%.2s] [%c] [%%] [%5c] [%s]\n", "right", "left", "cut", 'c', 'd', (char *)"");
    printf("[%8.3f] [%-8.2e] [%g] [%G] [%a] [%.0f]\n", 3.14159, 31415.9, 1e-5, 1e20, 1.0, 0.5);
    printf("%hhd %hd %ld %lld %zd %jd %td\n", (char)300, (short)70000, 1L << 40, 1LL << 50, (ssize_t)-1, (long)5, (long)-5);
    printf("%b %#b\n", 10u, 5u);
    int count; printf("abc%n def\n", &count); printf("%d %d\n", count, printf("%s\n", "twelve chars"));
    puts("puts"); putchar('p'); putc('q', stdout); fputs("fputs\n", stdout); fputc('\n', stdout); fwrite("write\n", 1, 6, stdout);
    char text[64]; printf("%d %s\n", sprintf(text, "%03d|%s", 7, "x"), text);
    printf("%d %s\n", snprintf(text, 5, "%s", "truncated"), text);
    printf("%d", sscanf("10,20:30 abc", "%d,%d:%d %3s", &i, &j, &count, word)); printf(" %d %d %d %s\n", i, j, count, word);
    printf("%d ", sscanf("x", "%d", &i)); printf("%d\n", sscanf("", "%d", &i));
    float f; long double ld; long long ll; short sh; unsigned char uc; void *p;
    printf("%d", sscanf("1.5 2.5 123456789012 -5 200 0x10", "%f %Lf %lld %hd %hhu %p", &f, &ld, &ll, &sh, &uc, &p)); printf(" %g %Lg %lld %d %u %d\n", f, ld, ll, sh, uc, (int)(long)p);
    printf("%d", sscanf("skip 42 99", "%*s %d %n%d", &i, &count, &j)); printf(" %d %d %d\n", i, count, j);
    char *allocated; printf("%d", sscanf("allocated text", "%ms", &allocated)); printf(" %s\n", allocated); free(allocated);

    FILE *out = fopen("data.txt", "w"); if (!out) return 1;
    for (i = 0; i < 20; i++) fprintf(out, "line %d %g\n", i, i / 4.0);
    printf("%ld %d\n", ftell(out), fclose(out));
    FILE *in = fopen("data.txt", "r"); int lines = 0; double sum = 0;
    while (fgets(line, sizeof line, in)) { lines++; if (sscanf(line, "line %d %lf", &i, &d) == 2) sum += i * d; }
    printf("%d %g %d\n", lines, sum, feof(in) != 0);
    rewind(in); printf("%d %ld\n", fscanf(in, "line %d %lf", &i, &d), ftell(in));
    fseek(in, -12, SEEK_END); printf("%s", fgets(line, sizeof line, in)); fseek(in, 5, SEEK_SET); printf("%d ", fgetc(in)); fseek(in, 2, SEEK_CUR); printf("%ld\n", ftell(in));
    fpos_t pos; fgetpos(in, &pos); c = (char)fgetc(in); fsetpos(in, &pos); printf("%d\n", c == fgetc(in)); fclose(in);
    out = fopen("data.bin", "wb+"); int data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, back[8] = { 0 };
    printf("%zu ", fwrite(data, sizeof *data, 8, out)); rewind(out); printf("%zu %d ", fread(back, sizeof *back, 10, out), back[7]);
    fseek(out, 8, SEEK_SET); fwrite(&(int){ 99 }, 4, 1, out); fflush(out); fseek(out, 0, SEEK_SET); printf("%zu %d %d\n", fread(back, 4, 3, out), back[2], fileno(out) > 2); fclose(out);
    out = fopen("data.txt", "a"); fputs("appended\n", out); fclose(out);
    struct stat st; printf("%d %ld %d\n", stat("data.txt", &st), (long)st.st_size, S_ISREG(st.st_mode));
    errno = 0; in = fopen("no/such/file", "r"); printf("%d %d %s\n", in == NULL, errno == ENOENT, strerror(errno));
    printf("%d ", rename("data.bin", "moved.bin")); printf("%d %d\n", access("data.bin", F_OK), access("moved.bin", R_OK));
    int fd = open("raw.bin", O_RDWR | O_CREAT | O_TRUNC, 0600); printf("%d %zd ", fd > 2, write(fd, "raw bytes", 9)); printf("%ld ", (long)lseek(fd, 4, SEEK_SET)); memset(line, 0, sizeof line); printf("%zd %s ", read(fd, line, 20), line);
    struct iovec parts[2] = { { "ab", 2 }, { "cde", 3 } }; printf("%zd %d\n", writev(fd, parts, 2), close(fd));
    int ends[2]; printf("%d ", pipe(ends)); printf("%zd ", write(ends[1], "through", 7)); memset(line, 0, sizeof line); printf("%zd %s\n", read(ends[0], line, 20), line); close(ends[0]); close(ends[1]);
    printf("%d\n", mkdir("dir", 0700)); out = fopen("dir/inner", "w"); fclose(out);
    DIR *dir = opendir("dir"); int entries = 0; for (struct dirent *e; (e = readdir(dir));) entries += e->d_name[0] != '.'; closedir(dir); printf("%d\n", entries);
    printf("%d %d %d %d %d\n", remove("dir/inner"), rmdir("dir"), remove("data.txt"), unlink("moved.bin"), unlink("raw.bin"));
    printf("%d\n", remove("data.txt"));
    FILE *temporary = tmpfile(); fputs("temporary", temporary); rewind(temporary); printf("%s\n", fgets(line, sizeof line, temporary)); fclose(temporary);
    char *memory = NULL; size_t length = 0; FILE *stream = open_memstream(&memory, &length); fprintf(stream, "%d in memory", 5); fclose(stream); printf("%s %zu\n", memory, length); free(memory);
    stream = fmemopen((char[]){ "7 8 9" }, 5, "r"); printf("%d", fscanf(stream, "%d %d %d", &i, &j, &count)); printf(" %d\n", i + j + count); fclose(stream);
    setvbuf(stdout, NULL, _IOLBF, 0); fprintf(stderr, "to stderr\n"); perror("perror");
    dprintf(1, "%s\n", "unbuffered"); fflush(stdout); write(1, "raw\n", 4);
    printf("no newline at the end");
    return 3;
}
