// SPDX-License-Identifier: Apache-2.0
#include "socket_watch.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace quarry::net {
namespace {

constexpr std::uint32_t interrupted = ~0U; // instead of a socket's number

epoll_event about(std::uint32_t number, std::uint32_t events) noexcept {
  epoll_event e{};
  e.events = events;
  e.data.u32 = number;
  return e;
}

} // namespace

socket_watch::~socket_watch() {
  for (int const descriptor : {epoll_, interruption_})
    if (descriptor >= 0)
      ::close(descriptor);
}

result<void> socket_watch::open(std::span<int const> descriptors) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  interruption_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  auto const add = [this](int descriptor, std::uint32_t number) {
    epoll_event e = about(number, EPOLLIN);
    return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &e) == 0;
  };
  bool is_well = add(interruption_, interrupted);
  for (int const descriptor : descriptors) {
    auto const number = static_cast<std::uint32_t>(sockets_.size());
    is_well = is_well && (descriptor < 0 || add(descriptor, number));
    sockets_.push_back({descriptor, false});
  }
  if (!is_well)
    return error{std::error_code(errno, std::system_category()),
                 "loopback: the connections cannot be watched"};
  readable_.reserve(sockets_.size());
  return {};
}

void socket_watch::forget(std::uint32_t socket) noexcept {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, sockets_[socket].descriptor, nullptr);
}

void socket_watch::want_room(std::uint32_t socket, bool wants) noexcept {
  watched& s = sockets_[socket];
  if (s.wants_room == wants)
    return;
  s.wants_room = wants;
  epoll_event e = about(socket, wants ? EPOLLIN | EPOLLOUT : EPOLLIN);
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, s.descriptor, &e);
}

int socket_watch::look() noexcept {
  std::array<epoll_event, 64> events;
  int const count = ::epoll_wait(epoll_, events.data(), events.size(), 0);
  readable_.clear(); // there is room for all
  for (int i = 0; i < count; ++i) {
    auto const& e = events[static_cast<std::size_t>(i)];
    if (e.data.u32 == interrupted)
      is_interrupted_ = true;
    else if ((e.events & ~EPOLLOUT) != 0)
      readable_.push_back(e.data.u32);
  }
  return count;
}

std::span<std::uint32_t const> socket_watch::readable() noexcept {
  look();
  return readable_;
}

void socket_watch::take_interruption() noexcept {
  std::uint64_t count = 0;
  if (std::exchange(is_interrupted_, false))
    static_cast<void>(!::read(interruption_, &count, sizeof count));
}

void socket_watch::wait(std::chrono::nanoseconds at_most) noexcept {
  // Giving the core away a few times is much cheaper than to be woken, if a peer is about to
  // answer.
  constexpr int yields = 16;
  for (int i = 0; i < yields; ++i) {
    if (look() != 0) {
      take_interruption();
      return;
    }
    std::this_thread::yield();
  }
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  timespec const limit{seconds.count(), (at_most - seconds).count()};
  pollfd any{epoll_, POLLIN, 0}; // epoll_wait() itself knows no time below a millisecond
  ::ppoll(&any, 1, &limit, nullptr);
  if (look() != 0)
    take_interruption();
}

void socket_watch::interrupt() const noexcept {
  std::uint64_t const one = 1;
  static_cast<void>(!::write(interruption_, &one, sizeof one));
}

} // namespace quarry::net
