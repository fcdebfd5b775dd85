// pbzip2: compresses a file with bzip2, block by block, on several processors.
//
//     pbzip2 [options] FILE
//
// Each block becomes a bzip2 stream of its own; bunzip2 reads the streams one
// after the other. See compress.cpp for where this program comes from and for
// its bug.
#include "pbzip2.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <string>

static const char VERSION[] = "0.9";

static void usage(FILE *out)
{
    std::fputs("usage: pbzip2 [options] FILE\n"
               "  -b SIZE  size of a block in bytes, or with k or m appended\n"
               "           (default 900k)\n"
               "  -p N     number of consumer threads (default 2)\n"
               "  -o FILE  name of the output (default: FILE.bz2)\n"
               "  -1 .. -9 bzip2's own block size in 100k (default 9)\n"
               "  -f       overwrite the output\n"
               "  -t       test each block by decompressing it\n"
               "  -q       print nothing\n"
               "  -V       print the version\n"
               "  -h       print this\n",
               out);
}

static long parseNumber(const char *text, const char **rest)
{
    char *end;
    long n = std::strtol(text, &end, 10);

    if (end == text || n <= 0)
        fail(std::string("not a positive number: ") + text);
    *rest = end;
    return n;
}

static int parseCount(const char *text, int most)
{
    const char *rest;
    long n = parseNumber(text, &rest);

    if (*rest != '\0' || n > most)
        fail(std::string("not a number up to ") + std::to_string(most) + ": " +
             text);
    return static_cast<int>(n);
}

// A size in bytes: digits, then nothing, k or m.
static size_t parseSize(const char *text)
{
    const char *rest;
    size_t size = static_cast<size_t>(parseNumber(text, &rest));

    if (*rest == 'k' || *rest == 'K') {
        size *= 1024;
        rest++;
    } else if (*rest == 'm' || *rest == 'M') {
        size *= 1024 * 1024;
        rest++;
    }
    if (*rest != '\0' || size < MIN_BLOCK || size > MAX_BLOCK)
        fail(std::string("not a block size: ") + text);
    return size;
}

static void parseOptions(int argc, char **argv)
{
    int c;

    while ((c = getopt(argc, argv, "b:p:o:ftqVh123456789")) != -1) {
        switch (c) {
        case 'b':
            options.blockSize = parseSize(optarg);
            break;
        case 'p':
            options.consumers = parseCount(optarg, MAX_CONSUMERS);
            break;
        case 'o':
            options.output = optarg;
            break;
        case 'f':
            options.force = true;
            break;
        case 't':
            options.verify = true;
            break;
        case 'q':
            options.quiet = true;
            break;
        case 'V':
            std::printf("pbzip2 %s\n", VERSION);
            std::exit(0);
        case 'h':
            usage(stdout);
            std::exit(0);
        case '?':
            usage(stderr);
            std::exit(1);
        default:
            options.level = c - '0';
            break;
        }
    }
    if (argc - optind != 1) {
        usage(stderr);
        std::exit(1);
    }
    options.input = argv[optind];
    if (options.output.empty())
        options.output = options.input + ".bz2";
}

int main(int argc, char **argv)
{
    parseOptions(argc, argv);
    return compressFile();
}
