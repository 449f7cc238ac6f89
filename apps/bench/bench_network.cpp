// SPDX-License-Identifier: Apache-2.0
// The time of a small message one way over 127.0.0.1: `one_way/who/<bytes>`, half a round trip.
#include "bench.hpp"

#include <quarry/net/job.hpp>
#include <quarry/net/loopback.hpp>

#include <benchmark/benchmark.h>

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <span>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace quarry::bench {
namespace {

class tcp_socket {
public:
  explicit tcp_socket(int descriptor) : descriptor_{descriptor} {
    if (descriptor_ < 0)
      throw std::system_error{errno, std::system_category(), "socket"};
  }
  tcp_socket(tcp_socket&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  tcp_socket& operator=(tcp_socket&&) = delete;
  ~tcp_socket() {
    if (descriptor_ >= 0)
      ::close(descriptor_);
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }

private:
  int descriptor_;
};

void require(int status, char const* call) {
  if (status < 0)
    throw std::system_error{errno, std::system_category(), call};
}

void send_at_once(tcp_socket const& socket) {
  int const on = 1;
  require(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
}

/// Two connected sockets on 127.0.0.1.
std::pair<tcp_socket, tcp_socket> connected_pair() {
  tcp_socket const listener{::socket(AF_INET, SOCK_STREAM, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  require(::bind(listener.get(), where, size), "bind");
  require(::listen(listener.get(), 1), "listen");
  require(::getsockname(listener.get(), where, &size), "getsockname");
  tcp_socket near{::socket(AF_INET, SOCK_STREAM, 0)};
  require(::connect(near.get(), where, size), "connect");
  tcp_socket far{::accept(listener.get(), nullptr, nullptr)};
  send_at_once(near);
  send_at_once(far);
  return {std::move(near), std::move(far)};
}

void send_word(tcp_socket const& socket, std::uint64_t word) {
  if (::send(socket.get(), &word, sizeof word, MSG_NOSIGNAL) != sizeof word)
    throw std::system_error{errno, std::system_category(), "send of 8 bytes"};
}

/// Spins until 8 bytes are there. Returns false when the other side has closed.
bool receive_word(tcp_socket const& socket, std::uint64_t& word) {
  for (;;) {
    auto const size = ::recv(socket.get(), &word, sizeof word, MSG_DONTWAIT);
    if (size == sizeof word)
      return true;
    if (size == 0)
      return false;
    // 8 bytes sent at once arrive at once; anything else is not this program's traffic.
    if (size > 0 || (errno != EAGAIN && errno != EINTR))
      throw std::system_error{size > 0 ? EPROTO : errno, std::system_category(), "recv of 8 bytes"};
  }
}

/// Sends each word back, one larger, until the other side closes.
void echo(tcp_socket const& socket) {
  for (std::uint64_t word = 0; receive_word(socket, word);)
    send_word(socket, word + 1);
}

void raw_tcp(benchmark::State& state) {
  auto [near, far] = connected_pair();
  std::thread other{[&socket = far] { echo(socket); }};
  std::uint64_t word = 0, round_trips = 0;
  bool open = true;
  // Two iterations each: the time of one is half a round trip.
  while (open && state.KeepRunningBatch(2)) {
    send_word(near, word);
    open = receive_word(near, word);
    ++round_trips;
  }
  ::shutdown(near.get(), SHUT_WR);
  other.join();
  check(state, open && word == round_trips, "a message was lost or changed");
  state.SetItemsProcessed(static_cast<std::int64_t>(2 * round_trips));
}

// The same over Quarry's loopback transport, polled at both ends.

using quarry::net::loopback;
using quarry::net::pe;

/// The two ends of a job of two processing elements, both in this process.
std::array<std::unique_ptr<loopback>, 2> connected_ends() {
  auto const jobs = quarry::net::make_local_jobs(2, std::chrono::seconds{10}).value();
  std::array<std::unique_ptr<loopback>, 2> ends;
  std::thread other{[&] { ends[1] = loopback::open(jobs[1]).value(); }}; // terminates if it cannot
  ends[0] = loopback::open(jobs[0]).value();
  other.join();
  return ends;
}

void send_word(loopback& end, pe target, std::uint64_t word) {
  while (!end.try_send(target, std::as_bytes(std::span{&word, 1}), {}).value())
    std::this_thread::yield();
}

/// Polls until a word is there.
std::uint64_t receive_word(loopback& end) {
  std::uint64_t word = 0;
  bool came = false;
  quarry::net::transport_port::sink const take = [&](pe, std::span<std::byte const> bytes) {
    std::memcpy(&word, bytes.data(), sizeof word);
    came = true;
  };
  while (!came)
    static_cast<void>(end.poll(take).value());
  return word;
}

constexpr std::uint64_t no_more = ~std::uint64_t{0};

void over_loopback(benchmark::State& state) {
  auto const ends = connected_ends();
  std::thread other{[&end = *ends[1]] {
    for (std::uint64_t word = 0; (word = receive_word(end)) != no_more;)
      send_word(end, pe{0}, word + 1);
    end.finish().value();
  }};
  std::uint64_t word = 0, round_trips = 0;
  while (state.KeepRunningBatch(2)) {
    send_word(*ends[0], pe{1}, word);
    word = receive_word(*ends[0]);
    ++round_trips;
  }
  send_word(*ends[0], pe{1}, no_more);
  ends[0]->finish().value();
  other.join();
  check(state, word == round_trips, "a message was lost or changed");
  state.SetItemsProcessed(static_cast<std::int64_t>(2 * round_trips));
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("one_way/loopback/8", quarry::bench::over_loopback)->UseRealTime();
  benchmark::RegisterBenchmark("one_way/raw_tcp/8", quarry::bench::raw_tcp)->UseRealTime();
  return quarry::bench::run(argc, argv);
}
