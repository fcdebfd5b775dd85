// Messages that do not fit, several at once, options of sockets, addresses of another family, masks of signals: every answer is
// printed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static void say(const char *what, long result) {
  printf("%s: %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerrorname_np(errno) : "");
}

static void cut(void) {
  int p[2];
  char text[64] = "";
  say("pair", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, p));
  say("closes", fcntl(p[0], F_GETFD));
  int kind = 0;
  socklen_t length = sizeof kind;
  getsockopt(p[0], SOL_SOCKET, SO_TYPE, &kind, &length);
  say("keeps messages", kind == SOCK_SEQPACKET);
  send(p[0], "hello world", 11, 0);
  send(p[0], "b", 1, 0);
  struct iovec parts[2] = {{text, 3}, {text + 10, 3}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  say("look", recvmsg(p[1], &message, MSG_PEEK));
  say("cut", (message.msg_flags & MSG_TRUNC) != 0);
  say("take", recvmsg(p[1], &message, MSG_TRUNC));
  say("cut", (message.msg_flags & MSG_TRUNC) != 0);
  say("next", recvmsg(p[1], &message, 0));
  say("whole", (message.msg_flags & MSG_TRUNC) == 0);
  send(p[0], "abcdef", 6, 0);
  say("its length", recv(p[1], text, 2, MSG_PEEK | MSG_TRUNC));
  say("its length", recv(p[1], text, 2, MSG_TRUNC));
  say("empty", recv(p[1], text, 9, 0));
  struct iovec out[3] = {{"one", 3}, {"twoo", 4}, {"threee", 6}}, in[4];
  struct mmsghdr many[4];
  memset(many, 0, sizeof many);
  for (int i = 0; i < 3; i++) many[i].msg_hdr.msg_iov = &out[i], many[i].msg_hdr.msg_iovlen = 1;
  say("several", sendmmsg(p[0], many, 3, 0));
  say("second", many[1].msg_len);
  for (int i = 0; i < 4; i++) {
    in[i] = (struct iovec){text + 16 * i, 16};
    many[i].msg_hdr.msg_iov = &in[i], many[i].msg_hdr.msg_iovlen = 1, many[i].msg_len = 0;
  }
  say("as many as there are", recvmmsg(p[1], many, 4, MSG_WAITFORONE, 0));
  say("third", many[2].msg_len);
  printf("%.3s %.4s %.6s\n", text, text + 16, text + 32);
}

static void addresses(void) {
  struct sockaddr_in v4 = {.sin_family = AF_INET};
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int s = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_UNIX, SOCK_STREAM, 0), yes = 1;
  say("bind", bind(s, (struct sockaddr *)&v6, sizeof v6));
  say("connect", connect(s, (struct sockaddr *)&v6, sizeof v6));
  say("connect", connect(u, (struct sockaddr *)&v4, sizeof v4));
  say("accept", accept4(s, 0, 0, 3));
  say("option", setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
  int told = 0;
  socklen_t length = sizeof told;
  say("option", getsockopt(s, SOL_SOCKET, SO_REUSEADDR, &told, &length));
  say("told", told);
  struct timeval time = {0, 4000}, limit = {0, 0};
  say("limit", setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
  length = sizeof limit;
  say("limit", getsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, &length));
  say("bytes", length);
  say("micros", limit.tv_usec);
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path + 1, 60, "unravel-messages-%d", (int)getpid());
  int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  bind(listener, (struct sockaddr *)&name, sizeof name);
  listen(listener, 1);
  say("connect", connect(client, (struct sockaddr *)&name, sizeof name));
  int server = accept4(listener, 0, 0, SOCK_CLOEXEC);
  say("closes", fcntl(server, F_GETFD));
  send(client, "first", 5, 0);
  send(client, "second", 6, 0);
  char text[32];
  say("one message", recv(server, text, sizeof text, 0));
  say("the other", recv(server, text, sizeof text, 0));
}

static volatile int handled;
static void handle(int number) { handled++; (void)number; }

/// A signal that is blocked, but for the time of a wait.
static void masks(void) {
  sigset_t blocked, none;
  sigemptyset(&none);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  struct sigaction action = {.sa_handler = handle};
  sigaction(SIGUSR1, &action, 0);
  sigprocmask(SIG_BLOCK, &blocked, 0);
  int p[2], loop = epoll_create1(0);
  pipe(p);
  struct pollfd one = {.fd = p[0], .events = POLLIN};
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(loop, EPOLL_CTL_ADD, p[0], &event);
  fd_set reads;
  FD_ZERO(&reads);
  FD_SET(p[0], &reads);
  struct timespec soon = {0, 1000000};
  raise(SIGUSR1);
  say("blocked", ppoll(&one, 1, &soon, 0));
  say("handled", handled);
  say("ppoll", ppoll(&one, 1, 0, &none));
  say("handled", handled);
  raise(SIGUSR1);
  say("pselect", pselect(p[0] + 1, &reads, 0, 0, 0, &none));
  say("handled", handled);
  raise(SIGUSR1);
  say("epoll_pwait", epoll_pwait(loop, &event, 1, -1, &none));
  say("handled", handled);
  raise(SIGUSR1);
  say("again blocked", poll(&one, 1, 1));
  say("handled", handled);
}

int main(void) {
  cut();
  addresses();
  masks();
  return 0;
}
