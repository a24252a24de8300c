// Does a known number of things with TCP on the loopback (or at an address), in named functions, and says how many.
//
//   known_tcp WHAT [options] COUNT BYTES
//
//   talk      connects COUNT times, sends BYTES each time and gets them back twice; a server in a child of its own
//   refused   connects COUNT times to a port that nobody listens at
//   reset     connects COUNT times; the client closes with SO_LINGER 0, which resets
//   serve     listens, says "port N", and answers as in `talk` until it is ended
//   call      the client of `talk` alone, for a server at --port
//   send      connects once and sends COUNT times BYTES with a pause of 20 ms between, to a server at --port
//   sink      listens, says "port N", takes what comes, and says how many bytes when the other side has closed
//   idle      as `call`, but connects first, waits for a line on its input, and then talks COUNT times on the same one
//
// Options: --host ADDRESS (127.0.0.1), --port N, --six (::1), --wait MS before it begins.
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Wanted {
  std::string what;
  std::string host = "127.0.0.1";
  int port = 0;
  int wait_ms = 0;
  long count = 0;
  size_t bytes = 0;
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_INET;
};

Address address_of(const Wanted& wanted, int port) {
  Address address;
  if (wanted.host.find(':') != std::string::npos) {
    auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET6, wanted.host.c_str(), &six->sin6_addr);
    address.size = sizeof *six;
    address.family = AF_INET6;
  } else {
    auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, wanted.host.c_str(), &four->sin_addr);
    address.size = sizeof *four;
  }
  return address;
}

[[gnu::noinline]] int open_listener(const Wanted& wanted, int& port) {
  Address address = address_of(wanted, wanted.port);
  const int listener = ::socket(address.family, SOCK_STREAM, 0);
  const int one = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address.storage), address.size) != 0) fail("bind");
  if (::listen(listener, 128) != 0) fail("listen");
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  port = ntohs(reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port);  // the same place in both families
  return listener;
}

[[gnu::noinline]] int open_connection(const Wanted& wanted, int port) {
  Address address = address_of(wanted, port);
  const int connection = ::socket(address.family, SOCK_STREAM, 0);
  if (connection < 0) fail("socket");
  if (::connect(connection, reinterpret_cast<sockaddr*>(&address.storage), address.size) != 0) {
    ::close(connection);
    return -1;
  }
  asm volatile("" ::: "memory");
  return connection;
}

[[gnu::noinline]] int take_connection(int listener) {
  const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  asm volatile("" ::: "memory");
  return connection;
}

[[gnu::noinline]] void send_request(int connection, const std::vector<char>& data) {
  for (size_t done = 0; done < data.size();) {
    const ssize_t now = ::send(connection, data.data() + done, data.size() - done, MSG_NOSIGNAL);
    if (now <= 0) fail("send");
    done += static_cast<size_t>(now);
  }
}

[[gnu::noinline]] size_t take_request(int connection, std::vector<char>& data) {
  size_t done = 0;
  while (done < data.size()) {
    char first = 0;
    ::recv(connection, &first, 1, MSG_PEEK);  // is no byte more
    const ssize_t now = ::read(connection, data.data() + done, data.size() - done);
    if (now <= 0) break;
    done += static_cast<size_t>(now);
  }
  return done;
}

[[gnu::noinline]] void send_answer(int connection, const std::vector<char>& data) {
  for (int twice = 0; twice < 2; ++twice) {
    for (size_t done = 0; done < data.size();) {
      const ssize_t now = ::write(connection, data.data() + done, data.size() - done);
      if (now <= 0) fail("write");
      done += static_cast<size_t>(now);
    }
  }
}

[[gnu::noinline]] void take_answer(int connection, std::vector<char>& data) {
  for (size_t done = 0; done < 2 * data.size();) {
    const ssize_t now = ::recv(connection, data.data(), data.size(), 0);
    if (now <= 0) fail("recv");
    done += static_cast<size_t>(now);
  }
}

// `count` connections, or until it is ended where that is 0.
[[gnu::noinline]] void run_server(int listener, long count, size_t bytes) {
  std::vector<char> data(bytes);
  for (long i = 0; count == 0 || i < count; ++i) {
    const int connection = take_connection(listener);
    if (connection < 0) fail("accept");
    while (take_request(connection, data) == data.size() && bytes != 0) send_answer(connection, data);
    ::close(connection);
  }
}

[[gnu::noinline]] void run_client(const Wanted& wanted, int port) {
  std::vector<char> data(wanted.bytes, 'x');
  for (long i = 0; i < wanted.count; ++i) {
    const int connection = open_connection(wanted, port);
    if (connection < 0) fail("connect");
    send_request(connection, data);
    take_answer(connection, data);
    ::close(connection);
  }
}

