// SPDX-License-Identifier: Apache-2.0
// A node that leaves the job, and kernels that communicate.
#include "comp_net_job.hpp"

#include <cstdint>
#include <functional>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;

namespace {

constexpr std::uint64_t rounds = 50;

/// Says to the own host that it has begun, and then repeats what the other pe's host puts: if there
/// is none, it waits in vain.
struct echo {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto begin = ctx.p(wf, words + 1, 1, net.self());
    co_await std::move(begin);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      auto wait = ctx.wait_until(wf, words, shmem::comparison::equal, round);
      static_cast<void>(co_await std::move(wait));
      auto put = ctx.p(wf, words, round, pe{1 - net.self().id});
      co_await std::move(put);
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Does not destroy its context.
struct nothing_but_init {
  task<> operator()(any_wavefront auto& wf, device& net) const {
    auto made = context::init(wf, net);
    static_cast<void>(co_await std::move(made));
  }
};

struct meet {
  task<> operator()(any_wavefront auto& wf, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto met = ctx.barrier_all(wf);
    co_await std::move(met);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

void run_everywhere(job_shape s, node_body const& body) {
  for (auto const name : {comp_net::on_command_processor.name, comp_net::dgpu.name}) {
    s.configuration = name;
    s.threads.reset();
    run_job(s, body);
    for (std::size_t const threads : {1U, 2U}) {
      s.threads = threads;
      run_job(s, body);
    }
    s.over_loopback = s.nodes > 1;
    run_job(s, body);
    s.over_loopback = false;
  }
}

} // namespace

TEST_SUITE("net.comp_net_finish") {
  TEST_CASE("finish() waits for kernels that communicate") {
    run_everywhere({.nodes = 2}, [](test_node& n) {
      auto& host = n.net.shmem();
      if (n.id == 0) {
        auto running =
            n.gpu.launch(one_wavefront_each(1), echo{}, n.at(), std::ref(n.net.device()));
        CHECK(host.wait_until(n.words.data() + 1, shmem::comparison::equal, 1));
        CHECK(n.net.finish());
        succeed(running.wait());
        return;
      }
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        CHECK(host.default_context().p(n.words.data(), round, pe{0}));
        CHECK(host.wait_until(n.words.data(), shmem::comparison::equal, round));
      }
    });
  }

  TEST_CASE("but not for ever, and says for which work-groups") {
    job_shape s{.finishes = false};
    auto const body = [](test_node& n) {
      auto running = n.gpu.launch(one_wavefront_each(1), echo{}, n.at(), std::ref(n.net.device()));
      CHECK(n.net.shmem().wait_until(n.words.data() + 1, shmem::comparison::equal, 1));
      auto const left = n.net.finish();
      REQUIRE(left.has_error());
      CHECK(left.error().code == net_errc::timeout);
      INFO(left.error().what);
      CHECK(left.error().what.starts_with("comp_net: finish: work-groups 0 of a kernel still have "
                                          "their contexts, and nothing progresses\n"));
      expect(running.wait(), fault::kind::exception, "wait_until was given up: comp_net: finish:");
    };
    run_job(s, body);
    s.threads = 1;
    s.stall_timeout = std::chrono::milliseconds(500);
    run_job(s, body);
  }

  TEST_CASE("nor for contexts that a kernel has left open; and nobody opens one afterwards") {
    run_everywhere({.nodes = 1}, [](test_node& n) {
      succeed(n.gpu.run(one_wavefront_each(1), nothing_but_init{}, std::ref(n.net.device())));
      CHECK(n.net.finish());
      expect(n.gpu.run(one_wavefront_each(1), nothing_but_init{}, std::ref(n.net.device())),
             fault::kind::wrong_shape, "context::init after the node's finish()");
    });
  }

  TEST_CASE("a barrier whose other pe has called finish() is told so") {
    job_shape s{
        .nodes = 2, .threads = 1, .timeout = std::chrono::milliseconds(1'000), .finishes = false};
    for (bool const shares_memory : {true, false})
      for (bool const over_loopback : {true, false}) {
        s.shares_memory = shares_memory;
        s.over_loopback = over_loopback;
        run_job(s, [](test_node& n) {
          if (n.id == 0) {
            auto const o = n.gpu.run(one_wavefront_each(1), meet{}, std::ref(n.net.device()));
            expect(o, fault::kind::wrong_shape, "for pe 1: it has called finish()");
            expect(o, fault::kind::wrong_shape, "pe 0 waits in barrier_all of work-group 0");
            return;
          }
          auto const left = n.net.finish();
          REQUIRE(left.has_error());
          CHECK(left.error().code == net_errc::mismatched_collective);
          CHECK_MESSAGE(left.error().what.find("barrier_all of work-group 0") != std::string::npos,
                        left.error().what);
        });
      }
  }
}
