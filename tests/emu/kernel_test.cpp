// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"

#include <quarry/event.hpp>
#include <quarry/when_all.hpp>
#include <quarry/yield.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

struct named_kernel {
  task<> operator()(any_wavefront auto&) const { throw std::runtime_error("stop"); }
};
struct store_size {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> out) const {
    wf.store(out + wf.global_id(), static_cast<std::uint32_t>(wf.size));
    co_return;
  }
};
template<class T>
struct named_template {
  void operator()(any_plain_work_item auto&) const { throw std::runtime_error("stop"); }
};
void plain_function(work_item& wi, global<int> out) {
  wi.store(out + wi.global_id(), 3);
}
task<> wave_function(basic_wavefront<dynamic_memory, 32>& wf, global<int> out) {
  wf.store(out + wf.global_id(), 4);
  co_return;
}

/// The others have nothing to do.
struct every_second_item {
  static task<> work(any_work_item auto& wi, global<int> out) {
    wi.store(out + wi.global_id(), 4);
    co_return;
  }
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    return wi.global_id() % 2 == 0 ? work(wi, out) : task<>();
  }
};

struct counting {
  void operator()(any_plain_work_item auto& wi, global<int> out, int& by_reference) const {
    if (wi.global_id() == 0)
      wi.store(out, ++by_reference);
  }
};

/// A wave kernel that never waits is a plain function.
struct plain_wave {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    auto const i = wf.global_id();
    wf.store(out + i, wf.load(out + i) + 1);
  }
};
struct plain_wave_that_throws {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    wf.store(out + wf.global_id(), 9);
    if (wf.linear_group_id() == 1)
      throw std::runtime_error("plainly");
  }
};
struct throws_in_group_10 {
  void operator()(any_wavefront auto& wf, std::uint64_t& ran) const {
    ++ran;
    if (wf.linear_group_id() == 10 && wf.index_in_group() == 1)
      throw std::runtime_error("in the middle");
  }
};
struct plain_wave_that_counts {
  void operator()(any_wavefront auto&, std::uint64_t& ran) const { ++ran; }
};
struct no_coroutine {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    wf.store(out + wf.global_id(), 4);
    return {};
  }
};
void plain_wave_function(basic_wavefront<dynamic_memory, 64>& wf, global<int> out) {
  wf.store(out + wf.global_id(), 5);
}

/// An argument whose third copy throws: one into the launch, one into each wavefront's frame.
class bad_argument {
public:
  explicit bad_argument(int& left) : left_(&left) {}
  bad_argument(bad_argument const& o) : left_(o.left_) {
    if (--*left_ < 0)
      throw std::runtime_error("no more copies");
  }

private:
  int* left_;
};
struct takes_by_value {
  task<> operator()(any_wavefront auto& wf, bad_argument) const { co_await wf.barrier(); }
};

/// An argument that is not trivially destructible lives until the launch is over.
struct uses_function {
  task<> operator()(any_wavefront auto& wf, std::function<int(int)> const& f,
                    global<int> out) const {
    co_await wf.barrier();
    wf.store(out + wf.global_id(), f(7));
  }
};

task<int> number_of(int n) {
  co_await yield();
  co_return n;
}
/// Runs two tasks side by side on the compute unit.
struct has_children {
  task<> operator()(any_wavefront auto& wf, global<int> sum) const {
    for (int i = 0; i < 3; ++i) {
      auto both = when_all(number_of(1), number_of(i));
      auto const [one, other] = co_await std::move(both);
      co_await wf.barrier();
      wf.fetch_add(sum, one + other, order::relaxed, scope::agent);
    }
  }
};
struct children_throw {
  static task<> child(event& go) {
    co_await go.wait();
    throw std::runtime_error("a child");
  }
  static task<> other(event& go) {
    go.set();
    co_return;
  }
  task<> operator()(any_wavefront auto&) const {
    event go;
    auto both = when_all(child(go), other(go));
    co_await std::move(both);
  }
};

} // namespace

