// SPDX-License-Identifier: Apache-2.0
// Somebody else is inside the transport again and again, as threads of one pe are in each other's
// way: what is sent leaves once.
#include "forwarding_port.hpp"
#include "shmem_job.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>

using namespace shmem_test;
using quarry_test::forwarding_port;

namespace {

constexpr std::size_t words = 3; // no other message has a body of this size

/// Enters and leaves by itself, for times as long as a wait takes to go to sleep; notes what is
/// sent.
class crowded_port final : public forwarding_port {
public:
  explicit crowded_port(std::unique_ptr<transport_port> real) : forwarding_port(std::move(real)) {
    somebody_else_ = std::jthread([this](std::stop_token const& stop) {
      std::mt19937 random(7);
      auto const for_a_while = [&] {
        for (std::uint32_t left = random() % 20'000; left != 0 && !stop.stop_requested(); --left)
          __builtin_ia32_pause();
      };
      while (!stop.stop_requested()) {
        if (try_enter()) {
          for_a_while();
          leave();
        }
        for_a_while();
      }
    });
  }

  [[nodiscard]] result<bool> try_send(pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override {
    auto const sent = forwarding_port::try_send(target, head, body);
    if (sent && *sent && body.size() == words * sizeof(std::uint64_t)) {
      std::uint64_t number = 0;
      std::memcpy(&number, body.data(), sizeof number);
      std::lock_guard const lock(mutex_);
      twice_ += sent_.insert(number).second ? 0 : 1;
    }
    return sent;
  }

  struct counts {
    std::size_t different = 0;
    std::size_t twice = 0;
  };
  /// From any thread.
  [[nodiscard]] counts sent() {
    std::lock_guard const lock(mutex_);
    return {sent_.size(), twice_};
  }

private:
  std::mutex mutex_;
  std::set<std::uint64_t> sent_;
  std::size_t twice_ = 0;
  std::jthread somebody_else_; // last: it ends before the rest does
};

/// Who waits inside sleeps until something comes, or somebody interrupts.
class sleepy_port final : public forwarding_port {
public:
  using forwarding_port::forwarding_port;
  void wait(std::chrono::nanoseconds) override {
    is_asleep.store(true);
    forwarding_port::wait(60s);
    is_asleep.store(false);
  }

  std::atomic<bool> is_asleep{false};
};

} // namespace

TEST_SUITE("net.shmem_crowded") {
  TEST_CASE("a thread puts while another one of its pe sleeps inside the transport") {
    sleepy_port* sleepy = nullptr;
    auto const make = [&](std::uint32_t pes) {
      ends all = loopback_ends(pes);
      auto port = std::make_unique<sleepy_port>(std::move(all[0]));
      sleepy = port.get();
      all[0] = std::move(port);
      return all;
    };
    all_well(run_native(make, 2, small, [&](node& n) -> std::string {
      auto const w = n.malloc<std::uint64_t>(2);
      QUARRY_OK(w);
      std::ranges::fill(*w, 0);
      QUARRY_OK(n.barrier_all());
      if (n.self() == pe{1}) {
        QUARRY_OK(n.wait_until(w->data() + 1, comparison::equal, 1));
        QUARRY_OK(n.default_context().p(w->data(), 1, pe{0}));
      } else {
        std::string wrong;
        auto const sleeps = [&]() -> std::string {
          QUARRY_OK(n.wait_until(w->data(), comparison::equal, 1));
          return "";
        };
        std::jthread sleeper([&] { wrong = sleeps(); });
        while (!sleepy->is_asleep.load())
          std::this_thread::yield();
        auto const begun = std::chrono::steady_clock::now();
        QUARRY_OK(n.default_context().p(w->data() + 1, 1, pe{1}));
        // At half of the timeout whoever waits asks the others, which wakes everybody.
        QUARRY_EXPECT(std::chrono::steady_clock::now() - begun < *small.timeout / 4);
        sleeper.join();
        QUARRY_EXPECT(wrong.empty());
      }
      QUARRY_OK(n.barrier_all());
      QUARRY_OK(n.free(w->data()));
      return "";
    }));
  }

  TEST_CASE("a put that finds the transport taken leaves once, whenever it gets in") {
    constexpr std::uint64_t puts = 2000;
    crowded_port* crowded = nullptr;
    auto const make = [&](std::uint32_t pes) {
      ends all = in_process_ends(pes);
      auto port = std::make_unique<crowded_port>(std::move(all[0]));
      crowded = port.get();
      all[0] = std::move(port);
      return all;
    };
    node::options apart = small;
    apart.shares_memory = false;
    all_well(run_native(make, 2, apart, [&](node& n) -> std::string {
      auto const at = n.malloc<std::uint64_t>(words);
      QUARRY_OK(at);
      if (n.self() == pe{0}) {
        for (std::uint64_t i = 0; i < puts; ++i) {
          std::array<std::uint64_t, words> const value{i, i, i};
          QUARRY_OK(n.default_context().put(at->data(), value, pe{1}));
        }
        QUARRY_OK(n.default_context().quiet());
        auto const sent = crowded->sent();
        QUARRY_EXPECT(sent.different == puts);
        QUARRY_EXPECT(sent.twice == 0);
      }
      QUARRY_OK(n.barrier_all());
      QUARRY_EXPECT(n.self() == pe{0} || (*at)[0] == puts - 1);
      QUARRY_OK(n.free(at->data()));
      return "";
    }));
  }
}
