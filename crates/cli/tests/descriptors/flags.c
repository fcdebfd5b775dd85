// Flags of descriptors, and functions on descriptors that are of the wrong kind for them: every answer is printed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void say(const char *what, long result) {
  printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerrorname_np(errno) : "");
}

static void numbers(void) {
  int p[2], value;
  pipe(p);
  say("stays open", fcntl(p[0], F_GETFD));
  say("set", fcntl(p[0], F_SETFD, FD_CLOEXEC));
  say("closes", fcntl(p[0], F_GETFD));
  int copy = dup(p[0]), other = fcntl(p[0], F_DUPFD_CLOEXEC, 0);
  say("a copy stays", fcntl(copy, F_GETFD));
  say("this one does not", fcntl(other, F_GETFD));
  say("reset", ioctl(other, FIONCLEX));
  say("stays", fcntl(other, F_GETFD));
  fcntl(copy, F_SETFL, O_NONBLOCK);
  say("the mode is shared", (fcntl(p[0], F_GETFL) & O_NONBLOCK) != 0);
  say("the same number", dup3(copy, copy, 0));
  say("onto itself", dup2(copy, copy) == copy);
  close(other);
  say("onto a copy", dup3(p[1], copy, O_CLOEXEC) == copy);
  say("closes", fcntl(copy, F_GETFD));
  say("of a closed one", dup2(other, copy));
  say("left alone", fcntl(copy, F_GETFD));
  say("bad flag", pipe2(p, 4));
  say("bad flag", eventfd(0, 1 << 5));
  say("bad clock", timerfd_create(77, 0));
  say("bad size", epoll_create(0));
  say("never opened", dup(99));
  struct pollfd none = {.fd = 99, .events = POLLIN};
  say("poll", poll(&none, 1, 0));
  say("invalid", none.revents == POLLNVAL);
  (void)value;
}

static void kinds(void) {
  int p[2], value = 0, e = eventfd(0, 0);
  char c[8] = "";
  socklen_t length = sizeof value;
  pipe2(p, O_NONBLOCK | O_CLOEXEC);
  say("closes", fcntl(p[1], F_GETFD));
  say("send", send(p[1], "x", 1, 0));
  say("recv", recv(p[0], c, 1, 0));
  say("getsockopt", getsockopt(p[0], SOL_SOCKET, SO_TYPE, &value, &length));
  say("setsockopt", setsockopt(p[0], SOL_SOCKET, SO_KEEPALIVE, &value, sizeof value));
  say("listen", listen(p[0], 1));
  say("pread", pread(p[0], c, 1, 0));
  say("pwrite", pwrite(e, "12345678", 8, 0));
  say("ftruncate", ftruncate(p[1], 0));
  say("fdatasync", fdatasync(p[1]));
  say("no bytes", read(p[0], c, 0));
  struct itimerspec when = {{0, 0}, {0, 2000000000}};
  int t = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  say("no such time", timerfd_settime(t, 0, &when, 0));
  int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  int file = open("/dev/null", O_RDONLY);
  say("a file is always ready", epoll_ctl(loop, EPOLL_CTL_ADD, file, &event));
  struct timeval time = {0, 2000};
  fd_set reads;
  FD_ZERO(&reads);
  FD_SET(p[0], &reads);
  say("select", select(p[0] + 1, &reads, 0, 0, &time));
  say("time left", time.tv_sec + time.tv_usec);
}

/// What leads outside may be looked at together with what does not.
static void watches(void) {
  int loop = epoll_create1(0), watch = inotify_init1(IN_NONBLOCK), e = eventfd(0, EFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = 1}, found[2];
  say("watch", epoll_ctl(loop, EPOLL_CTL_ADD, watch, &event));
  say("twice", epoll_ctl(loop, EPOLL_CTL_ADD, watch, &event));
  event.data.u32 = 2;
  say("event", epoll_ctl(loop, EPOLL_CTL_ADD, e, &event));
  say("nothing", epoll_wait(loop, found, 2, 0));
  eventfd_write(e, 1);
  say("one", epoll_wait(loop, found, 2, -1));
  say("which", found[0].data.u32);
  say("forget", epoll_ctl(loop, EPOLL_CTL_DEL, watch, &event));
  say("forgotten", epoll_ctl(loop, EPOLL_CTL_DEL, watch, &event));
  close(watch);
  say("closed", epoll_ctl(loop, EPOLL_CTL_ADD, watch, &event));
}

int main(void) {
  numbers();
  kinds();
  watches();
  return 0;
}
