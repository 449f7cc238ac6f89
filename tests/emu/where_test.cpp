// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"

#include <cstdint>
#include <type_traits>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Runs a kernel over 256 work-items, 250 of them in the last and only group's items.
template<class Kernel, class Expected>
void each_item_gets(Kernel kernel, Expected expected, unsigned items = 250) {
  with_every_agent([&](agent& gpu) {
    auto out = gpu.allocate<int>(256, "out");
    succeed(gpu.run({.work_items = items}, kernel, out.global()));
    for (int i = 0; i < 256; ++i) {
      CAPTURE(i);
      REQUIRE(out.host()[static_cast<unsigned>(i)] ==
              (i < static_cast<int>(items) ? expected(i) : 0));
    }
  });
}

struct if_else {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const i = wf.global_id();
    auto const is_odd = (wf.local_id(0) & 1) == 1;
    if (auto active = wf.where(is_odd)) {
      wf.store(out + i, -1);
      if (auto inner = wf.where(wf.local_id(0) > 100))
        wf.store(out + i, -2);
    }
    if (auto active = wf.where(!is_odd))
      wf.store(out + i, 1);
    co_return;
  }
};

struct skipped_block {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    wf.store(out + wf.global_id(), 5);
    if (auto active = wf.where(wf.local_id(0) < 0))
      wf.fetch_add(out, 1000, order::relaxed, scope::agent); // a scalar: not masked by lanes
    co_return;
  }
};

/// Collatz steps: each lane leaves the loop at its own time.
struct steps_in_loop {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto n = wf.variable(wf.local_id(0) + 1);
    auto steps = wf.variable(wf.local_id(0) * 0);
    for (auto loop = wf.loop(); loop.keep(n.get() != 1);) {
      auto const is_odd = (n.get() & 1) == 1;
      auto const next = n.get() * 3 + 1;
      auto const half = n.get() / 2;
      n = select(is_odd, next, half);
      steps += wf.local_id(0) * 0 + 1;
    }
    wf.store(out + wf.global_id(), steps.get());
    co_return;
  }
};

int collatz(int n) {
  int steps = 0;
  for (++n; n != 1; ++steps)
    n = n % 2 == 1 ? 3 * n + 1 : n / 2;
  return steps;
}

/// Variables in an expression, beside values and other variables.
struct computes_with_variables {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    auto n = wf.variable(wf.local_id(0) + 0);
    auto const two = wf.variable(wf.local_id(0) * 0 + 2);
    if (auto active = wf.where(wf.local_id(0) % 2 == 1)) {
      n *= n + two;
      n -= two * two;
    }
    if (auto active = wf.where(n % 3 == two))
      n = 1 + n / two;
    if (auto active = wf.where(n < 0))
      n = -n;
    wf.store(out + wf.global_id(), two - n);
  }
};

/// Each of them changes the active lanes only; a lane that is not may divide by zero.
struct assigns_with_every_operator {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    auto const mine = wf.local_id(0) + 0;
    auto n = wf.variable(mine);
    if (auto const active = wf.where(mine > 6)) {
      n <<= 4;
      n |= mine % 16;
      n ^= 5;
      n += 100;
      n %= mine;
      n -= 7;
      n *= 3;
      n &= 0xff;
      n /= mine - 6;
      n = ~n;
      n >>= 1;
    }
    wf.store(out + wf.global_id(), n.get());
  }
};
int assigned_with_every_operator(int i) {
  if (i <= 6)
    return i;
  int const n = (((((((i << 4) | (i % 16)) ^ 5) + 100) % i) - 7) * 3 & 0xff) / (i - 6);
  return ~n >> 1;
}

/// Beside numbers that are none of its values, and assigned from each other.
struct compares_variables {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    auto const n = wf.variable(wf.local_id(0) - 5);
    auto const many = wf.variable(lanes_of(wf));
    auto seen = wf.variable(wf.local_id(0) * 0);
    constexpr std::int64_t far = std::int64_t{1} << 32;
    int bit = 1;
    // clang-format off
    for (auto const& is_so : {n < far, n <= far, n > -far, n >= -far, n != far, far > n, far >= n,
                              -far < n, -far <= n, far != n, n == far + 5, far + 5 == n,
                              n < 3'000'000'000U, n >= 0U}) {
      // clang-format on
      if (auto const active = wf.where(is_so))
        seen += bit;
      bit *= 2;
    }
    if (auto const active = wf.where(many < -1))
      seen += bit;
    auto last = wf.variable(wf.local_id(0) * 0);
    if (auto const active = wf.where(n > 0))
      last = seen;
    wf.store(out + wf.global_id(), last.get());
  }

private:
  static auto lanes_of(any_wavefront auto& wf) {
    using w = std::remove_reference_t<decltype(wf)>;
    return emu::lanes<std::uint32_t, w::size>::iota(7);
  }
};

