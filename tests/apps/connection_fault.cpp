// SPDX-License-Identifier: Apache-2.0
// connection_fault WHAT PID PEER…: does something to all TCP connections of another process, from
// outside, as a network would, or looks at them. WHAT is
//   cut        they are shut down
//   narrow     they get small receive buffers, and one of the PEERs has to wait for room in one
//   connected  there is one to each PEER, at least
//   unread     the process is stopped, and bytes that it has not read lie in one of them
//   full       it is so, and the other end has more, but probes only whether there is room again
// Exit status 0: so it is now, after a while at most. 1: it is not. 77: the kernel does not let
// this process take another one's sockets, as cut and narrow must.
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

constexpr int is_impossible = 77;
constexpr int few_bytes = 64 * 1024; ///< a segment of this host; with less, each waits for a timer

/// As a letter: T for one that is stopped.
char state_of(std::string const& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string const text((std::istreambuf_iterator<char>(file)), {});
  auto const name_end = text.rfind(") ");
  return name_end == text.npos ? 'X' : text[name_end + 2];
}

bool has_ended(std::string const& pid) {
  return std::string_view("XZ").find(state_of(pid)) != std::string_view::npos;
}

/// Asks until it is so, or the process has ended, or so much time has passed.
bool comes(std::string const& pid, milliseconds at_most, std::function<bool()> const& is_so) {
  auto const end = std::chrono::steady_clock::now() + at_most;
  while (!is_so()) {
    if (has_ended(pid) || std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

/// A connection of a process, taken from it.
class connection {
public:
  explicit connection(int fd) : fd_(fd) {}
  connection(connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;
  ~connection() {
    if (fd_ >= 0)
      ::close(fd_);
  }

  [[nodiscard]] bool is_connected() const { return port_of(&::getpeername) != 0; }
  [[nodiscard]] bool leads_to(connection const& other) const {
    return port_of(&::getpeername) == other.port_of(&::getsockname);
  }
  [[nodiscard]] bool cut() const { return ::shutdown(fd_, SHUT_RDWR) == 0; }
  [[nodiscard]] bool narrow() const {
    int got = 0;
    socklen_t length = sizeof got;
    return ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &few_bytes, sizeof few_bytes) == 0 &&
           ::getsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &got, &length) == 0 &&
           got <= 2 * few_bytes; // which the kernel makes of it
  }
  /// How long this end has waited for room at the other one, ever, in µs.
  [[nodiscard]] std::uint64_t has_waited() const {
    tcp_info info{};
    socklen_t length = sizeof info;
    return ::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info.tcpi_rwnd_limited
                                                                         : 0;
  }

private:
  [[nodiscard]] in_port_t port_of(int (*ask)(int, sockaddr*, socklen_t*)) const {
    sockaddr_in other{};
    socklen_t length = sizeof other;
    bool const is_known = ask(fd_, reinterpret_cast<sockaddr*>(&other), &length) == 0;
    return is_known && other.sin_family == AF_INET ? other.sin_port : 0;
  }

  int fd_;
};

/// All connections of a process; ends this program where they cannot be taken.
std::vector<connection> take_connections(std::string const& pid) {
  std::vector<connection> all;
  auto const process = static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(pid), 0));
  if (process < 0 && errno == ENOSYS)
    std::exit(is_impossible);
  std::error_code gone;
  for (auto const& entry : fs::directory_iterator("/proc/" + pid + "/fd", gone)) {
    int const number = std::stoi(entry.path().filename());
    auto const fd = static_cast<int>(::syscall(SYS_pidfd_getfd, process, number, 0));
    if (fd < 0 && (errno == EPERM || errno == ENOSYS))
      std::exit(is_impossible);
    if (connection one(fd); fd >= 0 && one.is_connected())
      all.push_back(std::move(one));
  }
  ::close(process);
  return all;
}

bool cut(std::string const& pid) {
  auto const all = take_connections(pid);
  return std::ranges::count_if(all, &connection::cut) > 0;
}

