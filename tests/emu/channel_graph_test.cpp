// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"
#include "channel_numbers.hpp"
#include "test_agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <cstdint>
#include <fibonacci/flow_graph.hpp>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;
using fibonacci::naive_kernel;
using fibonacci::term;

namespace {

constexpr machine shape{.compute_units = 2, .wavefront_size = 64};

struct adds_hint {
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, global<std::uint32_t> sum) const {
    auto const lanes = static_cast<std::uint32_t>(wf.active().count());
    wf.fetch_add(sum, lanes * src.hint(), order::relaxed, scope::agent);
    co_return;
  }
};
/// Numbers go to one of two channels; there they are added up.
struct sort_out {
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, channel<number>& even, channel<number>& odd) const {
    auto const value = src.load(&number::value);
    for (std::uint64_t const is_odd : {0U, 1U}) {
      channel<number>& to = is_odd != 0 ? odd : even;
      auto const some = wf.where((value & std::uint64_t{1}) == is_odd);
      auto const fill = [&](wave_elements<W::size> const& e) {
        wf.store(to.at(e, 0, &number::value), value);
      };
      task<> sent = to.send(wf, typename W::template lanes<std::uint32_t>(1), fill);
      co_await std::move(sent);
    }
  }
};
/// Two for each, which it keeps meanwhile.
struct send_two {
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, channel<number>& to) const {
    auto const value = src.load(&number::value);
    auto const inner = wf.where(value > std::uint64_t{0});
    auto const fill = [&](wave_elements<W::size> const& two) {
      for (std::uint32_t i = 0; i < 2; ++i)
        wf.store(to.at(two, i, &number::value), value - std::uint64_t{1});
    };
    task<> sent = to.send(wf, typename W::template lanes<std::uint32_t>(2), fill);
    co_await std::move(sent);
  }
};
/// Allocates two for each, and enqueues but one of them.
struct lose_one {
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, channel<number>& to) const {
    auto const value = src.load(&number::value);
    auto const inner = wf.where(value > std::uint64_t{0});
    auto allocated = to.talloc(wf, typename W::template lanes<std::uint32_t>(2));
    wave_elements<W::size> mine = co_await std::move(allocated);
    wf.store(to.at(mine, 0, &number::value), value - std::uint64_t{1});
    mine.count = typename W::template lanes<std::uint32_t>(1);
    task<> sent = to.enq(wf, mine);
    co_await std::move(sent);
  }
};
/// Throws when it is copied, once it is told to.
struct throwing_argument {
  explicit throwing_argument(bool const& is_told) : throws(&is_told) {}
  throwing_argument(throwing_argument const& other) : throws(other.throws) {
    if (*throws)
      throw std::runtime_error("no copy");
  }
  bool const* throws;
};
struct takes_argument {
  template<any_wavefront W>
  task<> operator()(W&, auto&, throwing_argument const&) const {
    co_return;
  }
};
struct stop {
  template<any_wavefront W>
  task<> operator()(W&, auto&) const {
    throw std::runtime_error("no more");
    co_return;
  }
};

/// A kernel that consumes a channel of so many numbers, and sends to it; one number is put.
template<class Kernel>
outcome run_numbers(executor& s, Kernel kernel, std::uint32_t width, std::uint64_t first) {
  wide_agent gpu(s, shape);
  channel_graph g(gpu);
  auto& numbers = g.template add_channel<number>(
      {.width = width, .elements_per_done_count = 1, .name = "numbers"});
  g.connect(numbers, kernel, std::ref(numbers));
  g.put(numbers, {first});
  g.execute();
  return g.wait_for_done();
}
/// What is found there, though nobody looks.
template<class Kernel>
void check_found(Kernel kernel, std::uint32_t width, std::uint64_t first, char const* kind,
                 char const* what) {
  verdict const v =
      explore({.executions = 20, .diagnoses = false, .keeps_failures = false}, [&](world& w) {
        static_cast<void>(run_numbers(w.scheduler(), kernel, width, first));
      });
  REQUIRE_MESSAGE(v.failure, v.to_string());
  CHECK(v.failure->kind == kind);
  CHECK_SAYS(v.failure->report, what);
}

} // namespace

