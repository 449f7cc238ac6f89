// SPDX-License-Identifier: Apache-2.0
// A peer made of a bare socket, which can say anything; and what the process says on stderr
// meanwhile.
#pragma once

#include <quarry/net/job.hpp>
#include <quarry/net/wire.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace raw {

using quarry::net::job;
namespace wire = quarry::net::wire;

inline sockaddr_in at_loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// One connection. Every read is bounded; closing resets it, so that no port is kept in TIME_WAIT.
class peer {
public:
  explicit peer(int fd) : fd_(fd) {
    linger const at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  peer(peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  peer& operator=(peer&&) = delete;
  ~peer() { close(); }

  static peer connect(std::uint16_t port) {
    peer p{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    auto const address = at_loopback(port);
    if (::connect(p.fd_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0)
      throw std::runtime_error(std::string{"connect: "} + std::strerror(errno));
    return p;
  }
  /// The next connection to a listening socket.
  static peer accept(int listen_fd) { return peer{::accept(listen_fd, nullptr, nullptr)}; }

  /// False once the other side has closed.
  bool send(std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
      auto const n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0)
        return false;
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }
  template<class T>
  bool send_object(T const& object) {
    return send(std::as_bytes(std::span(&object, 1)));
  }

  /// What comes until there are `bytes`, the other side closes, or 10 s pass without any.
  std::vector<std::byte> read(std::size_t bytes) {
    std::vector<std::byte> all(bytes);
    std::size_t have = 0;
    while (have < bytes) {
      pollfd readable{fd_, POLLIN, 0};
      if (::poll(&readable, 1, 10'000) != 1)
        throw std::runtime_error("a raw peer waited too long");
      auto const n = ::recv(fd_, all.data() + have, bytes - have, 0);
      if (n <= 0)
        break;
      have += static_cast<std::size_t>(n);
    }
    all.resize(have);
    return all;
  }
  /// True if the other side closes without saying anything more.
  bool is_sent_away() { return read(1).empty(); }
  void stop_sending() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0)
      ::close(std::exchange(fd_, -1));
  }

private:
  int fd_;
};

/// The greeting by which pe `id` of `j`'s job is known.
inline wire::greeting greeting_of(job const& j, std::uint32_t id) {
  return {wire::magic, wire::version, j.token.high,          j.token.low,
          id,          j.pe_count,    wire::hash_of(j.terms)};
}

inline wire::frame_header header(wire::frame_kind kind, std::size_t length,
                                 std::uint32_t sequence) {
  wire::frame_header h{kind, static_cast<std::uint32_t>(length), sequence, 0};
  h.check = wire::check_of(h);
  return h;
}

/// A whole valid message frame.
inline std::vector<std::byte> frame(std::span<std::byte const> payload, std::uint32_t sequence) {
  auto const h = header(wire::frame_kind::message, payload.size(), sequence);
  std::vector<std::byte> all(sizeof h + wire::padded(payload.size()));
  std::memcpy(all.data(), &h, sizeof h);
  std::ranges::copy(payload, all.begin() + sizeof h);
  return all;
}

/// The jobs of two pes. pe 1 is the raw one: its listening socket stays open here.
struct two_jobs {
  explicit two_jobs(std::chrono::milliseconds timeout = std::chrono::seconds(10))
      : jobs(quarry::net::make_local_jobs(2, timeout).value()) {}
  two_jobs(two_jobs const&) = delete;
  two_jobs& operator=(two_jobs const&) = delete;
  ~two_jobs() { ::close(jobs[1].listen_fd); }
  job const& real() const { return jobs[0]; }
  std::uint16_t port() const { return jobs[0].endpoints[0].port; }
  std::vector<job> jobs;
};

/// Keeps what is written to stderr while it lives.
class captured_stderr {
public:
  captured_stderr() : file_(std::tmpfile()), saved_(::dup(2)) {
    std::fflush(stderr);
    ::dup2(::fileno(file_), 2);
  }
  captured_stderr(captured_stderr const&) = delete;
  captured_stderr& operator=(captured_stderr const&) = delete;
  ~captured_stderr() {
    restore();
    std::fclose(file_);
  }

  /// Ends the capture; gives the lines.
  std::vector<std::string> lines() {
    restore();
    if (std::fseek(file_, 0, SEEK_SET) != 0)
      throw std::runtime_error("what went to stderr cannot be read");
    std::vector<std::string> all;
    std::string line;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      all.push_back(std::exchange(line, {}));
    }
    return all;
  }

private:
  void restore() {
    if (saved_ < 0)
      return;
    std::fflush(stderr);
    ::dup2(saved_, 2);
    ::close(std::exchange(saved_, -1));
  }
  std::FILE* file_;
  int saved_;
};

} // namespace raw
