// SPDX-License-Identifier: Apache-2.0
// However much is asked of a pe, only so much is under way.
#include "forwarding_port.hpp"
#include "shmem_job.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace shmem_test;
using quarry_test::forwarding_port;

namespace {

constexpr std::size_t header_bytes = 64;

/// Has room for a piece of an answer now and then; notes for how many it has been asked that it has
/// not sent yet.
class asked_port final : public forwarding_port {
public:
  using forwarding_port::forwarding_port;

  [[nodiscard]] result<bool> try_send(pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override {
    if (body.size() == piece && ++attempts_ % 64 != 0)
      return false;
    auto const sent = forwarding_port::try_send(target, head, body);
    if (sent && *sent && body.size() == piece)
      --open_;
    return sent;
  }
  [[nodiscard]] result<std::size_t> poll(sink const& deliver) override {
    return forwarding_port::poll([&](pe from, std::span<std::byte const> bytes) {
      // A get is a header without a body, its length behind six words.
      std::uint64_t length = 0;
      if (bytes.size() == header_bytes)
        std::memcpy(&length, bytes.data() + 32, sizeof length);
      if (length == piece)
        most_ = std::max(most_.load(), ++open_);
      deliver(from, bytes);
    });
  }

  static constexpr std::size_t piece = 64 * 1024;
  [[nodiscard]] int most() const { return most_; }

private:
  int open_ = 0; // of whoever is inside
  unsigned attempts_ = 0;
  std::atomic<int> most_{0};
};

/// Sends nothing while it is shut.
class shut_port final : public forwarding_port {
public:
  using forwarding_port::forwarding_port;
  [[nodiscard]] result<bool> try_send(pe target, std::span<std::byte const> head,
                                      std::span<std::byte const> body) override {
    return is_shut.load() ? result<bool>(false) : forwarding_port::try_send(target, head, body);
  }
  [[nodiscard]] bool has_room(pe target) override {
    return !is_shut.load() && forwarding_port::has_room(target);
  }

  void wait(std::chrono::nanoseconds at_most) override {
    has_waited = true;
    forwarding_port::wait(at_most);
  }

  std::atomic<bool> is_shut{false};
  std::atomic<bool> has_waited{false};
};

/// Loopback, with a Port before pe `where`.
template<class Port>
maker with(Port*& port, std::size_t where) {
  return [&port, where](std::uint32_t pes) {
    ends all = loopback_ends(pes);
    auto mine = std::make_unique<Port>(std::move(all[where]));
    port = mine.get();
    all[where] = std::move(mine);
    return all;
  };
}

} // namespace

TEST_SUITE("net.shmem_room") {
  TEST_CASE("a large get asks for a part at a time") {
    constexpr std::size_t words = std::size_t{1} << 20; // 8 MiB
    node::options large = small;
    large.heap_bytes = 2 * words * sizeof(std::uint64_t);
    asked_port* asked = nullptr;
    all_well(run_native(with(asked, 1), 2, large, [&](node& n) -> std::string {
      auto const at = n.malloc<std::uint64_t>(words);
      QUARRY_OK(at);
      std::iota(at->begin(), at->end(), std::uint64_t{n.self().id} << 32);
      QUARRY_OK(n.barrier_all());
      if (n.self() == pe{0}) {
        std::vector<std::uint64_t> all(words), again(words);
        QUARRY_OK(n.default_context().get(std::span(all), at->data(), pe{1}));
        QUARRY_OK(n.default_context().get_nbi(std::span(again), at->data(), pe{1}));
        QUARRY_OK(n.default_context().quiet());
        std::vector<std::uint64_t> expected(words);
        std::iota(expected.begin(), expected.end(), std::uint64_t{1} << 32);
        QUARRY_EXPECT(all == expected);
        QUARRY_EXPECT(again == expected);
      }
      QUARRY_OK(n.barrier_all());
      QUARRY_EXPECT(n.self() == pe{0} || (asked->most() > 1 && asked->most() <= 16));
      QUARRY_OK(n.free(at->data()));
      return "";
    }));
  }

  TEST_CASE("atomics that fetch nothing wait for room, or are refused") {
    constexpr std::uint64_t enough = 100'000; // of 64 bytes and more
    shut_port* port = nullptr;
    all_well(run_native(with(port, 0), 2, small, [&](node& n) -> std::string {
      auto const at = n.malloc<std::uint64_t>(2);
      QUARRY_OK(at);
      auto const sum = at->data(), wanted = sum + 1;
      *sum = 0;
      QUARRY_OK(n.barrier_all());
      if (n.self() == pe{0}) {
        auto& c = n.default_context();
        port->is_shut = true;
        std::uint64_t sent = 0;
        auto const add = [&] {
          return c.atomic_nbi(shmem::atomic_op::add, {0}, 1, 0, nullptr, pe{1});
        };
        auto last = add();
        for (; last && sent < enough; ++sent)
          last = add();
        QUARRY_EXPECT(!last);
        QUARRY_EXPECT(last.error().code == std::errc::resource_unavailable_try_again);
        port->has_waited = false;
        std::jthread opener([&] {
          while (!port->has_waited)
            std::this_thread::yield();
          port->is_shut = false;
        });
        QUARRY_OK(c.atomic_add(sum, 1, pe{1}));
        QUARRY_EXPECT(!port->is_shut);
        QUARRY_OK(c.p(wanted, sent + 1, pe{1}));
        QUARRY_OK(c.quiet());
      }
      QUARRY_OK(n.barrier_all());
      QUARRY_EXPECT(n.self() == pe{0} || *sum == *wanted);
      QUARRY_OK(n.free(at->data()));
      return "";
    }));
  }
}