TEST_SUITE("emu.channel_graph") {
  TEST_CASE("the naive Fibonacci of Figure 4-5") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, shape);
      auto result = gpu.allocate<std::uint32_t>(1);
      channel_graph g(gpu);
      auto& numbers = g.add_channel<term>({.width = 4096, .name = "numbers"});
      g.connect(numbers, naive_kernel{}, std::ref(numbers), result.global());
      g.put(numbers, {16});
      g.execute();
      REQUIRE(g.wait_for_done());
      CHECK(result.host()[0] == 987);
      CHECK(g.totals().elements == 2 * 987 - 1); // a leaf each, and a node for all but one
      CHECK(g.totals().wavefronts >= g.totals().elements / 64);
      // Again, on the same graph.
      g.put(numbers, {10});
      g.execute();
      REQUIRE(g.wait_for_done());
      CHECK(result.host()[0] == 987 + 55);
    });
  }

  TEST_CASE("several channels and kernels") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, shape);
      auto sums = gpu.allocate<std::uint64_t>(2);
      channel_graph g(gpu);
      auto& in = g.add_channel<number>({.width = 1024, .name = "in"});
      auto& even = g.add_channel<number>({.width = 256, .name = "even"});
      auto& odd =
          g.add_channel<number>({.width = 64, .elements_per_done_count = 16, .name = "odd"});
      g.connect(in, sort_out{}, std::ref(even), std::ref(odd));
      g.connect(even, add_up{}, sums.global());
      g.connect(odd, add_up{}, sums.global() + 1);
      for (std::uint64_t i = 0; i < 1000; ++i)
        g.put(in, {i});
      g.execute();
      REQUIRE(g.wait_for_done());
      CHECK(sums.host()[0] == 249'500);
      CHECK(sums.host()[1] == 250'000);
      CHECK(g.totals().elements == 2000);
    });
  }

  TEST_CASE("a kernel's fault ends the graph; what is wrong with a graph is said before it runs") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    channel_graph g(gpu);
    auto& in = g.add_channel<number>({.width = 64, .name = "in"});
    CHECK_THROWS_WITH(g.execute(), "channel_graph: nobody consumes in");
    CHECK_THROWS_WITH(static_cast<void>(g.wait_for_done()),
                      "channel_graph: wait_for_done() before execute()");
    g.connect(in, stop{});
    CHECK_THROWS_WITH(g.connect(in, stop{}), "channel_graph: in has a consumer already");
    channel_graph other(gpu);
    CHECK_THROWS_WITH(other.connect(in, stop{}), "channel_graph: in is no channel of this graph");
    auto& others = other.add_channel<number>({.width = 64, .name = "others"});
    CHECK_THROWS_WITH(other.connect(others, send_two{}, std::ref(in)),
                      "channel_graph: in is no channel of this graph");
    CHECK(other.drawing().kernels.empty());
    for (std::uint64_t i = 0; i < 64; ++i)
      g.put(in, {i});
    CHECK_THROWS_WITH(g.put(in, {64}), "channel_graph: in is full");
    CHECK_THROWS_WITH(other.put(in, {64}), "channel_graph: in is no channel of this graph");
    g.execute();
    CHECK_THROWS_WITH(g.put(in, {64}), "channel_graph: it runs; put into in before execute()");
    outcome const end = g.wait_for_done();
    REQUIRE(!end);
    CHECK(end.get_fault()->what == fault::kind::exception);
    CHECK(end.get_fault()->report.find("no more") != std::string::npos);
    CHECK_THROWS_AS(g.add_channel<number>({.width = 64}), std::invalid_argument);
  }

  TEST_CASE(
      "a scheduler of one's own says how many elements are dispatched, and may tell the kernel") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, shape);
      auto hints = gpu.allocate<std::uint32_t>(1, "hints");
      channel_graph g(gpu, [](auto channels, bool is_idle) -> std::optional<channel_choice> {
        if (!is_idle || channels[0].ready == 0)
          return std::nullopt;
        return channel_choice(0, 10, 7);
      });
      auto& in = g.add_channel<number>({.width = 64, .name = "in"});
      g.connect(in, adds_hint{}, hints.global());
      for (std::uint64_t i = 0; i < 25; ++i)
        g.put(in, {i});
      g.execute();
      g.wait_for_done().or_throw();
      CHECK(g.totals().dispatches == 3);
      CHECK(g.totals().elements == 25);
      CHECK(hints.host()[0] == 25 * 7);
    });
  }

  TEST_CASE("a scheduler that picks a channel which is not there is the graph's fault") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, shape);
      channel_graph g(gpu, [](auto, bool) { return channel_choice(1, 1, 0); });
      auto& in = g.add_channel<number>({.width = 64, .name = "in"});
      g.connect(in, stop{});
      g.put(in, {0});
      g.execute();
      outcome const end = g.wait_for_done();
      REQUIRE(!end);
      CHECK(end.get_fault()->report.find("picks channel 1; there are 1") != std::string::npos);
    });
  }

  TEST_CASE("what the user's part of a dispatch throws is the graph's fault") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, shape);
      bool throws = false;
      channel_graph copies(gpu);
      auto& in = copies.add_channel<number>({.width = 64, .name = "in"});
      copies.connect(in, takes_argument{}, throwing_argument(throws));
      copies.put(in, {1});
      throws = true;
      copies.execute();
      CHECK_SAYS(fail_with(copies.wait_for_done(), fault::kind::exception), "no copy");

      channel_graph chooses(gpu, [](auto, bool) -> std::optional<channel_choice> {
        throw std::runtime_error("no choice");
      });
      auto& other = chooses.add_channel<number>({.width = 64, .name = "in"});
      auto sum = gpu.allocate<std::uint64_t>(1);
      chooses.connect(other, add_up{}, sum.global());
      chooses.put(other, {1});
      chooses.execute();
      CHECK_SAYS(fail_with(chooses.wait_for_done(), fault::kind::exception), "no choice");

      channel_graph watched(gpu);
      auto& third = watched.add_channel<number>({.width = 64, .name = "in"});
      watched.connect(third, add_up{}, sum.global());
      watched.watch([](flow_counts const&) { throw std::runtime_error("no look"); });
      watched.put(third, {1});
      watched.execute();
      CHECK_SAYS(fail_with(watched.wait_for_done(), fault::kind::exception), "no look");
    });
  }

  TEST_CASE("a cycle that is too narrow is a reported deadlock, which names the channel") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    auto result = gpu.allocate<std::uint32_t>(1);
    channel_graph g(gpu);
    auto& numbers =
        g.add_channel<term>({.width = 4, .elements_per_done_count = 1, .name = "numbers"});
    g.connect(numbers, naive_kernel{}, std::ref(numbers), result.global());
    g.put(numbers, {20});
    g.execute();
    outcome const end = g.wait_for_done();
    REQUIRE(!end);
    std::string const& report = end.get_fault()->report;
    CAPTURE(report);
    CHECK(report.find("wavefront 0 of group 0    wait_until") != std::string::npos);
    auto const at = report.find("channel numbers: 4 of 4 elements in use, ");
    REQUIRE(at != std::string::npos);
    CHECK(report.find("producers wait for room\n", at) != std::string::npos);
    CHECK(report.find("channel_options::full", at) != std::string::npos);
  }

  TEST_CASE("so it is a failure of an exploration, though nobody looks at what the wait returns") {
    check_found(send_two{}, 2, 3, "deadlock",
                "channel numbers: 1 of 2 elements in use, 1 producer waits");
  }

  TEST_CASE("elements that are allocated and never enqueued are misuse, whoever looks") {
    with_schedulers([](executor& s) {
      outcome const end = run_numbers(s, lose_one{}, 64, 2);
      REQUIRE(!end);
      CHECK(end.get_fault()->what == fault::kind::misuse);
      CHECK_SAYS(end.get_fault()->report, "channel graph: 2 elements of numbers were allocated and "
                                          "never enqueued");
    });
    check_found(lose_one{}, 64, 1, "misuse",
                "1 element of numbers was allocated and never enqueued");
  }

  TEST_CASE("a cycle that is too narrow for one generation ends well if wavefronts yield") {
    with_schedulers([](executor& s) {
      for (std::uint32_t const slots : {1U, 3U}) { // fewer than wavefronts that wait
        wide_agent gpu(s, {.compute_units = 2, .wavefront_slots = slots, .wavefront_size = 64});
        auto result = gpu.allocate<std::uint32_t>(1);
        channel_graph g(gpu);
        auto& numbers = g.add_channel<term>({.width = 4,
                                             .elements_per_done_count = 1,
                                             .full = when_full::yield,
                                             .name = "numbers"});
        g.connect(numbers, naive_kernel{}, std::ref(numbers), result.global());
        g.put(numbers, {14});
        g.execute();
        REQUIRE(g.wait_for_done());
        CHECK(result.host()[0] == 377);
        flow_counts const done = g.totals();
        CHECK(done.elements == 2 * 377 - 1);
        CHECK(done.yields > 10);
        CHECK(done.yielded_bytes >= done.yields * sizeof(wave_slot));
        if (s.decides()) {
          CHECK(done.channels.most <= 4);
          CHECK(done.most_parked > slots * 2);
        }
      }
    });
  }

  TEST_CASE("who yields and keeps its elements may be stuck as well: the report says so") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    channel_graph g(gpu);
    auto& numbers = g.add_channel<number>(
        {.width = 4, .elements_per_done_count = 1, .full = when_full::yield, .name = "numbers"});
    g.connect(numbers, send_two{}, std::ref(numbers));
    g.put(numbers, {6});
    g.execute();
    outcome const end = g.wait_for_done();
    REQUIRE(!end);
    std::string const& report = end.get_fault()->report;
    CAPTURE(report);
    auto const at = report.find("channel numbers: ");
    REQUIRE(at != std::string::npos);
    CHECK(report.find(" yielded)\n", at) != std::string::npos);
    CHECK(report.find("before they send (tfree())", at) != std::string::npos);
  }

  TEST_CASE("a fault ends the graph also where wavefronts have yielded") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, shape);
      channel_graph g(gpu);
      auto& in = g.add_channel<number>({.width = 1024, .name = "in"});
      auto& out = g.add_channel<number>({.width = 64, .full = when_full::yield, .name = "out"});
      g.connect(in, sort_out{}, std::ref(out), std::ref(out));
      g.connect(out, stop{});
      for (std::uint64_t i = 0; i < 1000; ++i)
        g.put(in, {i});
      g.execute();
      outcome const end = g.wait_for_done();
      REQUIRE(!end);
      CHECK(end.get_fault()->report.find("no more") != std::string::npos);
    });
  }

  TEST_CASE("a graph can be drawn, and tells how far it is") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    auto sums = gpu.allocate<std::uint64_t>(2);
    channel_graph g(gpu);
    auto& in = g.add_channel<number>({.width = 128, .name = "in"});
    auto& even = g.add_channel<number>({.width = 64, .name = "the \"even\""});
    auto& odd = g.add_channel<number>({.width = 64, .name = "odd"});
    g.connect(in, sort_out{}, std::ref(even), std::ref(odd));
    g.connect(even, add_up{}, sums.global());
    g.connect(odd, add_up{}, sums.global() + 1);
    CHECK(g.drawing().to_dot() == R"(digraph {
  rankdir = LR;
  channel0 [shape = box, label = "in, 128"];
  channel1 [shape = box, label = "the \"even\", 64"];
  channel2 [shape = box, label = "odd, 64"];
  kernel0 [shape = ellipse, label = "sort_out"];
  channel0 -> kernel0;
  kernel0 -> channel1;
  kernel0 -> channel2;
  kernel1 [shape = ellipse, label = "add_up"];
  channel1 -> kernel1;
  kernel2 [shape = ellipse, label = "add_up"];
  channel2 -> kernel2;
}
)");
    std::uint64_t told = 0;
    g.watch([&](flow_counts const& c) { told = c.elements; });
    for (std::uint64_t i = 0; i < 100; ++i)
      g.put(in, {i});
    g.execute();
    REQUIRE(g.wait_for_done());
    CHECK(told == 200);
  }
}
