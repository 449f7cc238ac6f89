// SPDX-License-Identifier: Apache-2.0
// How a work-group does something together, whatever it is: here a call that writes down who led.
// Contexts of other work-groups, and what else kernels do wrong, are in the suite comp_net_faults.
#include "agents.hpp"
#include "test_agents.hpp"
#include "unserved_device.hpp"

#include <quarry/net/comp_net/context_handle.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <utility>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using namespace quarry::net::comp_net;
using namespace quarry_test;
using comp_net_test::unserved_device;

namespace {

constexpr std::uint32_t group_size = 160; // three wavefronts of 64, five of 32

/// What a launch's work-groups have done; some of them run at the same time.
struct diary {
  std::atomic<std::uint32_t> came{0};  ///< work-items that have begun the call
  std::atomic<std::uint32_t> led{0};   ///< calls
  std::atomic<std::uint32_t> early{0}; ///< calls that were led before all had come
  std::atomic<std::uint32_t> late{0};  ///< work-items that went on before it had been led
  std::atomic<std::uint32_t> wrong{0}; ///< those that got another value
};

/// Counts in the context's words, and gives how often this has been done there.
struct counting_call {
  using value_type = std::uint64_t;
  static constexpr char const* what = "counting";
  diary* notes;
  std::uint64_t by; ///< the first work-item's is what counts

  template<class W>
  task<value_type> lead(W& wf, leader<W>& me, device&, std::source_location) const {
    notes->early += notes->came < group_size * (me.words().reductions + 1) ? 1U : 0U;
    notes->wrong += wf.index_in_group() == 0 && by == 1000 ? 0U : 1U;
    ++notes->led;
    co_return ++me.words().reductions;
  }
};

constexpr std::uint32_t calls = 3;

/// Its LDS: the words of a context, made by hand.
template<class A>
context_handle made_by_hand(A& self, device& net) {
  emu::work_group& group = context_handle::group_of(self);
  return {net, self.template lds<context_words, 1>().get(), group};
}

struct call_by_wave {
  task<> operator()(any_wavefront auto& wf, device& net, diary& notes, std::uint32_t open) const {
    context_handle const on = made_by_hand(wf, net);
    if (wf.index_in_group() == 0) {
      context_words fresh;
      fresh.is_open = open;
      wf.store(on.words(), fresh);
    }
    for (std::uint64_t i = 1; i <= calls; ++i) {
      notes.came += static_cast<std::uint32_t>(wf.active().count());
      task<std::uint64_t> done = on.start(wf, counting_call{&notes, 1000 + wf.index_in_group()},
                                          std::source_location::current());
      std::uint64_t const got = co_await std::move(done);
      notes.late += notes.led < i ? 1U : 0U;
      notes.wrong += got == i ? 0U : 1U;
    }
  }
};
struct call_by_item {
  task<> operator()(any_work_item auto& wi, device& net, diary& notes, std::uint32_t open) const {
    context_handle const on = made_by_hand(wi, net);
    if (wi.local_linear_id() == 0) {
      context_words fresh;
      fresh.is_open = open;
      wi.store(on.words(), fresh);
    }
    for (std::uint64_t i = 1; i <= calls; ++i) {
      ++notes.came;
      std::uint64_t const got = co_await on.start(
          wi, counting_call{&notes, 1000 + wi.local_linear_id()}, std::source_location::current());
      notes.late += notes.led < i ? 1U : 0U;
      notes.wrong += got == i ? 0U : 1U;
    }
  }
};

/// A handle that no context is behind.
struct call_on_nothing {
  task<> operator()(any_wavefront auto& wf, diary& notes) const {
    context_handle const none;
    task<std::uint64_t> done =
        none.start(wf, counting_call{&notes, 0}, std::source_location::current());
    static_cast<void>(co_await std::move(done));
  }
};
launch_config one_group() {
  return {.work_groups = 1, .work_items_per_group = group_size, .lds_bytes = sizeof(context_words)};
}

void with_unchecked_agents(auto const& test) {
  for (std::uint32_t const size : {32U, 64U}) {
    CAPTURE(size);
    with_schedulers(
        [&](executor& s) {
          unchecked_agent gpu(s, {.compute_units = 2, .wavefront_size = size});
          unserved_device d(gpu.core());
          test(gpu, d.net);
        },
        2, 5);
  }
}

std::string stopped(auto const& f) {
  try {
    f();
  } catch (kernel_stop const& stop) {
    CHECK(stop.what == fault::kind::wrong_shape);
    return stop.message;
  }
  return "it goes on";
}

} // namespace

TEST_SUITE("net.comp_net_context_handle") {
  TEST_CASE_TEMPLATE("one leads, when all have come, before any goes on, and all get what it got",
                     Kernel, call_by_wave, call_by_item) {
    with_unchecked_agents([](unchecked_agent& gpu, device& net) {
      diary notes;
      succeed(gpu.run(one_group(), Kernel{}, std::ref(net), std::ref(notes), 1U));
      CHECK(notes.led == calls);
      CHECK(notes.came == calls * group_size);
      CHECK(notes.early == 0);
      CHECK(notes.late == 0);
      CHECK(notes.wrong == 0);
    });
  }

  TEST_CASE_TEMPLATE("a context that is not open any more is one that has been destroyed", Kernel,
                     call_by_wave, call_by_item) {
    with_unchecked_agents([](unchecked_agent& gpu, device& net) {
      diary notes;
      CHECK_SAYS(fail_with(gpu.run(one_group(), Kernel{}, std::ref(net), std::ref(notes), 0U),
                           fault::kind::wrong_shape),
                 "counting on a context that has been destroyed");
      CHECK(notes.led == 0);
    });
  }
  TEST_CASE("one that init() has not made leads nowhere") {
    with_unchecked_agents([](unchecked_agent& gpu, device&) {
      diary notes;
      CHECK_SAYS(fail_with(gpu.run(one_group(), call_on_nothing{}, std::ref(notes)),
                           fault::kind::wrong_shape),
                 "counting on a context that init() has not made");
      CHECK(notes.led == 0);
    });
    context_handle const none;
    CHECK(stopped([&] { none.check_made("put", std::source_location::current()); }) ==
          "put on a context that init() has not made");
  }

  TEST_CASE("what cannot be reduced, or done to a signal, is told apart") {
    auto const where = std::source_location::current();
    auto const of = [&](shmem::reduction how) {
      return stopped([&] { context_handle::stop_not_for_these(how, where); });
    };
    CHECK(of(shmem::reduction::bit_or) ==
          "reduce: bit_and, bit_or and bit_xor are for integers only");
    CHECK(of(static_cast<shmem::reduction>(99)) == "reduce: there is no reduction 99");
    CHECK(stopped([&] {
            context_handle::stop_no_signal_op(static_cast<shmem::signal_op>(9), where);
          }) == "put_signal: a signal is set or added to; there is no operation 9");
    CHECK(stopped([&] {
            context_handle::stop_no_comparison(static_cast<shmem::comparison>(6), "wait_until",
                                               where);
          }) == "wait_until: a word is compared by ==, !=, >, >=, < or <=; there is no "
                "comparison 6");
  }
}
