// SPDX-License-Identifier: Apache-2.0
// What the lanes of a wavefront get from each other, and whose lanes they cannot ask.
#include "agents.hpp"

#include <cstdint>
#include <type_traits>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

template<class Wavefront>
constexpr int size_of = std::remove_reference_t<Wavefront>::size;

/// The lanes of even number trade places with each other; what the others get is kept as well.
struct shuffle_even_lanes {
  void operator()(any_wavefront auto& wf, global<int> all, global<double> even) const {
    constexpr int size = size_of<decltype(wf)>;
    auto const lane = lanes<int, size>::iota();
    wf.store(all + wf.global_id(), wf.shuffle(lane * 10, -lane + (size - 1)));
    auto got = lanes<double, size>(-1.0);
    if (auto const active = wf.where((lane & 1) == 0))
      got = wf.shuffle(convert<double>(lane) * 0.5, -lane + (size - 2));
    wf.store(even + wf.global_id(), got);
  }
};

/// From the next lane, the last one from the first, by indices of every width.
struct shuffle_by_any_index {
  template<class I>
  static void rotate(any_wavefront auto& wf, global<int> out, int row) {
    constexpr int size = size_of<decltype(wf)>;
    auto const next = (lanes<I, size>::iota() + I{1}) & static_cast<I>(size - 1);
    wf.store(out + (wf.global_id() + row * size), wf.shuffle(lanes<int, size>::iota(), next));
  }
  void operator()(any_wavefront auto& wf, global<int> out) const {
    rotate<std::int8_t>(wf, out, 0);
    rotate<std::uint8_t>(wf, out, 1);
    rotate<std::int16_t>(wf, out, 2);
    rotate<std::uint32_t>(wf, out, 3);
    rotate<std::int64_t>(wf, out, 4);
  }
};

struct broadcast_among_some {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    auto const value = wf.global_id(0) * 3;
    wf.store(out, wf.broadcast(value, 0));
    if (auto const active = wf.where((value > 20) & (value < 70))) {
      wf.store(out + 1, wf.broadcast(value, wf.elect_leader()));
      wf.store(out + 2, wf.broadcast(value, 7));
    }
    auto const nobody = wf.where(value < 0);
    auto const none = wf.broadcast(value, 0); // under software predication nobody may be there
    wf.store(out + 3, none + wf.reduce(wf.shuffle(value, value), plus{}));
  }
};

/// Of 20 work-items those from number 4 on are active. Each lane gets from lane `from`, but the
/// inactive ones, of whom it does not matter, from nowhere.
/// Down, up and across, in a wavefront that is full, and in its upper half.
struct shuffle_by_distance {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    constexpr int size = size_of<decltype(wf)>;
    auto const lane = lanes<int, size>::iota();
    for (int half = 0; half < 2; ++half) {
      auto const active = wf.where(lane >= half * size / 2);
      auto const row = [&](int r) { return out + (3 * half + r) * size + wf.global_id(); };
      wf.store(row(0), wf.shuffle_down(lane, half == 0 ? 5 : 0));
      wf.store(row(1), half == 0 ? wf.shuffle_up(lane, 5) : lane);
      wf.store(row(2), wf.shuffle_xor(lane, 6));
    }
  }
};

struct get_from {
  int from;
  bool is_broadcast;
  void operator()(any_wavefront auto& wf, global<int> out) const {
    constexpr int size = size_of<decltype(wf)>;
    auto const lane = lanes<int, size>::iota();
    auto const active = wf.where(lane >= 4);
    if (is_broadcast)
      wf.store(out, wf.broadcast(lane, from));
    else
      wf.store(out + wf.global_id(),
               wf.shuffle(lane, select(lane >= 4, lanes<int, size>(from), lanes<int, size>(-1))));
  }
};

} // namespace

TEST_SUITE("emu.wavefront_collectives") {
  TEST_CASE("a shuffle gives each active lane what the lane it names has, and the others 0") {
    with_every_agent([](agent& gpu) {
      auto const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto all = gpu.allocate<int>(64, "all");
      auto even = gpu.allocate<double>(64, "even");
      succeed(gpu.run({.work_items = size, .work_items_per_group = size}, shuffle_even_lanes{},
                      all.global(), even.global()));
      for (int lane = 0; lane < size; ++lane) {
        CAPTURE(lane);
        auto const i = static_cast<std::size_t>(lane);
        CHECK(all.host()[i] == 10 * (size - 1 - lane));
        CHECK(even.host()[i] == (lane % 2 == 0 ? 0.5 * (size - 2 - lane) : 0.0));
      }
    });
  }

  TEST_CASE("a shuffle's sources may have any integer type") {
    with_every_agent([](agent& gpu) {
      auto const size = gpu.core().shape().wavefront_size;
      auto out = gpu.allocate<int>(std::size_t{5} * size, "out");
      succeed(gpu.run({.work_items = size, .work_items_per_group = size}, shuffle_by_any_index{},
                      out.global()));
      for (std::uint32_t i = 0; i < 5 * size; ++i)
        CHECK(out.host()[i] == static_cast<int>((i + 1) % size));
    });
  }

  TEST_CASE("a broadcast gives one active lane's value; where nobody asks, it is 0") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(4, "out");
      out.host()[3] = -1;
      succeed(gpu.run({.work_items = 32, .work_items_per_group = 32}, broadcast_among_some{},
                      out.global()));
      CHECK(out.host()[0] == 0);
      CHECK(out.host()[1] == 69);
      CHECK(out.host()[2] == 21);
      CHECK(out.host()[3] == 0);
    });
  }

  TEST_CASE("a lane gets another one's value by how far that is away, or its own at the end") {
    with_every_agent([](agent& gpu) {
      auto const size = static_cast<int>(gpu.core().shape().wavefront_size);
      auto out = gpu.allocate<int>(static_cast<std::size_t>(6 * size), "out");
      auto const items = static_cast<std::uint32_t>(size);
      succeed(gpu.run({.work_items = items, .work_items_per_group = items}, shuffle_by_distance{},
                      out.global()));
      for (int l = 0; l < size; ++l) {
        CAPTURE(l);
        auto const got = [&](int r) { return out.host()[static_cast<std::size_t>(r * size + l)]; };
        CHECK(got(0) == (l + 5 < size ? l + 5 : l));
        CHECK(got(1) == (l >= 5 ? l - 5 : l));
        CHECK(got(2) == (l ^ 6));
        CHECK(got(5) == (l >= size / 2 ? l ^ 6 : 0));
      }
    });
  }

  TEST_CASE("who asks a lane that is not active, or none, has a fault, as with work-items") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(64, "out");
      launch_config const partial{.work_items = 20, .work_items_per_group = 32};
      for (int const from : {-1, 0, 3, 20, 31, 32, 63, 64, 1'000'000'000}) {
        CAPTURE(from);
        CHECK_SAYS(fail_with(gpu.run(partial, get_from{from, false}, out.global()),
                             fault::kind::wrong_shape),
                   "a shuffle by lane 4 from lane " + std::to_string(from) +
                       ", which has not come to it");
        CHECK_SAYS(fail_with(gpu.run(partial, get_from{from, true}, out.global()),
                             fault::kind::wrong_shape),
                   "a broadcast from lane " + std::to_string(from) + ", which has not come to it");
      }
      for (int const from : {4, 19}) {
        succeed(gpu.run(partial, get_from{from, false}, out.global()));
        CHECK(out.host()[11] == from);
        succeed(gpu.run(partial, get_from{from, true}, out.global()));
        CHECK(out.host()[0] == from);
      }
    });
  }
}
