// A server on a loopback port with epoll, and a client thread: the client gets back what it sent, by buffers that fill.
#include <arpa/inet.h>
#include <cassert>
#include <cstdio>
#include <netinet/in.h>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

static int port;

static void client() {
  int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int connected = connect(s, (sockaddr *)&to, sizeof to);
  assert(connected == 0);
  std::string sent(300000, 'q'), got;
  std::thread writer([&] {
    for (size_t at = 0; at < sent.size();) at += write(s, sent.data() + at, sent.size() - at);
    shutdown(s, SHUT_WR);
  });
  char part[65536];
  for (ssize_t n; (n = read(s, part, sizeof part)) > 0;) got.append(part, n);
  writer.join();
  assert(got == sent);
  close(s);
}

int main() {
  int listener = socket(AF_INET, SOCK_STREAM, 0), loop = epoll_create1(0);
  sockaddr_in own{};
  socklen_t length = sizeof own;
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(listener, (sockaddr *)&own, sizeof own);
  getsockname(listener, (sockaddr *)&own, &length);
  port = ntohs(own.sin_port);
  listen(listener, 8);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener;
  epoll_ctl(loop, EPOLL_CTL_ADD, listener, &event);
  std::thread other(client);
  bool done = false;
  while (!done) {
    epoll_event now;
    if (epoll_wait(loop, &now, 1, -1) < 1) continue;
    if (now.data.fd == listener) {
      event.data.fd = accept(listener, nullptr, nullptr);
      epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event);
    } else {
      char part[65536];
      ssize_t n = read(now.data.fd, part, sizeof part);
      for (ssize_t at = 0; at < n;) at += write(now.data.fd, part + at, n - at);
      if (n <= 0) { close(now.data.fd); done = true; }
    }
  }
  other.join();
  puts("echoed");
}
