// SPDX-License-Identifier: Apache-2.0
// Barriers and reductions of kernels that cannot be, or that differ between pes.
#include "comp_net_job.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;

namespace {

/// Bits of floating-point numbers.
struct reduce_bits {
  task<> operator()(any_wavefront auto& wf, global<double> own, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto sum = ctx.reduce(wf, shmem::reduction::bit_xor, own, own, 1);
    co_await std::move(sum);
  }
};

/// Six of `own` from its third one on, into others of them.
struct reduce_shifted {
  task<> operator()(any_wavefront auto& wf, std::size_t to, global<std::uint64_t> own,
                    device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto sum = ctx.reduce(wf, shmem::reduction::sum, own + to, own + 3, 6);
    co_await std::move(sum);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};
struct items_reduce_shifted {
  task<> operator()(any_work_item auto& wi, std::size_t to, global<std::uint64_t> own,
                    device& net) const {
    auto made = context::init(wi, net);
    context ctx = co_await std::move(made);
    co_await ctx.reduce(wi, shmem::reduction::sum, own + to, own + 3, 6);
    co_await ctx.destroy(wi);
  }
};

/// Each pe reduces as it is told to.
struct reduce_as_told {
  task<> operator()(any_wavefront auto& wf, shmem::reduction how, std::uint32_t count,
                    global<std::uint64_t> own, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto sum = ctx.reduce(wf, how, own, own, count);
    co_await std::move(sum);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Each pe meets the others once as it is told to, or first as the last pe does.
struct meet_as_told {
  task<> operator()(any_wavefront auto& wf, bool reduces, global<std::uint64_t> own,
                    device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    for (int i = 0; i < 3; ++i) { // what they agree on comes first
      auto met = ctx.barrier_all(wf);
      co_await std::move(met);
      auto sum = ctx.reduce(wf, shmem::reduction::sum, own, own, 9);
      co_await std::move(sum);
    }
    if (reduces) {
      auto sum = ctx.reduce(wf, shmem::reduction::sum, own, own, 1);
      co_await std::move(sum);
    }
    auto met = ctx.barrier_all(wf);
    co_await std::move(met);
    if (!reduces) {
      auto sum = ctx.reduce(wf, shmem::reduction::sum, own, own, 1);
      co_await std::move(sum);
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

} // namespace

TEST_SUITE("net.comp_net_collective_faults") {
  TEST_CASE("a reduction of memory that does not exist, where bounds are checked") {
    native_scheduler scheduler({.threads = 1});
    emu::agent gpu(scheduler, {.compute_units = 1}, {.checks_bounds = true});
    auto ends = make_in_process(1);
    auto net = comp_net::node::start(gpu.core(), std::move(ends[0]), {.rings = 1});
    REQUIRE(net.has_value());
    for (bool const is_far : {false, true}) {
      auto own = gpu.allocate<std::uint64_t>(4, "own");
      auto const nowhere = is_far ? own.global() + 1'000'000 : own.global() + 1;
      expect(gpu.run(one_wavefront_each(1), reduce_as_told{}, shmem::reduction::sum, 4U, nowhere,
                     std::ref(net->device())),
             fault::kind::out_of_bounds, "access of 32 bytes");
    }
    CHECK(net->finish());
  }
  TEST_CASE("bits of floating-point numbers are not reduced") {
    with_one_node([](test_node& n) {
      auto own = n.gpu.allocate<double>(1, "own");
      expect(
          n.gpu.run(one_wavefront_each(1), reduce_bits{}, own.global(), std::ref(n.net.device())),
          fault::kind::wrong_shape, "reduce: bit_and, bit_or and bit_xor are for integers only");
    });
  }
  TEST_CASE("what a reduction reads and writes may not overlap, unless it is the same") {
    auto const run = [](test_node& n, auto const& kernel, std::size_t to) {
      auto own = n.gpu.allocate<std::uint64_t>(16, "own");
      return n.gpu.run(one_wavefront_each(1), kernel, to, own.global(), std::ref(n.net.device()));
    };
    with_one_node([&](test_node& n) {
      for (std::size_t const to : {3U, 9U}) { // the same, next to it
        succeed(run(n, reduce_shifted{}, to));
        succeed(run(n, items_reduce_shifted{}, to));
      }
    });
    constexpr auto says = "reduce: dest and source overlap; allowed are the same place, or two";
    for (std::size_t const to : {0U, 2U, 4U, 8U})
      with_one_node([&](test_node& n) {
        expect(run(n, reduce_shifted{}, to), fault::kind::wrong_shape, says);
      });
    with_one_node([&](test_node& n) {
      expect(run(n, items_reduce_shifted{}, 4), fault::kind::wrong_shape, says);
    });
  }
  TEST_CASE("pes that reduce with another operation, or other numbers of elements, are told so") {
    struct asked {
      shmem::reduction how;
      std::uint32_t count;
    };
    asked const sum_of_4{shmem::reduction::sum, 4};
    for (asked const other : {asked{shmem::reduction::maximum, 4},
                              {shmem::reduction::sum, 8},
                              {shmem::reduction::sum, 4 + 32768}}) {
      job_shape s{.nodes = 2};
      for (auto const threads : {std::optional<std::size_t>(2), std::optional<std::size_t>()}) {
        s.threads = threads;
        run_losing(s, [&](test_node& n) {
          asked const mine = n.id == 0 ? sum_of_4 : other;
          auto own = n.gpu.allocate<std::uint64_t>(4 + 32768, "own");
          expect(n.gpu.run(one_wavefront_each(1), reduce_as_told{}, mine.how, mine.count,
                           own.global(), std::ref(n.net.device())),
                 fault::kind::wrong_shape, "in reduce with another operation, type or number");
          auto const after = n.net.shmem().barrier_all();
          REQUIRE(!after);
          CHECK(after.error().code == net_errc::mismatched_collective);
        });
      }
    }
  }
  TEST_CASE("pes one of which reduces while another is in a barrier are told so, all of them") {
    for (std::uint32_t const nodes : {2U, 3U, 4U})
      for (std::uint32_t const odd_one : {0U, 1U}) {
        job_shape s{.nodes = nodes};
        for (bool const reduces : {false, true})
          for (std::optional<std::uint64_t> const seed :
               {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(1),
                std::optional<std::uint64_t>(2)}) {
            s.threads = seed ? std::nullopt : std::optional<std::size_t>(1);
            s.seed = seed;
            CAPTURE(odd_one);
            CAPTURE(reduces);
            run_losing(s, [&](test_node& n) {
              auto own = n.gpu.allocate<std::uint64_t>(9, "own");
              expect(n.gpu.run(one_wavefront_each(1), meet_as_told{}, (n.id == odd_one) == reduces,
                               own.global(), std::ref(n.net.device())),
                     fault::kind::wrong_shape, "in reduce");
              CHECK(n.net.shmem().failure()->code == net_errc::mismatched_collective);
            });
          }
      }
  }
}
