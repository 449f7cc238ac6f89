// SPDX-License-Identifier: Apache-2.0
#include "greeting.hpp"

#include "awake_time.hpp"
#include "listening.hpp"
#include "named_pes.hpp"
#include "peer_stream.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/wire.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace quarry::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using failure = boost::system::error_code;

constexpr std::size_t most_guests = 128; // that have not greeted yet
constexpr auto retry_after = std::chrono::milliseconds(10);
constexpr auto longest_look = std::chrono::milliseconds(50);

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
  meeting(asio::io_context& io, job const& j, tcp::acceptor acceptor)
      : io_(io), job_(j), acceptor_(std::move(acceptor)), waiting_(j.timeout) {
    for (std::uint32_t i = 0; i < j.pe_count; ++i)
      sockets_.emplace_back(io);
    missing_ = j.pe_count - 1;
  }

  result<std::vector<tcp::socket>> run() {
    accept();
    for (std::uint32_t i = 0; i < job_.self.id; ++i)
      call(i);
    while (missing_ != 0 && !refused_ && !waiting_.is_over())
      io_.run_one_for(longest_look);
    is_over_ = true;
    failure ignored;
    acceptor_.close(ignored);
    for (auto const& waiting : guests_)
      if (auto const g = waiting.lock())
        g->socket.close(ignored);
    if (refused_)
      return *refused_;
    if (missing_ != 0) {
      error const late = make_error(net_errc::timeout,
                                    fmt::format("loopback: start: {} did not come within {} ms{}",
                                                missing_names(), job_.timeout.count(), complaint_));
      name_missing();
      return late;
    }
    return std::move(sockets_);
  }

