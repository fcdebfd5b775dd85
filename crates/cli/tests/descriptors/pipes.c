// Pipes, eventfds and timerfds by one thread: every answer is printed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *name(void) { return strerrorname_np(errno); }
static void say(const char *what, long result) {
  printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? name() : "");
}
static int look(int fd, int events) {
  struct pollfd one = {.fd = fd, .events = events};
  int count = poll(&one, 1, 0);
  return count < 0 ? count : one.revents;
}

int main(void) {
  int p[2];
  char big[8192], small[8] = "";
  memset(big, 'x', sizeof big);
  signal(SIGPIPE, SIG_IGN);
  say("pipe", pipe2(p, O_NONBLOCK));
  say("empty read", read(p[0], small, 4));
  say("wrong end", read(p[1], small, 4));
  say("wrong end write", write(p[0], small, 4));
  say("empty poll", look(p[0], POLLIN));
  say("room poll", look(p[1], POLLOUT));
  say("write", write(p[1], "hello", 5));
  say("poll", look(p[0], POLLIN));
  int available = -1;
  say("ioctl", ioctl(p[0], FIONREAD, &available));
  say("available", available);
  struct iovec parts[2] = {{small, 2}, {small + 4, 3}};
  say("readv", readv(p[0], parts, 2));
  printf("%c%c %c%c%c\n", small[0], small[1], small[4], small[5], small[6]);
  long total = 0, n;
  while ((n = write(p[1], big, sizeof big)) > 0) total += n;
  say("full", n);
  say("total", total);
  say("full poll", look(p[1], POLLOUT));
  say("drain", read(p[0], big, 4096));
  say("poll again", look(p[1], POLLOUT));
  say("size", fcntl(p[0], F_GETPIPE_SZ));
  say("flags", fcntl(p[1], F_GETFL) & (O_NONBLOCK | O_ACCMODE));
  struct stat status;
  say("fstat", fstat(p[0], &status));
  say("fifo", S_ISFIFO(status.st_mode));
  say("lseek", lseek(p[0], 0, SEEK_SET));
  say("isatty", isatty(p[0]));
  int copy = dup(p[1]);
  say("close", close(p[1]));
  say("still open", look(p[0], POLLIN) & POLLHUP);
  say("close copy", close(copy));
  while ((n = read(p[0], big, sizeof big)) > 0) total -= n;
  say("end", n);
  say("left", total);
  say("hang up", look(p[0], POLLIN));
  say("close", close(p[0]));
  say("again", close(p[0]));
  say("closed read", read(p[0], small, 1));
  say("closed poll", look(p[0], POLLIN));
  say("pipe", pipe(p));
  say("close reader", close(p[0]));
  say("broken", write(p[1], "x", 1));
  say("broken poll", look(p[1], POLLOUT));
  close(p[1]);

  int e = eventfd(3, EFD_NONBLOCK);
  uint64_t value = 0;
  say("event read", read(e, &value, 8));
  say("value", value);
  say("event empty", read(e, &value, 8));
  say("event short", read(e, &value, 4));
  value = 5;
  say("event write", write(e, &value, 8));
  value = UINT64_MAX;
  say("event most", write(e, &value, 8));
  value = UINT64_MAX - 5;
  say("event full", write(e, &value, 8));
  say("event poll", look(e, POLLIN | POLLOUT));
  say("event", eventfd_read(e, &value));
  say("value", value);
  int s = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
  say("semaphore", read(s, &value, 8));
  say("value", value);
  say("semaphore", read(s, &value, 8));
  say("semaphore", read(s, &value, 8));

  int t = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  struct itimerspec when = {{0, 0}, {0, 20000000}};
  say("timer", timerfd_settime(t, 0, &when, 0));
  say("too early", read(t, &value, 8));
  struct pollfd timer = {.fd = t, .events = POLLIN};
  say("timer poll short", poll(&timer, 1, 1));
  say("timer poll", poll(&timer, 1, 10000));
  say("timer read", read(t, &value, 8));
  say("value", value);
  say("timer over", read(t, &value, 8));
  fcntl(t, F_SETFL, 0);
  timerfd_settime(t, 0, &when, 0);
  say("timer waits", read(t, &value, 8));

  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, 0);
  int f = signalfd(-1, &set, SFD_NONBLOCK);
  struct signalfd_siginfo info;
  say("no signal", read(f, &info, sizeof info));
  raise(SIGUSR1);
  say("signal poll", look(f, POLLIN));
  say("signal", read(f, &info, sizeof info));
  say("number", info.ssi_signo == SIGUSR1);

  fd_set reads, writes;
  struct timeval none = {0, 0};
  pipe(p);
  FD_ZERO(&reads);
  FD_ZERO(&writes);
  FD_SET(p[0], &reads);
  FD_SET(p[1], &writes);
  say("select", select(p[1] + 1, &reads, &writes, 0, &none));
  say("readable", FD_ISSET(p[0], &reads) != 0);
  say("writable", FD_ISSET(p[1], &writes) != 0);
  write(p[1], "x", 1);
  FD_SET(p[0], &reads);
  FD_SET(p[1], &writes);
  say("select", select(p[1] + 1, &reads, &writes, 0, 0));
  return 0;
}
