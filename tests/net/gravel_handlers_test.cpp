// SPDX-License-Identifier: Apache-2.0
// What handlers of active messages may not do, and what becomes of a job whose nodes have others.
#include "gravel_job.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

using namespace gravel_test;

namespace {

struct call_handler {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    task<> sent = net.active_message(wf, 0, words + i % 4, i, 1);
    co_await std::move(sent);
  }
};

void add_nothing(std::uint64_t&, std::uint64_t) {}

/// The job waits for an hour: who is to be told something is told so at once.
constexpr std::chrono::hours patience{1};

void check_all(job_outcome const& out, net_errc code, std::string const& text) {
  for (auto const& error : out.errors) {
    REQUIRE(error);
    CHECK(error->code == code);
    CHECK_MESSAGE(error->what.find(text) != std::string::npos, error->what);
  }
}

} // namespace

TEST_SUITE("net.gravel_handlers") {
  TEST_CASE("a handler that throws fails the job, and every node is told so") {
    with_every_job([](auto const& run) {
      auto const out = run(2, {.timeout = patience}, [](test_node& n) {
        n.net.add_handler([](std::uint64_t&, std::uint64_t value) {
          if (value == 17)
            throw std::runtime_error("17 is too much");
        });
        static_cast<void>(n.net.barrier()); // one may have ended when the other one comes here
        if (n.id == 0)
          launching_in_vain(call_handler{}, 64)(n);
      });
      check_all(out, net_errc::failed_handler,
                "handler 0 of pe 1 threw on a message of pe 0: 17 is too much");
    });
  }

  TEST_CASE(
      "so does a message for a handler that its node has not added, told with how many it has") {
    with_every_job([](auto const& run) {
      auto const out = run(2, {.timeout = patience}, [](test_node& n) {
        static_cast<void>(n.net.barrier());
        if (n.id == 0)
          launching_in_vain(call_handler{}, 64)(n);
      });
      check_all(out, net_errc::mismatched_job,
                "an active message of pe 0 for handler 0; pe 1 has added 0 of them");
    });
  }

  TEST_CASE("nodes with different numbers of handlers are told so at the first barrier") {
    with_every_job([](auto const& run) {
      auto const out = run(3, {.timeout = patience}, [](test_node& n) {
        for (std::uint32_t i = 0; i < (n.id == 1 ? 2U : 1U); ++i)
          n.net.add_handler(add_nothing);
        static_cast<void>(n.net.barrier());
      });
      check_all(out, net_errc::mismatched_job, " handlers, and pe ");
    });
  }

  TEST_CASE("a handler that waits fails the job at once: it would wait for itself") {
    using call = void (*)(gravel_node&);
    call const calls[] = {[](gravel_node& net) { static_cast<void>(net.quiet()); },
                          [](gravel_node& net) { static_cast<void>(net.barrier()); },
                          [](gravel_node& net) { static_cast<void>(net.all_sum(1)); },
                          [](gravel_node& net) { static_cast<void>(net.finish()); },
                          [](gravel_node& net) { static_cast<void>(net.counts()); }};
    for (call const waits : calls)
      with_every_job([waits](auto const& run) {
        auto const out = run(2, {.timeout = patience}, [waits](test_node& n) {
          n.net.add_handler([&net = n.net, waits](std::uint64_t&, std::uint64_t) { waits(net); });
          static_cast<void>(n.net.barrier()); // one may have ended when the other one comes here
          if (n.id == 0)
            launching_in_vain(call_handler{}, 64)(n);
        });
        check_all(out, net_errc::failed_handler, "is called by a handler, which must not wait");
      });
  }
}
