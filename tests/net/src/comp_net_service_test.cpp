// SPDX-License-Identifier: Apache-2.0
// The network service round by round: what it takes, and when it says that it is complete.
#include "comp_net/service.hpp"
#include "lone_actor.hpp"

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net/in_process.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::net;
using namespace quarry::net::comp_net;
using quarry_test::run_alone;

namespace {

constexpr std::uint32_t ring_count = 2;
constexpr std::uint32_t entries = 64;
constexpr std::uint64_t heap_words = 64;

/// A service of two rings of a job of one pe, and the work-groups that write into them.
class served_rings {
public:
  explicit served_rings(std::uint32_t polling_rounds)
      : network_(*shmem::node::start(
            scheduler_, std::move(make_in_process(1)[0]),
            {.heap_bytes = heap_words * 8, .most_teams = 1, .team_bytes = 256})),
        queues_(known_, ring_count, entries), states_(known_, ring_count, "states"),
        failed_(known_, 1, "failed"), contexts_(ring_count, [] {}), waits_(ring_count),
        source_(known_, 8, "source"),
        service_(*network_service::make({.queues = queues_,
                                         .first = 0,
                                         .last = ring_count,
                                         .states = states_.global(),
                                         .failed = failed_.global(),
                                         .polling_rounds = polling_rounds,
                                         .contexts = &contexts_,
                                         .waits = waits_,
                                         .known = &known_},
                                        network_, "service")) {}
  ~served_rings() { CHECK(network_.finish()); }

  /// The entry's index.
  std::uint32_t post(std::uint32_t ring, command const& c) {
    REQUIRE(queues_.has_room(writers_[ring]));
    return queues_.post(self_, ring, writers_[ring], c);
  }
  /// True if there was anything to do.
  bool poll() { return run_alone(service_->poll(self_)); }
  [[nodiscard]] bool is_complete(std::uint32_t ring, std::uint32_t index) {
    return queues_.completed(self_, ring, index).await_ready();
  }
  [[nodiscard]] std::uint64_t reply(std::uint32_t ring, std::uint32_t index) {
    return queues_.reply(self_, ring, index);
  }
  /// Of the symmetric heap.
  [[nodiscard]] std::uint64_t& word(std::size_t i) {
    return reinterpret_cast<std::uint64_t*>(network_.local({0}))[i];
  }
  /// Of device memory that is not symmetric.
  [[nodiscard]] std::span<std::uint64_t> source() { return source_.host(); }

private:
  native_scheduler scheduler_{{.threads = 1}};
  emu::allocations known_;
  emu::basic_core<emu::native_memory> self_{{}};
  shmem::node network_;
  rings queues_;
  emu::buffer<ring_state> states_;
  emu::buffer<std::uint32_t> failed_;
  open_contexts contexts_;
  std::vector<wait_record> waits_;
  emu::buffer<std::uint64_t> source_;
  std::unique_ptr<network_service> service_;
  ring_writer writers_[ring_count]{};
};

command add_and_wait(std::uint64_t n) {
  return {.target = 0,
          .operand = n,
          .what = operation::atomic,
          .kind = static_cast<std::uint8_t>(shmem::atomic_op::add),
          .width = 8,
          .flags = command::is_blocking};
}
command put_inline(std::size_t word, std::uint64_t value) {
  return {.target = word * 8, .local = value, .bytes = 8, .flags = command::is_inline};
}
command put_from(std::size_t word, std::span<std::uint64_t const> source, std::uint8_t flags) {
  return {.target = word * 8,
          .local = reinterpret_cast<std::uintptr_t>(source.data()),
          .bytes = source.size_bytes(),
          .flags = flags};
}

} // namespace

TEST_SUITE("net.comp_net_service") {
  TEST_CASE("a blocking operation begins at once, and is complete after that many polling rounds") {
    for (std::uint32_t const rounds : {1U, 2U, 3U, 7U, 32U}) {
      CAPTURE(rounds);
      served_rings s(rounds);
      std::uint32_t const waited_for = s.post(0, add_and_wait(5));
      for (std::uint32_t i = 0; i < rounds + 2; ++i) // there is something to do in every round
        s.post(1, put_inline(1 + i, i));
      for (std::uint32_t round = 1; round <= rounds; ++round) {
        CAPTURE(round);
        CHECK_FALSE(s.is_complete(0, waited_for));
        CHECK(s.poll());
        CHECK(s.word(0) == 5);
      }
      CHECK(s.is_complete(0, waited_for));
      CHECK(s.reply(0, waited_for) == 0);
    }
  }

  TEST_CASE("while nobody asks for anything else it is complete in the next round") {
    served_rings s(1'000);
    std::uint32_t const waited_for = s.post(0, add_and_wait(5));
    CHECK(s.poll());
    CHECK_FALSE(s.is_complete(0, waited_for));
    CHECK(s.poll());
    CHECK(s.is_complete(0, waited_for));
    CHECK_FALSE(s.poll());
  }

  TEST_CASE("a work-group that waits is asked for nothing more, others are") {
    served_rings s(3);
    std::uint32_t const first = s.post(0, add_and_wait(5));
    std::uint32_t const second = s.post(0, add_and_wait(6));
    std::vector<std::uint32_t> beside;
    for (std::uint32_t i = 0; i < 8; ++i)
      beside.push_back(s.post(1, put_inline(1 + i, i)));
    for (std::uint32_t round = 1; round <= 3; ++round) {
      CHECK(s.word(0) <= 5);
      CHECK(s.poll());
      CHECK(s.is_complete(1, beside[round - 1])); // one command of a ring in a round
      CHECK_FALSE(s.is_complete(1, beside[round]));
    }
    CHECK(s.is_complete(0, first));
    CHECK_FALSE(s.is_complete(0, second));
    for (std::uint32_t round = 4; round <= 6; ++round)
      CHECK(s.poll());
    CHECK(s.is_complete(0, second));
    CHECK(s.reply(0, second) == 5);
  }

  TEST_CASE("up to 8 bytes are in the entry; more are read from the source when it is taken") {
    served_rings s(1);
    s.source()[0] = 1;
    s.source()[1] = 2;
    s.post(0, put_inline(0, s.source()[0]));
    s.post(1, put_from(1, s.source().first(2), command::is_blocking));
    s.source()[0] = 3;
    s.source()[1] = 4;
    CHECK(s.poll());
    CHECK(s.word(0) == 1);
    CHECK(s.word(1) == 3);
    CHECK(s.word(2) == 4);
  }

  TEST_CASE("a put is complete when it has been taken, waited for or not") {
    for (std::uint8_t const flags : {std::uint8_t{0}, command::is_blocking}) {
      served_rings s(1'000);
      std::uint32_t const put = s.post(0, put_from(1, s.source().first(2), flags));
      CHECK(s.poll());
      CHECK(s.is_complete(0, put));
    }
  }
}
