// SPDX-License-Identifier: Apache-2.0
// ComP-Net §4.2.2: a read-modify-write of a command processor excludes the GPU's.
#include "comp_net_explored_nodes.hpp"
#include "comp_net_job.hpp"

#include <quarry/emu/explore.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;

namespace {

constexpr std::uint64_t each = 2;

/// What the network service does under its library's locks: it counts in a word of the GPU's.
class counting_service {
public:
  enum class request : std::uint8_t {
    locks_line,  ///< one read-modify-write, performed in the L2
    two_requests ///< a read and a write, as a CPU does behind a coherent L1
  };
  counting_service(global<std::uint64_t> word, request how) : word_(word), how_(how) {}

  template<class Core>
  task<bool> poll(Core& self) {
    if (left_ == 0)
      co_return false;
    --left_;
    if (how_ == request::locks_line) {
      self.fetch_add(word_, 1, order::relaxed, scope::agent);
    } else {
      std::uint64_t const old = self.load(word_, order::acquire, scope::agent);
      self.store(word_, old + 1, order::release, scope::agent);
    }
    co_return true;
  }
  template<class Core>
  [[nodiscard]] bool has_work(Core&) const {
    return left_ != 0;
  }
  [[nodiscard]] std::string name() const { return "counting service"; }

private:
  global<std::uint64_t> word_;
  request how_;
  std::uint64_t left_ = each;
};
static_assert(service<counting_service>);

struct count_on_gpu {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> word) const {
    for (std::uint64_t i = 0; i < each; ++i)
      wf.fetch_add(word, 1, order::relaxed, scope::agent);
    auto const all = [](std::uint64_t n) { return n >= 2 * each; };
    static_cast<void>(co_await wf.wait_until(word, all, order::acquire, scope::agent));
  }
};

verdict count_together(counting_service::request how) {
  explore_options const options{.executions = 1'000, .shrinks = false, .diagnoses = false};
  return explore(options, [how](world& w) {
    explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    auto word = gpu.allocate<std::uint64_t>(1, "lock word");
    counting_service counts(word.global(), how);
    auto const serving = gpu.core().processor().serve(counts);
    static_cast<void>(
        gpu.run({.work_groups = 1, .work_items_per_group = 32}, count_on_gpu{}, word.global()));
  });
}

// Natively, at the same time

constexpr std::uint64_t many = 100'000;
constexpr std::uint32_t line_words = 8;

/// A service that counts in all words of a line, a few times a round.
class busy_service {
public:
  explicit busy_service(global<std::uint64_t> line) : line_(line) {}

  template<class Core>
  task<bool> poll(Core& self) {
    std::uint64_t const left = left_.load(std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < few && left != 0; ++i)
      for (std::uint32_t word = 0; word < line_words; ++word)
        self.fetch_add(line_ + word, 1, order::relaxed, scope::agent);
    if (left != 0)
      left_.store(left - few, std::memory_order_release);
    co_return left != 0;
  }
  template<class Core>
  [[nodiscard]] bool has_work(Core&) const {
    return !is_over();
  }
  [[nodiscard]] std::string name() const { return "busy service"; }
  [[nodiscard]] bool is_over() const { return left_.load(std::memory_order_acquire) == 0; }

private:
  static constexpr std::uint64_t few = 50;
  static_assert(many % few == 0);
  global<std::uint64_t> line_;
  std::atomic<std::uint64_t> left_{many};
};
static_assert(service<busy_service>);

/// Every lane counts in a word of the line.
struct count_in_line {
  void operator()(any_wavefront auto& wf, global<std::uint64_t> line, std::uint64_t times) const {
    for (std::uint64_t i = 0; i < times; ++i)
      for (std::uint32_t word = 0; word < line_words; ++word)
        wf.fetch_add(line + word, 1, order::relaxed, scope::agent);
  }
};

// Through ComP-Net: words of node 0's heap, in which its kernel counts by itself, and node 1's and
// its own by the service.

struct count_where {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> line, std::uint64_t times,
                    device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    bool const asks = net.self().id != 0 || wf.linear_group_id() % 2 == 1;
    for (std::uint64_t i = 0; i < times; ++i)
      for (std::uint32_t word = 0; word < 2; ++word)
        if (asks) {
          auto added = ctx.atomic_add(wf, line + word, 1, pe{0});
          co_await std::move(added);
        } else if (wf.index_in_group() == 0) {
          wf.fetch_add(line + word, 1, order::relaxed, scope::system);
        }
    auto met = ctx.barrier_all(wf);
    co_await std::move(met);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

verdict count_from_two_nodes(std::string_view configuration) {
  constexpr std::uint64_t times = 2;
  comp_net_test::explored_shape const shape{.configuration = configuration, .compute_units = 2};
  return comp_net_test::explore_nodes(shape, [](comp_net_test::small_node& n) {
    static_assert(line_words == 8);
    global<std::uint64_t> const line(n.words.data());
    static_cast<void>(
        n.gpu.run({.work_groups = 2, .work_items_per_group = 32, .lds_bytes = context::lds_bytes},
                  count_where{}, line, times, std::ref(n.net.device())));
    if (n.id == 0)
      for (std::uint32_t word = 0; word < 2; ++word)
        n.w.check(n.self.load(line + word) == 4 * times, "a count is lost");
  });
}

} // namespace

TEST_SUITE("net.comp_net_line_locking") {
  TEST_CASE("a command processor's atomics and the GPU's lose nothing of each other") {
    verdict const v = count_together(counting_service::request::locks_line);
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
  }
  TEST_CASE("a read and a write without the lock lose a count, and somebody waits for ever") {
    verdict const v = count_together(counting_service::request::two_requests);
    REQUIRE(v.failure);
    INFO(v.failure->report);
    CHECK(v.failure->kind == "deadlock");
  }

  TEST_CASE("natively, at the same time, in all words of a line: nothing is lost") {
    native_scheduler scheduler({.threads = 4});
    unchecked_agent gpu(scheduler, {.compute_units = 2});
    auto line = gpu.allocate<std::uint64_t>(line_words, "line");
    constexpr std::uint32_t groups = 2;
    {
      busy_service counts(line.global());
      auto const serving = gpu.core().processor().serve(counts);
      succeed(gpu.run({.work_groups = groups, .work_items_per_group = 1}, count_in_line{},
                      line.global(), many));
      CHECK(scheduler.run_until([&] { return counts.is_over(); }));
    }
    for (std::uint64_t const count : line.host())
      CHECK(count == (groups + 1) * many);
  }

  TEST_CASE("natively, through ComP-Net, by messages and without: nothing is lost") {
    constexpr std::uint64_t times = 2'000;
    for (auto const name :
         {comp_net::on_command_processor.name, comp_net::apu.name, comp_net::dgpu.name})
      for (bool const shares_memory : {true, false}) {
        CAPTURE(shares_memory);
        job_shape const s{
            .configuration = name, .nodes = 2, .threads = 3, .shares_memory = shares_memory};
        run_job(s, [](test_node& n) {
          succeed(n.gpu.run(groups(4), count_where{}, n.at(), times, std::ref(n.net.device())));
          if (n.id == 0)
            for (std::uint32_t word = 0; word < 2; ++word)
              CHECK(n.words[word] == 8 * times);
        });
      }
  }

  TEST_CASE("explored, through ComP-Net: a node's kernel, its service and another node's") {
    for (auto const name :
         {comp_net::on_command_processor.name, comp_net::apu.name, comp_net::dgpu.name}) {
      CAPTURE(name);
      verdict const v = count_from_two_nodes(name);
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
    }
  }
}
