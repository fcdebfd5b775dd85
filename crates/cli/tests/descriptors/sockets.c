// Sockets and epoll by one thread: every answer is printed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void say(const char *what, long result) {
  printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerrorname_np(errno) : "");
}
static int look(int fd) {
  struct pollfd one = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};
  poll(&one, 1, 0);
  return one.revents;
}

static void pairs(void) {
  int p[2];
  char text[16] = "";
  say("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, p));
  say("poll", look(p[0]));
  say("send", send(p[0], "abcdef", 6, 0));
  say("peek", recv(p[1], text, 3, MSG_PEEK));
  say("recv", recv(p[1], text, 16, 0));
  say("nothing", recv(p[1], text, 16, MSG_DONTWAIT));
  say("half close", shutdown(p[0], SHUT_WR));
  say("end", recv(p[1], text, 16, 0));
  say("after end", look(p[1]));
  say("back", send(p[1], "xy", 2, 0));
  say("recv", recv(p[0], text, 16, 0));
  say("closed send", send(p[0], "x", 1, MSG_NOSIGNAL));
  close(p[1]);
  say("hang up", look(p[0]));
  say("end", recv(p[0], text, 16, 0));
  close(p[0]);
  say("messages", socketpair(AF_UNIX, SOCK_DGRAM, 0, p));
  send(p[0], "one", 3, 0);
  send(p[0], "second", 6, 0);
  say("first", recv(p[1], text, 2, 0));
  say("second", recv(p[1], text, 16, 0));
  close(p[0]);
  close(p[1]);
}

static void connections(void) {
  struct sockaddr_in address = {.sin_family = AF_INET}, peer;
  socklen_t length = sizeof address;
  char text[16];
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  say("option", setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
  say("bind", bind(listener, (struct sockaddr *)&address, sizeof address));
  say("name", getsockname(listener, (struct sockaddr *)&address, &length));
  say("port", address.sin_port != 0);
  int early = socket(AF_INET, SOCK_STREAM, 0);
  say("refused", connect(early, (struct sockaddr *)&address, sizeof address));
  close(early);
  say("listen", listen(listener, 4));
  say("idle", look(listener));
  int client = socket(AF_INET, SOCK_STREAM, 0);
  say("unconnected", send(client, "x", 1, MSG_NOSIGNAL));
  say("connect", connect(client, (struct sockaddr *)&address, sizeof address));
  say("twice", connect(client, (struct sockaddr *)&address, sizeof address));
  say("guest", look(listener));
  length = sizeof peer;
  int server = accept(listener, (struct sockaddr *)&peer, &length);
  say("accept", server >= 0);
  struct sockaddr_in own;
  length = sizeof own;
  getsockname(client, (struct sockaddr *)&own, &length);
  say("the same", own.sin_port == peer.sin_port);
  length = sizeof own;
  getpeername(client, (struct sockaddr *)&own, &length);
  say("the same", own.sin_port == address.sin_port);
  say("write", write(client, "ping", 4));
  say("read", read(server, text, 16));
  int error = -1;
  length = sizeof error;
  say("error", getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &length));
  say("none", error);
  close(client);
  say("end", read(server, text, 16));
  close(server);
  fcntl(listener, F_SETFL, O_NONBLOCK);
  say("nobody", accept(listener, 0, 0));
  int other = socket(AF_INET, SOCK_STREAM, 0);
  say("in use", bind(other, (struct sockaddr *)&address, sizeof address));
  close(listener);
  say("refused", connect(other, (struct sockaddr *)&address, sizeof address));
  close(other);
  int datagrams = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
  address.sin_port = 0;
  bind(datagrams, (struct sockaddr *)&address, sizeof address);
  length = sizeof address;
  getsockname(datagrams, (struct sockaddr *)&address, &length);
  say("sendto", sendto(sender, "hello", 5, 0, (struct sockaddr *)&address, sizeof address));
  length = sizeof peer;
  say("recvfrom", recvfrom(datagrams, text, 3, 0, (struct sockaddr *)&peer, &length));
  say("length", length);
  say("reply", sendto(datagrams, "ok", 2, 0, (struct sockaddr *)&peer, length));
  say("recv", recv(sender, text, 16, 0));
  close(datagrams);
  close(sender);
  struct sockaddr_un abstract = {.sun_family = AF_UNIX};
  snprintf(abstract.sun_path + 1, 60, "unravel-test-%d", (int)getpid());
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  client = socket(AF_UNIX, SOCK_STREAM, 0);
  say("refused", connect(client, (struct sockaddr *)&abstract, sizeof abstract));
  say("bind", bind(listener, (struct sockaddr *)&abstract, sizeof abstract));
  say("listen", listen(listener, 1));
  say("connect", connect(client, (struct sockaddr *)&abstract, sizeof abstract));
  close(listener);
  close(client);
}

static void waits(int loop, const char *what) {
  struct epoll_event events[4];
  int count = epoll_wait(loop, events, 4, 0);
  printf("%s: %d", what, count);
  for (int i = 0; i < count; i++) printf(" %u/%u", events[i].data.u32, events[i].events);
  printf("\n");
}

static void change(int loop, int operation, int fd, unsigned events, unsigned data) {
  struct epoll_event event = {.events = events, .data.u32 = data};
  say("change", epoll_ctl(loop, operation, fd, &event));
}

static void epolls(void) {
  int p[2], loop = epoll_create1(0);
  uint64_t value = 1;
  char text[16];
  pipe(p);
  int e = eventfd(0, EFD_NONBLOCK);
  change(loop, EPOLL_CTL_ADD, p[0], EPOLLIN, 1);
  change(loop, EPOLL_CTL_ADD, p[0], EPOLLIN, 1);
  change(loop, EPOLL_CTL_MOD, e, EPOLLIN, 2);
  change(loop, EPOLL_CTL_ADD, e, EPOLLIN | EPOLLET, 2);
  waits(loop, "nothing");
  write(p[1], "ab", 2);
  write(e, &value, 8);
  waits(loop, "both");
  waits(loop, "level only");
  write(e, &value, 8);
  read(p[0], text, 1);
  waits(loop, "new edge");
  read(p[0], text, 1);
  change(loop, EPOLL_CTL_MOD, e, EPOLLIN | EPOLLET, 7);
  waits(loop, "set again");
  change(loop, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLONESHOT, 1);
  write(p[1], "c", 1);
  waits(loop, "once");
  waits(loop, "not twice");
  change(loop, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLONESHOT, 3);
  waits(loop, "armed");
  change(loop, EPOLL_CTL_DEL, e, 0, 0);
  change(loop, EPOLL_CTL_DEL, e, 0, 0);
  change(loop, EPOLL_CTL_ADD, p[1], EPOLLOUT, 4);
  waits(loop, "room");
  close(p[1]);
  change(loop, EPOLL_CTL_MOD, p[0], EPOLLIN, 5);
  waits(loop, "data and end");
  read(p[0], text, 16);
  waits(loop, "end");
  close(p[0]);
  waits(loop, "gone");
  struct epoll_event event;
  say("time", epoll_wait(loop, &event, 1, 30));
  say("bad", epoll_wait(e, &event, 1, 0));
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  pairs();
  connections();
  epolls();
  return 0;
}
