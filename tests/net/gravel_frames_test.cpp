// SPDX-License-Identifier: Apache-2.0
// What a peer may send that is no frame of Gravel's, or nearly one: it ends the job with an error
// that says what it is, or does what it says and nothing else.
#include "gravel_job.hpp"
#include "raw_peer.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace gravel_test;

namespace {

using words = std::vector<std::uint32_t>;

void mix(std::uint64_t& word, std::uint64_t value) {
  word = 3 * word + value;
}

/// What a node makes of data frames, worked out anew: the format is net/src/gravel/frame.hpp's.
/// One handler is added, mix().
struct expected_node {
  std::vector<std::uint64_t> heap = std::vector<std::uint64_t>(heap_words);
  std::optional<net_errc> error; ///< the first; nothing is done after it

  void take(std::span<std::byte const> bytes) {
    words w(bytes.size() / 4);
    if (!w.empty())
      std::memcpy(w.data(), bytes.data(), w.size() * 4);
    std::uint32_t const kind = w.empty() ? 0 : w[0];
    bool const is_control = w.size() >= 3;
    if (kind == 1 && bytes.size() % 4 == 0)
      error = data(w);
    else if (kind == 2 && is_control) // a question whether all has been applied: it is answered
      error = std::nullopt;
    else if (kind == 5 && is_control && w[1] >= 1 && w[1] <= last_code && w[2] == 1)
      error = static_cast<net_errc>(w[1]); // why pe 1 has failed, as it says
    else
      error = net_errc::bad_frame;
  }

private:
  static constexpr auto last_code = static_cast<std::uint32_t>(net_errc::bad_environment);

  /// All of it, or nothing.
  std::optional<net_errc> data(words const& w) {
    auto after = heap;
    for (std::size_t at = 1; at < w.size();) {
      if (w.size() - at < 2)
        return net_errc::bad_frame;
      std::uint32_t const command = w[at] & 0xff, handler = w[at] >> 8;
      std::size_t const count = w[at + 1], each = command == 1 ? 1 : 3;
      at += 2;
      if (command < 1 || command > 4 || count == 0 || count > (w.size() - at) / each)
        return net_errc::bad_frame;
      std::span const run(w.data() + at, count * each);
      for (std::size_t i = 0; i < run.size(); i += each)
        if (run[i] >= heap_words)
          return net_errc::outside_heap;
      if (command == 4 && handler != 0)
        return net_errc::mismatched_job;
      for (std::size_t i = 0; i < run.size(); i += each)
        do_one(command, after[run[i]],
               each == 1 ? 1 : run[i + 1] | std::uint64_t{run[i + 2]} << 32);
      at += run.size();
    }
    heap = after;
    return std::nullopt;
  }
  static void do_one(std::uint32_t command, std::uint64_t& word, std::uint64_t value) {
    if (command == 4)
      mix(word, value);
    else
      word = command == 3 ? value : word + value;
  }
};

/// A data frame of some runs, as an aggregator could have made it; seldom with a handler too many.
std::vector<std::byte> valid_frame(std::mt19937& random) {
  words w{1};
  for (auto runs = 1 + random() % 5; runs > 0; --runs) {
    std::uint32_t const command = 1 + random() % 4, count = 1 + random() % 20;
    std::uint32_t const handler = command == 4 && random() % 16 == 0 ? 1 : 0;
    w.insert(w.end(), {command | handler << 8, count});
    for (std::uint32_t i = 0; i < count; ++i) {
      w.push_back(random() % heap_words);
      if (command != 1)
        w.insert(w.end(),
                 {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random() % 3)});
    }
  }
  auto const bytes = std::as_bytes(std::span(w));
  return {bytes.begin(), bytes.end()};
}

void put_word(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at * 4, &value, 4);
}
std::uint32_t word(std::vector<std::byte> const& bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at * 4, 4);
  return value;
}

/// One thing of it becomes another: a bit, a word, or where it ends.
void damage(std::vector<std::byte>& bytes, std::mt19937& random) {
  constexpr std::array<std::uint32_t, 10> telling{
      0, 1, 2, 4, 5, heap_words - 1, heap_words, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff};
  std::size_t const count = bytes.size() / 4;
  auto const choice = count == 0 ? 5 : random() % 7;
  std::size_t const at = count == 0 ? 0 : random() % count;
  if (choice == 0)
    bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 << random() % 8);
  else if (choice == 1)
    put_word(bytes, at, telling[random() % telling.size()]);
  else if (choice == 2)
    put_word(bytes, at, word(bytes, at) + (random() % 2 == 0 ? 1 : ~0U));
  else if (choice == 3)
    put_word(bytes, at, word(bytes, random() % count));
  else if (choice == 4)
    bytes.resize(random() % bytes.size());
  else
    for (auto more = 1 + random() % 16; more > 0; --more)
      bytes.push_back(static_cast<std::byte>(random() % 3));
  // A contribution to a gather would end the test's wait; others see to those.
  if (bytes.size() >= 4 && word(bytes, 0) == 4)
    put_word(bytes, 0, 1);
}

