// SPDX-License-Identifier: Apache-2.0
// connection_fault cut|narrow PID: does something to all TCP connections of another process, from
// outside, as a network would: cuts them, or gives them small receive buffers.
// Exit status 77: the kernel does not let this process take another one's sockets.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int is_impossible = 77;

bool is_connected(int fd) {
  sockaddr_storage other{};
  socklen_t length = sizeof other;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &length) == 0 &&
         other.ss_family == AF_INET;
}

bool harm(int fd, std::string_view how) {
  if (how == "cut")
    return ::shutdown(fd, SHUT_RDWR) == 0;
  int const few_bytes = 16 * 1024;
  return ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few_bytes, sizeof few_bytes) == 0;
}

} // namespace

int main(int argc, char** argv) {
  std::string_view const how = argc == 3 ? argv[1] : "";
  if (how != "cut" && how != "narrow") {
    std::fputs("usage: connection_fault cut|narrow PID\n", stderr);
    return 2;
  }
  auto const process = static_cast<int>(::syscall(SYS_pidfd_open, std::atoi(argv[2]), 0));
  if (process < 0)
    return errno == ENOSYS ? is_impossible : 1;
  int connections = 0;
  std::error_code gone;
  for (auto const& entry :
       std::filesystem::directory_iterator(std::string("/proc/") + argv[2] + "/fd", gone)) {
    int const number = std::atoi(entry.path().filename().c_str());
    auto const fd = static_cast<int>(::syscall(SYS_pidfd_getfd, process, number, 0));
    if (fd < 0 && (errno == EPERM || errno == ENOSYS))
      return is_impossible;
    if (fd < 0)
      continue;
    if (is_connected(fd) && harm(fd, how))
      ++connections;
    ::close(fd);
  }
  return connections > 0 ? 0 : 1;
}
