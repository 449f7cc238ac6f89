// SPDX-License-Identifier: Apache-2.0
// Nonsense and deaths: each ends in a typed error, in bounded time. The job is played by one
// loopback, its peer by a bare socket.
#include "raw_peer.hpp"
#include "transport_contract.hpp"

#include <quarry/net/loopback.hpp>

#include <atomic>
#include <bit>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace quarry::net;
using namespace std::chrono_literals;

namespace {

auto const ignore = [](pe, std::span<std::byte const>) {};

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// An established connection between pe 0, a loopback, and pe 1, a bare socket.
struct pair_with_raw_peer {
  explicit pair_with_raw_peer(std::chrono::milliseconds timeout = 10s)
      : pair(timeout), peer(raw::peer::connect(pair.port())) {
    // The socket listens already: the greeting waits there until open() looks.
    peer.send_object(raw::greeting_of(pair.real(), 1));
    end = loopback::open(pair.real()).value();
    REQUIRE(peer.read(sizeof(wire::greeting)).size() == sizeof(wire::greeting));
  }
  quarry::error fails() {
    auto const failed = contract::poll_until(*end, ignore, [] { return false; });
    return *failed;
  }
  raw::two_jobs pair;
  raw::peer peer;
  std::unique_ptr<loopback> end;
};

/// The error is there, says pe 1, and every later call says the same.
void check_sticky(loopback& end, quarry::error const& e, net_errc code) {
  CHECK(e.code == code);
  CHECK(contains(e.what, "pe 1"));
  CHECK(end.poll(ignore).error() == e);
  CHECK(end.try_send(pe{1}, {}, {}).error() == e);
  CHECK(end.try_send(pe{0}, {}, {}).error() == e);
  CHECK(end.finish().error() == e);
  CHECK(end.poll(ignore).error() == e);
}

/// `bytes` on an established connection end the job with `code`.
void check_nonsense(std::span<std::byte const> bytes, net_errc code, std::string const& says) {
  raw::captured_stderr said;
  pair_with_raw_peer job;
  job.peer.send(bytes);
  auto const failed = job.fails();
  CHECK(contains(failed.what, says));
  CHECK(job.peer.is_sent_away());
  check_sticky(*job.end, failed, code);
  auto const lines = said.lines();
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], failed.what));
}

std::vector<std::byte> bytes_of(wire::frame_header const& h) {
  auto const bytes = std::as_bytes(std::span(&h, 1));
  return {bytes.begin(), bytes.end()};
}

/// Pes 0 and 1 of a job of three, and what pe 2 has to each of them.
struct beside_a_raw_peer {
  raw::peer to_first, to_second;
  std::unique_ptr<loopback> first, second;
};
beside_a_raw_peer two_beside_a_raw_peer() {
  auto const jobs = make_local_jobs(3, 10s).value();
  beside_a_raw_peer all{raw::peer::connect(jobs[0].endpoints[0].port),
                        raw::peer::connect(jobs[0].endpoints[1].port), nullptr, nullptr};
  all.to_first.send_object(raw::greeting_of(jobs[0], 2));
  all.to_second.send_object(raw::greeting_of(jobs[0], 2));
  {
    std::jthread const opener([&] { all.second = loopback::open(jobs[1]).value(); });
    all.first = loopback::open(jobs[0]).value();
  }
  return all;
}

} // namespace

