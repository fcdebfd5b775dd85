/* The slow, plain truth: every branch of every thread, as it happens, in a file a thread that survives SIGKILL. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread unsigned *next;

void __unravel_trace(unsigned id)
{
    if (!next) {
        const char *folder = getenv("TRACE_FOLDER");
        char name[4096];
        size_t size = (size_t)1 << 32;
        int file;
        if (!folder)
            return;
        snprintf(name, sizeof name, "%s/%ld.trace", folder, (long)syscall(SYS_gettid));
        file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || ftruncate(file, (off_t)size) != 0)
            abort();
        next = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (next == MAP_FAILED)
            abort();
        close(file);
    }
    *next++ = id + 1;
}
