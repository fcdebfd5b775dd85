// Files and error messages.
#include "pbzip2.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

void fail(const std::string &message)
{
    std::fprintf(stderr, "pbzip2: %s\n", message.c_str());
    std::exit(1);
}

void failErrno(const std::string &what)
{
    fail(what + ": " + std::strerror(errno));
}

int openInput(const std::string &name, size_t *size)
{
    struct stat status;
    int descriptor = open(name.c_str(), O_RDONLY);

    if (descriptor < 0 || fstat(descriptor, &status) != 0)
        failErrno(name);
    if (!S_ISREG(status.st_mode))
        fail(name + ": not a regular file");
    *size = static_cast<size_t>(status.st_size);
    if (*size == 0)
        fail(name + ": the file is empty");
    return descriptor;
}

int openOutput(const std::string &name, bool force)
{
    int flags = O_WRONLY | O_CREAT | (force ? O_TRUNC : O_EXCL);
    int descriptor = open(name.c_str(), flags, 0666);

    if (descriptor < 0 && errno == EEXIST)
        fail(name + ": exists already, use -f to overwrite it");
    if (descriptor < 0)
        failErrno(name);
    return descriptor;
}

void readFully(int descriptor, char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = read(descriptor, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            failErrno("read");
        if (n == 0)
            fail("the input shrank while it was read");
        data += n;
        size -= static_cast<size_t>(n);
    }
}

void writeFully(int descriptor, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(descriptor, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            failErrno("write");
        data += n;
        size -= static_cast<size_t>(n);
    }
}