bool narrow(std::string const& pid, std::vector<std::string> const& peers) {
  auto const all = take_connections(pid);
  std::vector<std::pair<connection, std::uint64_t>> others; // and how long they have waited before
  for (std::string const& peer : peers)
    for (connection& one : take_connections(peer))
      if (std::ranges::any_of(all, [&](connection const& c) { return one.leads_to(c); }))
        others.emplace_back(std::move(one), 0);
  if (all.empty() || !std::ranges::all_of(all, &connection::narrow))
    return false;
  for (auto& [one, before] : others)
    before = one.has_waited();
  return comes(pid, milliseconds(30'000), [&] {
    return std::ranges::any_of(
        others, [](auto const& other) { return other.first.has_waited() > other.second; });
  });
}

/// A line of /proc/net/tcp that is a connection.
struct table_line {
  std::string local;
  std::string remote;
  unsigned long unread;
  bool probes; ///< it has something to send, but the other end has said that there is no room
  std::string socket;
};

/// Of Linux, Documentation/networking/proc_net_tcp.rst.
constexpr unsigned established = 1;
constexpr unsigned zero_window_probe = 4;

std::vector<table_line> table_of(std::string const& pid) {
  std::vector<table_line> all;
  std::ifstream file("/proc/" + pid + "/net/tcp");
  for (std::string text; std::getline(file, text);) {
    char local[32], remote[32], socket[32];
    unsigned state = 0, timer = 0;
    unsigned long unsent = 0, unread = 0;
    if (std::sscanf(text.c_str(), "%*s %31s %31s %x %lx:%lx %x:%*s %*s %*s %*s %31s", local, remote,
                    &state, &unsent, &unread, &timer, socket) == 7 &&
        state == established)
      all.push_back({local, remote, unread, timer == zero_window_probe && unsent > 0, socket});
  }
  return all;
}

bool owns(std::string const& pid, table_line const& line) {
  std::error_code gone;
  return std::ranges::any_of(
      fs::directory_iterator("/proc/" + pid + "/fd", gone), [&](fs::directory_entry const& entry) {
        std::error_code closed;
        return fs::read_symlink(entry.path(), closed) == "socket:[" + line.socket + "]";
      });
}

bool is_connected(std::string const& pid, std::size_t peers) {
  auto const table = table_of(pid);
  return std::ranges::count_if(table, [&](auto const& line) { return owns(pid, line); }) >=
         static_cast<std::ptrdiff_t>(peers);
}

/// Is it stopped, with bytes unread, of which the other end has more if it is full?
bool lies_unread(std::string const& pid, bool is_full) {
  auto const table = table_of(pid);
  auto const probes = [&](table_line const& line) {
    return std::ranges::any_of(table, [&](table_line const& other) {
      return other.probes && other.remote == line.local && other.local == line.remote;
    });
  };
  return state_of(pid) == 'T' && std::ranges::any_of(table, [&](table_line const& line) {
           return line.unread > 0 && owns(pid, line) && (!is_full || probes(line));
         });
}

bool is_so(std::string_view what, std::string const& pid, std::vector<std::string> const& peers) {
  if (what == "cut")
    return cut(pid);
  if (what == "narrow")
    return narrow(pid, peers);
  if (what == "connected")
    return comes(pid, milliseconds(30'000), [&] { return is_connected(pid, peers.size()); });
  // Whoever has more to send goes on until there is no room; what lies there already lies there.
  milliseconds const at_most(what == "full" ? 2000 : 200);
  return comes(pid, at_most, [&] { return lies_unread(pid, what == "full"); });
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const words(argv, argv + argc);
  std::vector<std::string_view> const known{"cut", "narrow", "connected", "unread", "full"};
  if (argc < 3 || std::ranges::find(known, words[1]) == known.end()) {
    std::fputs("usage: connection_fault cut|narrow|connected|unread|full PID PEER…\n", stderr);
    return 2;
  }
  try {
    return is_so(words[1], words[2], {words.begin() + 3, words.end()}) ? 0 : 1;
  } catch (fs::filesystem_error const&) { // it has ended just now
    return 1;
  }
}
