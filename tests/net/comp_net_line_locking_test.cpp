// SPDX-License-Identifier: Apache-2.0
// ComP-Net §4.2.2: a read-modify-write of a command processor excludes the GPU's.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using namespace quarry;
using namespace quarry::emu;

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
}