private:
  // Being called

  void accept() {
    acceptor_.async_accept([this](failure e, tcp::socket s) {
      if (is_over_)
        return;
      if (e) // out of descriptors, perhaps only for now
        return later([this] { accept(); });
      receive(std::make_shared<guest>(std::move(s)));
      accept();
    });
  }

  /// A guest that says nothing holds nobody up: its read stays open until the mesh is made, or
  /// until so many came after it that it has to go. (A pe of the job calls again.)
  void receive(std::shared_ptr<guest> const& g) {
    std::erase_if(guests_, [](auto const& known) { return known.expired(); });
    if (guests_.size() == most_guests) {
      failure ignored;
      if (auto const oldest = guests_.front().lock())
        oldest->socket.close(ignored);
      guests_.pop_front();
    }
    guests_.push_back(g);
    asio::async_read(g->socket, asio::buffer(&g->theirs, sizeof g->theirs),
                     [this, g](failure read, std::size_t) { greet_back(g, read); });
  }

  void greet_back(std::shared_ptr<guest> const& g, failure e) {
    if (is_over_ || e == asio::error::operation_aborted)
      return;
    if (e)
      return complain("it hung up");
    auto const wrong = what_is_wrong(g->theirs, job_.self.id + 1);
    g->mine = wrong ? refusal(wrong->code) : greeting();
    if (wrong)
      complain(wrong->what);
    if (wrong && g->theirs.magic != wire::magic)
      return; // it would not understand
    asio::async_write(g->socket, asio::buffer(&g->mine, sizeof g->mine),
                      [this, g, wrong](failure written, std::size_t) {
                        if (!wrong && !written && !is_over_)
                          seat(g->theirs.pe, std::move(g->socket));
                        else if (wrong && wrong->code == net_errc::mismatched_job)
                          refused_ = with_other_options(g->theirs.pe);
                      });
  }

  void complain(std::string const& why) {
    if (!complaint_.empty()) // one line, however many there are
      return;
    complaint_ = fmt::format("; a connection was sent away: {}", why);
    fmt::print(stderr, "loopback: {} sent a connection away: {}\n", to_string(job_.self), why);
  }

  // Calling

  void call(std::uint32_t other) {
    auto g = std::make_shared<guest>(tcp::socket(io_));
    tcp::endpoint const where(asio::ip::address_v4::loopback(), job_.endpoints[other].port);
    g->socket.async_connect(where, [this, g, other](failure e) {
      if (is_over_)
        return;
      // Where nobody listens yet, a socket may be given that very port and meet itself.
      if (e || meets_itself(g->socket))
        return later([this, other] { call(other); });
      g->mine = greeting();
      asio::async_write(g->socket, asio::buffer(&g->mine, sizeof g->mine),
                        [](failure, std::size_t) {}); // a failure shows in the read
      asio::async_read(g->socket, asio::buffer(&g->theirs, sizeof g->theirs),
                       [this, g, other](failure read, std::size_t) { answered(g, other, read); });
    });
  }

  void answered(std::shared_ptr<guest> const& g, std::uint32_t other, failure e) {
    if (is_over_)
      return;
    if (e)
      return later([this, other] { call(other); });
    auto wrong = what_is_wrong(g->theirs, 0);
    if (!wrong && g->theirs.pe != other)
      wrong = make_error(net_errc::bad_handshake,
                         fmt::format("it says that it is {}", to_string(pe{g->theirs.pe})));
    if (!wrong)
      return seat(other, std::move(g->socket));
    if (wrong->code == net_errc::mismatched_job) {
      refused_ = with_other_options(other);
      return;
    }
    // The port is taken by somebody else, so that the pe itself cannot come any more.
    refused_ = make_error(
        static_cast<net_errc>(wrong->code.value()),
        fmt::format("loopback: start: who listens for {} at port {} is not of this job: {}",
                    to_string(pe{other}), job_.endpoints[other].port, wrong->what));
  }

  [[nodiscard]] error with_other_options(std::uint32_t other) const {
    return make_error(net_errc::mismatched_job,
                      fmt::format("loopback: start: {} was started with other options than {}",
                                  to_string(pe{other}), to_string(job_.self)));
  }

  static bool meets_itself(tcp::socket const& s) {
    failure e;
    return s.local_endpoint(e) == s.remote_endpoint(e);
  }

  // Both

  template<class Action>
  void later(Action action) {
    auto timer = std::make_shared<asio::steady_timer>(io_, retry_after);
    timer->async_wait([this, timer, action](failure e) {
      if (!e && !is_over_)
        action();
    });
  }

  [[nodiscard]] wire::greeting greeting() const {
    return {wire::magic,  wire::version, job_.token.high,          job_.token.low,
            job_.self.id, job_.pe_count, wire::hash_of(job_.terms)};
  }
  /// Who knows the token is told it, so as to know who has refused it; a stranger is not.
  [[nodiscard]] wire::greeting refusal(std::error_code why) const {
    bool const is_of_job = why == net_errc::bad_handshake || why == net_errc::mismatched_job;
    job_token const token = is_of_job ? job_.token : job_token{};
    return {wire::magic,
            wire::version,
            token.high,
            token.low,
            why == net_errc::bad_handshake    ? wire::refused_pe
            : why == net_errc::mismatched_job ? wire::refused_terms
                                              : wire::refused_token,
            job_.pe_count,
            0};
  }

  /// Nothing if the greeting is of a pe from `least` on that has no seat yet.
  [[nodiscard]] std::optional<error> what_is_wrong(wire::greeting const& g,
                                                   std::uint32_t least) const {
    if (g.magic != wire::magic)
      return make_error(net_errc::bad_handshake, "it does not speak the protocol");
    if (g.version != wire::version)
      return make_error(net_errc::version_mismatch,
                        fmt::format("it speaks version {}, not {}", g.version, wire::version));
    if (g.token_high != job_.token.high || g.token_low != job_.token.low)
      return make_error(net_errc::bad_token, "it does not know the job's token");
    if (bool const is_answer = least == 0; is_answer && g.pe == wire::refused_pe)
      return make_error(net_errc::bad_handshake, fmt::format("it does not take {} of {}",
                                                             to_string(job_.self), job_.pe_count));
    else if (is_answer && g.pe == wire::refused_terms)
      return make_error(net_errc::mismatched_job, "it was started with other options");
    if (g.pe_count != job_.pe_count || g.pe < least || g.pe >= job_.pe_count)
      return make_error(net_errc::bad_handshake,
                        fmt::format("it says that it is pe {} of {}", g.pe, g.pe_count));
    if (std::uint64_t const mine = wire::hash_of(job_.terms);
        g.terms != 0 && mine != 0 && g.terms != mine)
      return make_error(net_errc::mismatched_job,
                        fmt::format("{} was started with other options", to_string(pe{g.pe})));
    if (sockets_[g.pe].is_open())
      return make_error(net_errc::bad_handshake, fmt::format("pe {} is here already", g.pe));
    return std::nullopt;
  }

  void seat(std::uint32_t other, tcp::socket s) {
    if (sockets_[other].is_open() || !s.is_open())
      return;
    sockets_[other] = std::move(s);
    --missing_;
  }

  /// To those who have come: that this pe goes because of one who has not.
  void name_missing() {
    std::uint32_t absent = 0;
    while (absent == job_.self.id || sockets_[absent].is_open())
      ++absent;
    for (std::uint32_t i = 0; i < job_.pe_count; ++i)
      if (sockets_[i].is_open())
        static_cast<void>(peer_stream(std::move(sockets_[i]), pe{i}).say_lost(pe{absent}));
  }

  [[nodiscard]] std::string missing_names() const {
    return named_pes(job_.pe_count, [this](std::uint32_t i) {
      return i != job_.self.id && !sockets_[i].is_open();
    });
  }

  asio::io_context& io_;
  job const& job_;
  tcp::acceptor acceptor_;
  awake_time waiting_;
  std::vector<tcp::socket> sockets_;
  std::deque<std::weak_ptr<guest>> guests_; // oldest first
  std::uint32_t missing_ = 0;
  std::optional<error> refused_;
  std::string complaint_;
  bool is_over_ = false;
};

} // namespace

result<std::vector<tcp::socket>> meet(asio::io_context& io, job const& j) {
  auto acceptor = listen_for(io, j);
  if (!acceptor)
    return acceptor.error();
  meeting m(io, j, *std::move(acceptor));
  auto sockets = m.run();
  // Handlers that are left never run again: they are destroyed with `io`.
  io.stop();
  return sockets;
}

} // namespace quarry::net