/// A node, pe 0, whose peers may send it anything.
struct node_and_peers {
  std::vector<std::unique_ptr<in_process>> ends;
  job_outcome out = make_outcome(1);
  native_scheduler scheduler{{.threads = 1}};
  unchecked_agent gpu{scheduler};
  gravel_node net;

  explicit node_and_peers(std::uint32_t nodes = 2,
                          std::chrono::milliseconds timeout = std::chrono::seconds(10))
      : ends(make_in_process(nodes)),
        net(gpu.core(), std::move(ends[0]), out.heaps[0], {.timeout = timeout}) {}
  /// From pe 1.
  void gets(words const& head, std::span<std::byte const> body = {}) {
    CHECK(ends[1]->try_send(pe{0}, std::as_bytes(std::span(head)), body).has_value());
  }
};

} // namespace

TEST_SUITE("net.gravel_frames") {
  TEST_CASE("a frame that is none ends the job with bad_frame, and touches nothing") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      node_and_peers n(2, std::chrono::milliseconds(50));
      std::vector<std::uint32_t> frame(1 + random() % 12);
      std::generate(frame.begin(), frame.end(),
                    [&] { return static_cast<std::uint32_t>(random() % 6); });
      frame[0] = random() % 2 == 0 ? 1 : static_cast<std::uint32_t>(random() % 8 + 7);
      if (frame[0] == 1 && frame.size() > 2)
        frame[2] = 1000; // a run longer than its frame
      n.gets(frame);
      auto const q = n.net.all_sum(1);
      bool const is_empty_frame = frame[0] == 1 && frame.size() == 1;
      REQUIRE(q.has_error());
      CHECK(q.error().code == (is_empty_frame ? net_errc::timeout : net_errc::bad_frame));
      CHECK(n.out.heaps == empty_heaps(1));
    }
  }

  TEST_CASE("of a frame with one run that cannot be, no other is done either") {
    node_and_peers n;
    n.gets({1, 1, 2, 3, 4, 2, 2, 5, 1, 0, heap_words, 1, 0}); // two increments, two adds
    auto const q = n.net.quiet();
    REQUIRE(q.has_error());
    CHECK(q.error().code == net_errc::outside_heap);
    CHECK(q.error().what ==
          "gravel: quiet: add from pe 1 names word 256 of pe 0, whose heap has 256 words");
    CHECK(n.out.heaps == empty_heaps(1));
  }

  TEST_CASE("an answer that nobody has asked for ends the job, and no quiet() before its time") {
    SUBCASE("before any question") {
      node_and_peers n;
      n.gets({3, 1, 0});
      auto const sum = n.net.all_sum(1);
      REQUIRE(sum.has_error());
      CHECK(sum.error().what == "gravel: all_sum: an answer to no question from pe 1");
    }
    SUBCASE("to another question, and twice") {
      for (bool const is_twice : {false, true}) { // pe 2 never answers
        CAPTURE(is_twice);
        node_and_peers n(3);
        std::jthread const answering([&](std::stop_token const& stop) {
          words asked;
          while (asked.empty() && !stop.stop_requested()) {
            static_cast<void>(n.ends[1]->poll([&](pe, std::span<std::byte const> bytes) {
              asked.resize(bytes.size() / 4);
              std::memcpy(asked.data(), bytes.data(), asked.size() * 4);
            }));
            std::this_thread::yield();
          }
          if (asked.size() != 3)
            return;
          asked[0] = 3;
          asked[1] += is_twice ? 0 : 1;
          for (int answers = is_twice ? 2 : 1; answers > 0; --answers)
            n.gets(asked);
        });
        auto const quiet = n.net.quiet();
        REQUIRE(quiet.has_error());
        CHECK(quiet.error().code == net_errc::bad_frame);
        CHECK(quiet.error().what == "gravel: quiet: an answer to no question from pe 1");
      }
    }
  }

  TEST_CASE("a sum of values that are not of one size is an error, not what lies behind them") {
    for (std::size_t const bytes : {0U, 3U, 5U, 4096U}) {
      CAPTURE(bytes);
      node_and_peers n;
      std::vector<std::byte> contribution(1 + bytes);
      contribution[0] = std::byte{2};  // an all_sum's
      n.gets({4, 1, 0}, contribution); // to the first gather
      auto const sum = n.net.all_sum<std::uint32_t>(1);
      REQUIRE(sum.has_error());
      CHECK(sum.error().code == net_errc::mismatched_collective);
      CHECK(sum.error().what ==
            "gravel: all_sum: " + std::to_string(bytes) + " bytes from pe 1, 4 from pe 0");
    }
  }

  TEST_CASE("a contribution to a gather that is over, or to one twice, is a bad frame") {
    std::vector<std::byte> const sum_of_one{std::byte{2}, std::byte{1}, std::byte{0}, std::byte{0},
                                            std::byte{0}};
    for (std::uint32_t const again : {1U, 2U}) {
      CAPTURE(again);
      node_and_peers n(again == 1 ? 2 : 3); // pe 2 says nothing
      n.gets({4, 1, 0}, sum_of_one);
      if (again == 1) {
        auto const first = n.net.all_sum<std::uint32_t>(4);
        REQUIRE(first.has_value());
        CHECK(*first == 5);
      }
      n.gets({4, 1, 0}, sum_of_one);
      auto const sum = n.net.all_sum<std::uint32_t>(1);
      REQUIRE(sum.has_error());
      CHECK(sum.error().code == net_errc::bad_frame);
      CHECK(sum.error().what == "gravel: all_sum: a contribution to no gather from pe 1");
    }
  }

  TEST_CASE("a contribution to no collective is a bad frame") {
    for (auto const& contribution :
         {std::vector<std::byte>{}, std::vector(5, std::byte{0}), std::vector(5, std::byte{5})}) {
      node_and_peers n;
      n.gets({4, 1, 0}, contribution);
      auto const sum = n.net.all_sum<std::uint32_t>(1);
      REQUIRE(sum.has_error());
      CHECK(sum.error().code == net_errc::bad_frame);
      CHECK(sum.error().what == "gravel: all_sum: a contribution to no collective from pe 1");
    }
  }

  TEST_CASE("10 000 frames over TCP, damaged or not, are each applied whole or end the job") {
    constexpr int most = 10'000;
    raw::captured_stderr const said; // of connections that are lost
    raw::two_jobs pair;              // its listening socket serves every round
    std::mt19937 random(20'270'117);
    constexpr std::uint64_t guard = 0x5a5a'5a5a'5a5a'5a5a;
    int frames = 0, applied = 0;
    while (frames < most) {
      CAPTURE(frames);
      auto peer = raw::peer::connect(pair.port());
      job mine = pair.real();
      mine.listen_fd = ::dup(mine.listen_fd);
      peer.send_object(raw::greeting_of(mine, 1));
      auto opened = loopback::open(mine);
      REQUIRE(opened.has_value());
      std::vector<std::uint64_t> memory(3 * heap_words, guard);
      std::span const heap = std::span(memory).subspan(heap_words, heap_words);
      std::ranges::fill(heap, 0);
      native_scheduler scheduler({.threads = 1});
      unchecked_agent gpu(scheduler);
      gravel_node net(gpu.core(), std::move(*opened), heap, {.buffer_bytes = 64});
      net.add_handler(mix);

      expected_node expected;
      std::vector<std::byte> stream;
      for (std::uint32_t i = 0; !expected.error; ++i, ++frames) {
        auto payload = valid_frame(random);
        for (auto turns = random() % 3; turns > 0; --turns)
          damage(payload, random);
        expected.take(payload);
        applied += expected.error ? 0 : 1;
        std::ranges::copy(raw::frame(payload, i), std::back_inserter(stream));
      }
      REQUIRE(peer.send(stream));
      auto const waited = net.all_sum(1);
      REQUIRE(waited.has_error());
      CHECK_MESSAGE(waited.error().code == *expected.error, waited.error().what);
      CHECK(std::ranges::equal(heap, expected.heap));
      for (std::size_t const beside : {0 * heap_words, 2 * heap_words})
        CHECK(std::ranges::count(std::span(memory).subspan(beside, heap_words), guard) ==
              std::ptrdiff_t{heap_words});
    }
    ::close(pair.jobs[0].listen_fd);
    CHECK(applied > most / 4); // both happen often
    CHECK(applied < most * 3 / 4);
  }
}