TEST_SUITE("emu.kernel") {
  TEST_CASE("a kernel's name is its type's, without namespaces") {
    CHECK(kernel_name<named_kernel>() == "named_kernel");
    CHECK(contains(kernel_name<named_template<int>>(), "named_template"));
    CHECK(kernel_name<decltype(&plain_function)>() == "function");
    auto const nameless = [](any_plain_work_item auto&) {};
    CHECK(kernel_name<decltype(nameless)>() == "lambda");
    struct my_lambda_kernel {};
    CHECK(kernel_name<my_lambda_kernel>() == "my_lambda_kernel");
    auto const within = [] {
      struct local {};
      return local{};
    };
    CHECK(kernel_name<decltype(within())>() == "local");
    CHECK(kernel_name<decltype(within()) const>() == "local");
  }

  TEST_CASE("reports begin with what happened and end with the kernel and its launch's line") {
    with_every_agent([](agent& gpu) {
      launch_config const site{.work_groups = 2};
      auto const report = fail_with(gpu.run(site, named_kernel{}), fault::kind::exception);
      CHECK_SAYS(report, "the kernel threw: stop");
      CHECK_SAYS(report, "launch of named_kernel, 2 groups of 256 work-items, at kernel_test.cpp:" +
                             std::to_string(site.where.line()));
    });
  }

  TEST_CASE("a lambda, a template and a function are kernels") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(128, "out");
      succeed(gpu.run(
          {.work_items = 128},
          [](any_wavefront auto& wf, global<int> o) -> task<> {
            wf.store(o + wf.global_id(), 2);
            co_return;
          },
          out.global()));
      CHECK(out.host()[127] == 2);
      succeed(gpu.run({.work_items = 128}, &plain_function, out.global()));
      CHECK(out.host()[127] == 3);
      CHECK(!gpu.run({.work_items = 128}, named_template<int>{}));
    });
  }

  TEST_CASE("a wave kernel that never waits needs no coroutine") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(1000, "out");
      succeed(gpu.run({.work_items = 1000}, plain_wave{}, out.global()));
      succeed(gpu.run({.work_items = 1000}, plain_wave{}, out.global()));
      CHECK(std::count(out.host().begin(), out.host().end(), 2) == 1000);
      auto const report =
          fail_with(gpu.run({.work_items = 1000}, plain_wave_that_throws{}, out.global()),
                    fault::kind::exception);
      CHECK_SAYS(report, "the kernel threw: plainly");
      CHECK_SAYS(report, "of group 1 ");
      if (gpu.core().shape().wavefront_size == 64) {
        succeed(gpu.run({.work_items = 1000}, &plain_wave_function, out.global()));
        CHECK(std::count(out.host().begin(), out.host().end(), 5) == 1000);
      }
    });
  }

  TEST_CASE("after a plain wavefront's fault the rest of its group runs, and hardly another one") {
    native_scheduler s({.threads = 1});
    agent gpu(s, {.compute_units = 1});
    constexpr std::uint32_t groups = 100'000;
    std::uint64_t ran = 0;
    auto const report =
        fail_with(gpu.run({.work_groups = groups}, throws_in_group_10{}, std::ref(ran)),
                  fault::kind::exception);
    CHECK_SAYS(report, "the kernel threw: in the middle");
    CHECK_SAYS(report, "wavefront 1 of group 10 ");
    CHECK(ran == 11 * 4);
    succeed(gpu.run({.work_groups = 1}, plain_wave_that_counts{}, std::ref(ran)));
    CHECK(ran == 12 * 4);
  }

  TEST_CASE("groups of a plain kernel run one after the other, each with its own numbers") {
    native_scheduler s({.threads = 1});
    agent gpu(s);
    auto out = gpu.allocate<int>(100'000, "out");
    succeed(
        gpu.run({.work_items = 100'000, .work_items_per_group = 320}, plain_wave{}, out.global()));
    CHECK(std::count(out.host().begin(), out.host().end(), 1) == 100'000);
  }

  TEST_CASE("a wave function that gives no coroutine has ended") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(256, "out");
      succeed(gpu.run({.work_items = 256}, no_coroutine{}, out.global()));
      CHECK(std::count(out.host().begin(), out.host().end(), 4) == 256);
    });
  }

  TEST_CASE("an item function that gives no coroutine has ended") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(256, "out");
      succeed(gpu.run({.work_items = 256}, every_second_item{}, out.global()));
      CHECK(std::count(out.host().begin(), out.host().end(), 4) == 128);
    });
  }

  TEST_CASE("std::ref gives a kernel the launcher's own object") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(1, "out");
      int counter = 5;
      succeed(gpu.run({.work_items = 100}, counting{}, out.global(), std::ref(counter)));
      CHECK(counter == 6);
      CHECK(out.host()[0] == 6);
    });
  }

  TEST_CASE("what copying an argument into a wavefront throws is the launch's fault") {
    with_sequential_agents({}, [](agent& gpu) {
      int left = 1000;
      bad_argument const argument(left);
      succeed(gpu.run({.work_groups = 4}, takes_by_value{}, argument));
      int const needed = 1000 - left;
      left = needed - 3; // the last wavefronts get none
      auto const report = fail_with(gpu.run({.work_groups = 4}, takes_by_value{}, argument),
                                    fault::kind::exception);
      CHECK_SAYS(report, "no more copies");
      left = 1000;
      succeed(gpu.run({.work_groups = 4}, takes_by_value{}, argument));
    });
    native_scheduler s({.threads = 1, .stall_timeout = patience});
    agent gpu(s);
    int left = 8;
    bad_argument const argument(left);
    static_cast<void>(
        fail_with(gpu.run({.work_groups = 4}, takes_by_value{}, argument), fault::kind::exception));
  }

  TEST_CASE("arguments live as long as the launch") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(256, "out");
      std::string const text(100, 'x');
      auto running = gpu.launch(
          {.work_groups = 1}, uses_function{},
          std::function<int(int)>([text](int n) { return n * static_cast<int>(text.size()); }),
          out.global());
      succeed(running.wait());
      CHECK(out.host()[255] == 700);
    });
  }

  TEST_CASE("a wavefront may have children, on its compute unit") {
    with_every_agent(
        [](agent& gpu) {
          auto sum = gpu.allocate<int>(1, "sum");
          succeed(gpu.run({.work_groups = 20, .work_items_per_group = 128}, has_children{},
                          sum.global()));
          CHECK(sum.host()[0] ==
                20 * 128 / static_cast<int>(gpu.core().shape().wavefront_size) * (3 + 0 + 1 + 2));
          CHECK_SAYS(
              fail_with(gpu.run({.work_groups = 1, .work_items_per_group = 32}, children_throw{}),
                        fault::kind::exception),
              "a child");
        },
        {.compute_units = 2});
  }

  TEST_CASE("a kernel of one wavefront size runs under an agent of that size") {
    native_scheduler s({.threads = 1});
    basic_agent<targets<memories<native_memory>, 32>> gpu(s, {.wavefront_size = 32});
    auto out = gpu.allocate<int>(64, "out");
    succeed(gpu.run({.work_items = 64}, &wave_function, out.global()));
    CHECK(out.host()[63] == 4);
  }

  TEST_CASE("without a machine an agent has wavefronts of a size that it is instantiated for") {
    CHECK(all_targets::usual_machine().wavefront_size == 64);
    CHECK(native_targets::usual_machine().wavefront_size == 64);
    CHECK(explored_targets::usual_machine().wavefront_size == 32);
    sequential_scheduler s;
    s.run([&s] {
      explored_agent gpu(s);
      auto out = gpu.allocate<std::uint32_t>(64, "out");
      succeed(gpu.run({.work_items = 64}, store_size{}, out.global()));
      CHECK(out.host()[63] == 32);
    });
  }

  TEST_CASE("an agent that was not instantiated for what is asked refuses, naming it") {
    native_scheduler s({.threads = 1});
    basic_agent<native_targets> gpu(s, {.wavefront_size = 32});
    CHECK_THROWS_WITH_AS(static_cast<void>(gpu.run({.work_items = 64}, named_kernel{})),
                         "launch of named_kernel: not instantiated for native memory and "
                         "wavefronts of 32; its agent is for native memory and wavefronts of 64: "
                         "set machine::wavefront_size",
                         std::invalid_argument);
    explored_agent other(s);
    CHECK_THROWS_WITH_AS(static_cast<void>(other.run({.work_items = 64}, named_kernel{})),
                         "launch of named_kernel: not instantiated for native memory and "
                         "wavefronts of 32; its agent is for interleaving memory and wavefronts "
                         "of 32: emu::agent is for all",
                         std::invalid_argument);
    agent any(s, {.wavefront_size = 32});
    CHECK_THROWS_WITH_AS(static_cast<void>(any.run({.work_items = 64}, [](wavefront&) {})),
                         "launch of lambda: not instantiated for native memory and wavefronts of "
                         "32; the kernel is for wavefronts of 64 alone: any_wavefront auto& is "
                         "for all",
                         std::invalid_argument);
  }
}
