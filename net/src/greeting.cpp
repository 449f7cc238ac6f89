// SPDX-License-Identifier: Apache-2.0
#include "greeting.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/wire.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

namespace quarry::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using failure = boost::system::error_code;
using clock = std::chrono::steady_clock;

/// A connection until both have greeted.
struct guest {
  explicit guest(tcp::socket s) : socket(std::move(s)) {}
  tcp::socket socket;
  wire::greeting mine{};
  wire::greeting theirs{};
};

/// The mesh while it is being made: pe i calls those below it and is called by those above.
class meeting {
public:
  meeting(asio::io_context& io, job const& j)
      : io_(io), job_(j), acceptor_(io), deadline_(clock::now() + j.timeout) {
    for (std::uint32_t i = 0; i < j.pe_count; ++i)
      sockets_.emplace_back(io);
    missing_ = j.pe_count - 1;
  }

  result<std::vector<tcp::socket>> run() {
    if (auto const listening = listen(); !listening)
      return listening.error();
    accept();
    for (std::uint32_t i = 0; i < job_.self.id; ++i)
      call(i);
    while (missing_ != 0 && clock::now() < deadline_)
      io_.run_one_until(deadline_);
    failure ignored;
    acceptor_.close(ignored);
    is_over_ = true;
    if (missing_ != 0)
      return make_error(net_errc::timeout, fmt::format("loopback: {} did not come within {} ms",
                                                       missing_names(), job_.timeout.count()));
    return std::move(sockets_);
  }

private:
  result<void> listen() {
    failure e;
    endpoint const& mine = job_.endpoints[job_.self.id];
    if (job_.listen_fd != -1) {
      acceptor_.assign(tcp::v4(), job_.listen_fd, e);
    } else {
      acceptor_.open(tcp::v4(), e);
      if (!e)
        acceptor_.set_option(tcp::acceptor::reuse_address(true), e);
      if (!e)
        acceptor_.bind({asio::ip::address_v4::loopback(), mine.port}, e);
      if (!e)
        acceptor_.listen(tcp::acceptor::max_listen_connections, e);
    }
    if (!e)
      return {};
    if (e == asio::error::address_in_use)
      return make_error(net_errc::port_in_use,
                        fmt::format("loopback: port {} of 127.0.0.1 is in use", mine.port));
    return error{std::error_code(e), fmt::format("loopback: cannot listen at port {}", mine.port)};
  }

  void accept() {
    acceptor_.async_accept([this](failure e, tcp::socket s) {
      if (e || is_over_)
        return;
      auto g = std::make_shared<guest>(std::move(s));
      // A guest that says nothing holds nobody up: its read just stays open until the mesh is made.
      asio::async_read(g->socket, asio::buffer(&g->theirs, sizeof g->theirs),
                       [this, g](failure read, std::size_t) { greet_back(g, read); });
      accept();
    });
  }

  void greet_back(std::shared_ptr<guest> const& g, failure e) {
    if (is_over_)
      return;
    std::string const wrong = e ? "it hung up" : what_is_wrong(g->theirs, job_.self.id + 1);
    if (!wrong.empty())
      return send_away(wrong);
    g->mine = greeting();
    asio::async_write(g->socket, asio::buffer(&g->mine, sizeof g->mine),
                      [this, g](failure written, std::size_t) {
                        if (!written && !is_over_)
                          seat(g->theirs.pe, std::move(g->socket));
                      });
  }

  void call(std::uint32_t other) {
    auto g = std::make_shared<guest>(tcp::socket(io_));
    tcp::endpoint const where(asio::ip::address_v4::loopback(), job_.endpoints[other].port);
    g->socket.async_connect(where, [this, g, other](failure e) {
      if (e)
        return call_later(other);
      g->mine = greeting();
      asio::async_write(g->socket, asio::buffer(&g->mine, sizeof g->mine),
                        [](failure, std::size_t) {});
      asio::async_read(
          g->socket, asio::buffer(&g->theirs, sizeof g->theirs),
          [this, g, other](failure read, std::size_t) {
            if (is_over_)
              return;
            if (read || !what_is_wrong(g->theirs, other).empty() || g->theirs.pe != other)
              return call_later(other); // somebody else has that port: until the deadline
            seat(other, std::move(g->socket));
          });
    });
  }

  void call_later(std::uint32_t other) {
    auto timer = std::make_shared<asio::steady_timer>(io_, std::chrono::milliseconds(10));
    timer->async_wait([this, timer, other](failure e) {
      if (!e && !is_over_)
        call(other);
    });
  }

  [[nodiscard]] wire::greeting greeting() const {
    return {wire::magic,    wire::version, job_.token.high,
            job_.token.low, job_.self.id,  job_.pe_count};
  }

  /// Empty if the greeting is of a pe from `least` on that has no seat yet.
  [[nodiscard]] std::string what_is_wrong(wire::greeting const& g, std::uint32_t least) const {
    if (g.magic != wire::magic)
      return "it does not speak the protocol";
    if (g.version != wire::version)
      return fmt::format("it speaks version {}, not {}", g.version, wire::version);
    if (g.token_high != job_.token.high || g.token_low != job_.token.low)
      return "it does not know the job's token";
    if (g.pe_count != job_.pe_count || g.pe < least || g.pe >= job_.pe_count)
      return fmt::format("it says that it is pe {} of {}", g.pe, g.pe_count);
    if (sockets_[g.pe].is_open())
      return fmt::format("pe {} is here already", g.pe);
    return {};
  }

  void send_away(std::string const& why) {
    if (std::exchange(has_complained_, true))
      return;
    fmt::print(stderr, "loopback: {} sent a connection away: {}\n", to_string(job_.self), why);
  }

  void seat(std::uint32_t other, tcp::socket s) {
    if (sockets_[other].is_open())
      return;
    sockets_[other] = std::move(s);
    --missing_;
  }

  [[nodiscard]] std::string missing_names() const {
    std::string names;
    for (std::uint32_t i = 0; i < job_.pe_count; ++i)
      if (i != job_.self.id && !sockets_[i].is_open())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(pe{i}));
    return names;
  }

  asio::io_context& io_;
  job const& job_;
  tcp::acceptor acceptor_;
  clock::time_point deadline_;
  std::vector<tcp::socket> sockets_;
  std::uint32_t missing_ = 0;
  bool has_complained_ = false;
  bool is_over_ = false;
};

} // namespace

result<std::vector<tcp::socket>> meet(asio::io_context& io, job const& j) {
  for (endpoint const& e : j.endpoints)
    if (e.address != "127.0.0.1")
      return make_error(net_errc::forbidden_address,
                        fmt::format("loopback: address {}; only 127.0.0.1 is allowed", e.address));
  auto const m = std::make_unique<meeting>(io, j);
  auto sockets = m->run();
  // Handlers that are left (guests that say nothing) are never run; they go, with their sockets,
  // with io.
  io.stop();
  return sockets;
}

} // namespace quarry::net