/// Lane i runs min(i % 7, 4) rounds and adds what comes after its break only while it is in.
struct leaves_from_where {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const mine = wf.local_id(0) % 7;
    auto rounds = wf.variable(mine * 0);
    int r = 0;
    for (auto loop = wf.loop(); loop.keep(rounds.get() < 4); ++r) {
      if (auto done = wf.where(mine == r))
        loop.leave(mine == r);
      rounds += mine * 0 + 1; // a lane that has left does not come back after the block
      co_await wf.barrier();
    }
    wf.store(out + wf.global_id(), rounds.get());
  }
};

/// An inner loop's end brings back its own leavers, not those of the loop around it.
struct nested_loops {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const mine = wf.local_id(0) % 5;
    auto total = wf.variable(mine * 0);
    int i = 0;
    for (auto outer = wf.loop(); outer.keep(wf.active()) && i < 4; ++i) {
      int k = 0;
      for (auto inner = wf.loop(); inner.keep(wf.active()) && k < 3; ++k) {
        outer.leave(mine == i);     // out of both
        inner.leave(mine + k == 4); // out of the inner one
        total += mine * 0 + 1;
      }
      total += mine * 0 + 100;
    }
    wf.store(out + wf.global_id(), total.get());
    co_return;
  }
};

int nested(int lane) {
  int const mine = lane % 5;
  int total = 0;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 3; ++k) {
      if (mine == i)
        return total;
      if (mine + k == 4)
        break;
      ++total;
    }
    total += 100;
  }
  return total;
}

/// The mask is the wavefront's own: other wavefronts run in between with theirs.
struct mask_across_suspensions {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const w = static_cast<int>(wf.index_in_group());
    auto kept = wf.variable(wf.local_id(0) * 0);
    if (auto active = wf.where(wf.local_id(0) % 4 == w % 4)) {
      for (int round = 0; round < 3; ++round) {
        co_await wf.barrier_of(reconverging);
        kept += wf.local_id(0) * 0 + 1;
      }
      wf.store(out + wf.global_id(), kept.get());
    }
    co_await wf.barrier();
    kept += wf.local_id(0) * 0 + 10;
    wf.store(out + wf.global_id(), kept.get());
  }
};

} // namespace

TEST_SUITE("emu.where") {
  TEST_CASE("stores under a mask, and under a mask within it, reach the active lanes alone") {
    each_item_gets(if_else{}, [](int i) { return i % 2 == 0 ? 1 : i > 100 ? -2 : -1; });
  }
  TEST_CASE("a block without an active lane is skipped") {
    each_item_gets(skipped_block{}, [](int) { return 5; });
  }
  TEST_CASE("lanes leave a loop one by one, and a register keeps what a lane had when it left") {
    each_item_gets(steps_in_loop{}, collatz);
  }
  TEST_CASE("a register stands in an expression as values do") {
    each_item_gets(computes_with_variables{}, [](int i) {
      int n = i % 2 == 1 ? i * (i + 2) - 4 : i;
      n = n % 3 == 2 ? 1 + n / 2 : n;
      return n < 0 ? 2 + n : 2 - n;
    });
  }
  TEST_CASE("a register is assigned to with every operator") {
    each_item_gets(assigns_with_every_operator{}, assigned_with_every_operator);
  }
  TEST_CASE("a register is compared with what lies beyond its type as with any number") {
    each_item_gets(compares_variables{}, [](int i) { return i > 5 ? 0x33ff : 0; });
  }
  TEST_CASE("a lane that leaves a loop inside a where() stays out when the block ends") {
    each_item_gets(leaves_from_where{}, [](int i) { return std::min(i % 7, 4); });
    each_item_gets(leaves_from_where{}, [](int i) { return std::min(i % 7, 4); }, 33);
  }
  TEST_CASE("a lane that leaves an outer loop from an inner one stays out of both") {
    each_item_gets(nested_loops{}, nested);
  }
  TEST_CASE("a mask survives suspensions during which other wavefronts have theirs") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto out = gpu.allocate<int>(256, "out");
      succeed(gpu.run({.work_items = 250}, mask_across_suspensions{}, out.global()));
      for (int i = 0; i < 250; ++i) {
        CAPTURE(i);
        REQUIRE(out.host()[static_cast<unsigned>(i)] == (i % 4 == i / size % 4 ? 13 : 10));
      }
    });
  }
}