[[gnu::noinline]] void reset_connections(const Wanted& wanted, int port) {
  const linger at_once{1, 0};
  for (long i = 0; i < wanted.count; ++i) {
    const int connection = open_connection(wanted, port);
    if (connection < 0) fail("connect");
    ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(connection);
  }
}

[[gnu::noinline]] void be_refused(const Wanted& wanted, int port) {
  for (long i = 0; i < wanted.count; ++i) {
    if (open_connection(wanted, port) >= 0) fail("somebody listens there");
  }
}

[[gnu::noinline]] void send_slowly(const Wanted& wanted) {
  std::vector<char> data(wanted.bytes, 'x');
  const int connection = open_connection(wanted, wanted.port);
  if (connection < 0) fail("connect");
  for (long i = 0; i < wanted.count; ++i) {
    send_request(connection, data);
    ::usleep(20'000);
  }
  ::shutdown(connection, SHUT_WR);
  char end = 0;
  while (::read(connection, &end, 1) > 0) {
  }
  ::close(connection);
}

void take_all(int listener) {
  std::vector<char> data(1 << 16);
  const int connection = take_connection(listener);
  size_t done = 0;
  for (ssize_t now = 1; now > 0; done += now > 0 ? static_cast<size_t>(now) : 0) {
    now = ::read(connection, data.data(), data.size());
  }
  std::printf("took %zu\n", done);
  ::close(connection);
}

void talk_when_told(const Wanted& wanted) {
  std::vector<char> data(wanted.bytes, 'x');
  const int connection = open_connection(wanted, wanted.port);
  if (connection < 0) fail("connect");
  std::puts("connected");
  std::fflush(stdout);
  std::getchar();
  for (long i = 0; i < wanted.count; ++i) {
    send_request(connection, data);
    take_answer(connection, data);
  }
  ::close(connection);
}

// A server in a child, the client here.
void both(const Wanted& wanted) {
  int port = 0;
  const int listener = open_listener(wanted, port);
  const pid_t child = ::fork();
  if (child == 0) {
    run_server(listener, wanted.count, wanted.what == "reset" ? 1 : wanted.bytes);
    ::_exit(0);
  }
  ::close(listener);
  if (wanted.what == "reset") {
    reset_connections(wanted, port);
  } else {
    run_client(wanted, port);
  }
  ::waitpid(child, nullptr, 0);
}

int unused_port(const Wanted& wanted) {
  int port = 0;
  ::close(open_listener(wanted, port));
  return port;
}

Wanted wanted_by(int count, char** words) {
  Wanted wanted;
  std::vector<std::string> rest;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--host" && i + 1 < count) {
      wanted.host = words[++i];
    } else if (word == "--port" && i + 1 < count) {
      wanted.port = std::atoi(words[++i]);
    } else if (word == "--wait" && i + 1 < count) {
      wanted.wait_ms = std::atoi(words[++i]);
    } else if (word == "--six") {
      wanted.host = "::1";
    } else {
      rest.push_back(word);
    }
  }
  if (!rest.empty()) wanted.what = rest[0];
  if (rest.size() > 1) wanted.count = std::atol(rest[1].c_str());
  if (rest.size() > 2) wanted.bytes = static_cast<size_t>(std::atol(rest[2].c_str()));
  return wanted;
}

int listen_aloud(const Wanted& wanted) {
  int port = 0;
  const int listener = open_listener(wanted, port);
  std::printf("port %d\n", port);
  std::fflush(stdout);
  return listener;
}

}  // namespace

int main(int count, char** words) {
  const Wanted wanted = wanted_by(count, words);
  ::signal(SIGPIPE, SIG_IGN);
  if (wanted.wait_ms > 0) ::usleep(static_cast<useconds_t>(wanted.wait_ms) * 1000);
  if (wanted.what == "talk" || wanted.what == "reset") {
    both(wanted);
  } else if (wanted.what == "refused") {
    be_refused(wanted, unused_port(wanted));
  } else if (wanted.what == "serve") {
    run_server(listen_aloud(wanted), 0, wanted.bytes);
  } else if (wanted.what == "sink") {
    take_all(listen_aloud(wanted));
  } else if (wanted.what == "call") {
    run_client(wanted, wanted.port);
  } else if (wanted.what == "send") {
    send_slowly(wanted);
  } else if (wanted.what == "idle") {
    talk_when_told(wanted);
  } else {
    std::fputs("usage: known_tcp WHAT [--host A] [--port N] [--six] [--wait MS] COUNT BYTES\n", stderr);
    return 2;
  }
  return 0;
}