TEST_SUITE("net.loopback_faults") {
  TEST_CASE("who goes because of another pe names it, to those who have not noticed yet") {
    for (bool const sends : {false, true}) { // who sends hears of it from the socket first
      CAPTURE(sends);
      auto [to_first, to_second, first, second] = two_beside_a_raw_peer();
      REQUIRE(first->try_send(pe{1}, std::as_bytes(std::span("unread")), {}).value());
      to_second.close(); // but not the connection to pe 0
      auto const seen = contract::poll_until(*second, ignore, [] { return false; });
      CHECK(contains(seen->what, "pe 2"));
      second.reset();
      if (sends)
        while (first->try_send(pe{1}, std::as_bytes(std::span("more")), {}).value()) {
        }
      auto const told = contract::poll_until(*first, ignore, [] { return false; });
      CHECK(told->code == net_errc::peer_lost);
      CHECK_MESSAGE(contains(told->what, "pe 2 has died or left without a goodbye, says pe 1"),
                    told->what);
    }
  }

  TEST_CASE("so it does to whom it has half a frame to send, and no room for the rest") {
    auto [to_first, to_second, first, second] = two_beside_a_raw_peer();
    std::vector<std::byte> const much(max_message_bytes);
    while (second->try_send(pe{0}, much, {}).value()) {
    }
    CHECK_FALSE(second->is_flushed());
    to_second.close(); // but not the connection to pe 0
    auto const seen = contract::poll_until(*second, ignore, [] { return false; });
    CHECK(contains(seen->what, "pe 2"));
    std::optional<quarry::error> told;
    {
      std::jthread const reads(
          [&] { told = contract::poll_until(*first, ignore, [] { return false; }); });
      second.reset();
    }
    REQUIRE(told);
    CHECK_MESSAGE(contains(told->what, "pe 2 has died or left without a goodbye, says pe 1"),
                  told->what);
  }

  TEST_CASE("a frame that is none ends the job with bad_frame, said once") {
    std::vector<std::byte> const payload(24, std::byte{1});
    auto damaged = raw::frame(payload, 0);
    damaged[13] ^= std::byte{4};
    check_nonsense(damaged, net_errc::bad_frame, "no frame");
    check_nonsense(bytes_of(raw::header(wire::frame_kind{4}, 0, 0)), net_errc::bad_frame,
                   "no frame");
    check_nonsense(raw::frame(payload, 1), net_errc::bad_frame, "frame 1 where 0 was due");
    check_nonsense(bytes_of(raw::header(wire::frame_kind::goodbye, 8, 0)), net_errc::bad_frame,
                   "goodbye");
    check_nonsense(bytes_of(raw::header(wire::frame_kind::lost, 0, 0)), net_errc::bad_frame,
                   "named who is lost in 0 bytes");
    auto more = bytes_of(raw::header(wire::frame_kind::goodbye, 0, 0));
    std::ranges::copy(raw::frame({}, 1), std::back_inserter(more));
    check_nonsense(more, net_errc::bad_frame, "goodbye");
  }

  TEST_CASE("a frame that is too long is refused by its header alone") {
    check_nonsense(bytes_of(raw::header(wire::frame_kind::message, max_message_bytes + 1, 0)),
                   net_errc::oversized_frame, std::to_string(max_message_bytes + 1));
    check_nonsense(bytes_of(raw::header(wire::frame_kind::message, UINT32_MAX, 0)),
                   net_errc::oversized_frame, std::to_string(max_message_bytes));
  }

  TEST_CASE("a frame that stops in the middle is a lost peer, not a message") {
    std::vector<std::byte> const payload(5000, std::byte{1});
    for (std::size_t const part : {1u, 15u, 16u, 17u, 4999u, 5015u}) {
      pair_with_raw_peer job;
      auto const frame = raw::frame(payload, 0);
      job.peer.send(std::span(frame).first(part));
      job.peer.stop_sending();
      auto const failed = contract::poll_until(
          *job.end, [](auto...) { FAIL("half a frame was delivered"); }, [] { return false; });
      check_sticky(*job.end, *failed, net_errc::peer_lost);
    }
  }

  TEST_CASE("a reset is a lost peer, also for who only sends") {
    pair_with_raw_peer job;
    job.peer.close();
    std::vector<std::byte> const bytes(65'536);
    auto const deadline = contract::clock::now() + contract::bound;
    auto sent = job.end->try_send(pe{1}, bytes, {});
    while (sent && contract::clock::now() < deadline)
      sent = job.end->try_send(pe{1}, bytes, {});
    REQUIRE(sent.has_error());
    check_sticky(*job.end, sent.error(), net_errc::peer_lost);
  }

  TEST_CASE("a peer that does not say goodbye is a timeout of finish() that names it") {
    pair_with_raw_peer job(100ms);
    auto const finished = job.end->finish();
    REQUIRE(finished.has_error());
    CHECK(finished.error().code == net_errc::timeout);
    CHECK(contains(finished.error().what, "pe 1"));
  }

  TEST_CASE("a process that is killed in mid-run is a lost peer to all others") {
    auto const jobs = make_local_jobs(3, 20s).value();
    auto const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) { // streams until it is killed
      auto const opened = loopback::open(jobs[2]);
      std::vector<std::byte> const bytes(10'000, std::byte{3});
      while (opened)
        for (std::uint32_t target : {0u, 1u})
          if (!(*opened)->try_send(pe{target}, bytes, {}) || !(*opened)->poll(ignore))
            ::_exit(1);
      ::_exit(2);
    }
    ::close(jobs[2].listen_fd);
    std::vector<quarry::error> ends(2);
    std::vector<std::size_t> came(2);
    std::atomic<int> ready{0};
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        auto const end = loopback::open(jobs[i]);
        if (!end)
          return;
        bool has_said = false;
        auto const count = [&](pe, std::span<std::byte const> bytes) {
          came[i] += bytes.size() == 10'000;
          if (came[i] > 100 && !std::exchange(has_said, true) && ++ready == 2)
            ::kill(child, SIGKILL);
        };
        ends[i] = *contract::poll_until(**end, count, [] { return false; });
        // Nobody leaves before both have seen it: otherwise the other might miss this one first.
        ++ready;
        auto const deadline = contract::clock::now() + contract::bound;
        while (ready < 4 && contract::clock::now() < deadline)
          std::this_thread::yield();
      });
    threads.clear();
    int status = 0;
    ::kill(child, SIGKILL);
    CHECK(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(came[i] > 100);
      CHECK(ends[i].code == net_errc::peer_lost);
      CHECK(contains(ends[i].what, "pe 2"));
    }
  }

  TEST_CASE("10 000 malformed frames: each closes its connection and is said once") {
    constexpr int frames = 10'000;
    raw::captured_stderr said;
    raw::two_jobs pair; // its listening socket serves every round
    std::size_t said_expected = 0;
    std::mt19937 random(20'261'121);
    for (int round = 0; round < frames; ++round) {
      CAPTURE(round);
      auto peer = raw::peer::connect(pair.port());
      job mine = pair.real();
      mine.listen_fd = ::dup(mine.listen_fd);
      peer.send_object(raw::greeting_of(mine, 1));
      auto const opened = loopback::open(mine);
      REQUIRE(opened.has_value());

      std::vector<std::byte> bytes;
      std::uint32_t const good = random() % 4;
      for (std::uint32_t i = 0; i < good; ++i)
        std::ranges::copy(raw::frame(contract::content(pe{1}, pe{0}, i), i),
                          std::back_inserter(bytes));
      std::vector<std::byte> const payload(random() % 3000, static_cast<std::byte>(random()));
      auto bad = raw::frame(payload, good);
      auto const kind = round % 4;
      bool is_cut = false;
      if (kind == 0) { // random bytes
        std::ranges::generate(bad, [&] { return static_cast<std::byte>(random()); });
      } else if (kind == 1) { // a valid header with bits turned in some of its four fields
        for (auto fields = 1 + random() % 15; fields > 0; fields &= fields - 1)
          bad[4 * std::countr_zero(fields) + random() % 4] ^=
              static_cast<std::byte>(1 << random() % 8);
      } else if (kind == 2) { // a header that is right in itself and wrong here
        auto const h =
            random() % 2 == 0
                ? raw::header(wire::frame_kind::message, payload.size(), good + 1 + random() % 9)
                : raw::header(wire::frame_kind::message, max_message_bytes + 1 + random() % 99999,
                              good);
        std::memcpy(bad.data(), &h, sizeof h);
      } else { // cut off
        is_cut = true;
        bad.resize(random() % bad.size());
      }
      bytes.insert(bytes.end(), bad.begin(), bad.end());
      peer.send(bytes);
      if (is_cut)
        peer.stop_sending();

      std::uint32_t came = 0;
      bool is_right = true;
      auto const failed = contract::poll_until(
          **opened,
          [&](pe source, std::span<std::byte const> got) {
            is_right &= source == pe{1} && came < good &&
                        std::ranges::equal(got, contract::content(pe{1}, pe{0}, came));
            ++came;
          },
          [] { return false; });
      CHECK(is_right);
      CHECK(came == good);
      auto const code = failed->code;
      if (is_cut) {
        CHECK(code == net_errc::peer_lost);
      } else {
        CHECK((code == net_errc::bad_frame || code == net_errc::oversized_frame));
        ++said_expected;
      }
      CHECK((*opened)->poll(ignore).error() == *failed);
      if (!is_cut) {
        (void)peer.read(sizeof(wire::greeting));
        CHECK(peer.is_sent_away());
      }
    }
    ::close(pair.jobs[0].listen_fd);
    CHECK(said.lines().size() == said_expected);
  }
}
