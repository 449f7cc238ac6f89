// SPDX-License-Identifier: Apache-2.0
#include "comp_net_job.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;

namespace {

/// A ring of puts: every group passes what it has to the next pe, `laps` times around.
struct pass_around {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> all, std::uint64_t laps,
                    device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto const word = all + wf.linear_group_id() * 8;
    pe const next{(net.self().id + 1) % net.pe_count()};
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
      if (net.self().id != 0) {
        auto wait = ctx.wait_until(wf, word, shmem::comparison::greater_equal, lap);
        static_cast<void>(co_await std::move(wait));
      }
      auto put = ctx.p(wf, word, lap, next);
      co_await std::move(put);
      if (net.self().id == 0) {
        auto wait = ctx.wait_until(wf, word, shmem::comparison::greater_equal, lap);
        static_cast<void>(co_await std::move(wait));
      }
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

void check_pass_around(test_node& n) {
  constexpr std::uint64_t laps = 20;
  succeed(n.gpu.run(groups(4), pass_around{}, n.at(), laps, std::ref(n.net.device())));
  for (std::uint32_t g = 0; g < 4; ++g)
    CHECK(n.words[g * 8] == laps);
  CHECK(n.net.shmem().barrier_all()); // the next launch finds the rings as this one left them
  succeed(n.gpu.run(groups(4), pass_around{}, n.at(100), laps, std::ref(n.net.device())));
  CHECK(n.words[100] == laps);
}

/// Waits for a put that never comes.
struct wait_for_one {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> word, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto wait = ctx.wait_until(wf, word, shmem::comparison::equal, 1);
    static_cast<void>(co_await std::move(wait));
  }
};

constexpr std::uint64_t many_puts = 20'000;

/// Group 0 waits for an atomic, while group 1 puts one value after the other and waits for nothing;
/// `seen` gets how far group 1 had come when group 0 went on.
struct one_waits_beside_another {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> own,
                    global<std::uint64_t> seen, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    if (wf.linear_group_id() == 0) {
      auto counted = ctx.atomic_fetch_inc(wf, words, net.self());
      static_cast<void>(co_await std::move(counted));
      wf.store(seen, wf.load(words + 1, order::relaxed, scope::system));
    } else {
      for (std::uint64_t i = 1; i <= many_puts; ++i) {
        auto put = ctx.put_nbi(wf, words + 1, own + i, 1, net.self());
        co_await std::move(put);
      }
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// On one thread: the ring holds all of group 1's puts before the service has its turn.
std::uint64_t seen_after(std::string_view configuration, std::uint32_t polling_rounds) {
  job_shape const s{.configuration = configuration,
                    .threads = 1,
                    .ring_entries = 32'768,
                    .polling_rounds = polling_rounds};
  std::uint64_t came = 0;
  run_job(s, [&](test_node& n) {
    auto own = n.gpu.allocate<std::uint64_t>(many_puts + 1, "own");
    auto seen = n.gpu.allocate<std::uint64_t>(1, "seen");
    std::iota(own.host().begin(), own.host().end(), 0);
    succeed(n.gpu.run(one_wavefront_each(2), one_waits_beside_another{}, n.at(), own.global(),
                      seen.global(), std::ref(n.net.device())));
    CHECK(n.words[1] == many_puts);
    came = seen.host()[0];
  });
  return came;
}

std::string refused(comp_net::node::options const& o, bool has_transport = true) {
  native_scheduler scheduler({.threads = 1});
  agent gpu(scheduler);
  auto ends = make_in_process(1);
  try {
    static_cast<void>(
        comp_net::node::start(gpu.core(), has_transport ? std::move(ends[0]) : nullptr, o));
  } catch (std::invalid_argument const& e) {
    return e.what();
  }
  return {};
}

} // namespace

TEST_SUITE("net.comp_net_node") {
  TEST_CASE("messages go round, whoever serves the rings, and a second launch goes on") {
    for (auto const name :
         {comp_net::on_command_processor.name, comp_net::apu.name, comp_net::dgpu.name})
      for (std::uint32_t const services : {1U, 3U}) {
        CAPTURE(services);
        job_shape s{.configuration = name, .nodes = 2, .service_threads = services};
        run_job(s, check_pass_around);
        s.threads = 2;
        run_job(s, check_pass_around);
        s.shares_memory = false; // messages, as between processes
        run_job(s, check_pass_around);
        s.over_loopback = true;
        run_job(s, check_pass_around);
      }
  }

  TEST_CASE("a wait ends after so many polling rounds, though another ring is never empty") {
    for (auto const name : {comp_net::on_command_processor.name, comp_net::apu.name}) {
      CAPTURE(name);
      auto const few = seen_after(name, 1), more = seen_after(name, 10'000);
      CHECK(few < 10'000);
      CHECK(more >= 10'000);
      CHECK(more < many_puts);
      CHECK(seen_after(name, 1'000'000) == many_puts); // when there is nothing else to do
    }
  }

  TEST_CASE("without device calls there is no device, and shmem is the host's") {
    for (auto const name : {comp_net::inter_kernel.name, comp_net::cpu.name}) {
      job_shape const s{.configuration = name, .nodes = 2, .threads = 1};
      run_job(s, [](test_node& n) {
        CHECK_FALSE(n.net.configuration().has_device_calls());
        CHECK_THROWS_AS(static_cast<void>(n.net.device()), std::logic_error);
        CHECK(n.net.shmem().default_context().p(n.words.data(), n.id + 1, pe{1 - n.id}));
        CHECK(n.net.shmem().barrier_all());
        CHECK(n.words[0] == 2 - n.id);
      });
    }
  }

  TEST_CASE("a pe that is lost ends in a fault of whoever waits for it") {
    job_shape s{.nodes = 2, .threads = 2};
    for (bool const over_loopback : {true, false}) {
      CAPTURE(over_loopback);
      s.shares_memory = false; // the transport tells, where there is one
      s.over_loopback = over_loopback;
      run_losing(s, [](test_node& n) {
        if (n.id == 1)
          return; // leaves without finish()
        auto const o = n.gpu.run(groups(1), wait_for_one{}, n.at(), std::ref(n.net.device()));
        REQUIRE(o.get_fault());
        INFO(o.get_fault()->report);
        CHECK(to_string(o.get_fault()->what) == to_string(fault::kind::exception));
        CHECK(o.get_fault()->report.find("wait_until was given up") != std::string::npos);
        CHECK(o.get_fault()->report.find("pe 1") != std::string::npos);
      });
    }
  }

  TEST_CASE("a kernel and a host that wait side by side for a slow pe are no stall") {
    using namespace std::chrono_literals;
    job_shape s{.nodes = 2, .threads = 1, .stall_timeout = 2s, .timeout = 2s};
    for (bool const over_loopback : {false, true}) {
      s.over_loopback = over_loopback;
      run_job(s, [](test_node& n) {
        auto& host = n.net.shmem();
        if (n.id == 0) {
          bool has_met = false;
          {
            std::jthread const beside([&] {
              has_met =
                  host.wait_until(n.words.data() + 1, shmem::comparison::equal, 1).has_value();
            });
            succeed(n.gpu.run(groups(1), wait_for_one{}, n.at(), std::ref(n.net.device())));
          }
          CHECK(has_met);
          return;
        }
        using clock = std::chrono::steady_clock;
        for (auto const end = clock::now() + 5s; clock::now() < end;)
          REQUIRE(host.default_context().p(n.words.data() + 2, 1, pe{1}));
        for (std::size_t word : {0, 1})
          CHECK(host.default_context().p(n.words.data() + word, 1, pe{0}));
      });
    }
  }

  TEST_CASE("pes with other rings, or other places for reductions, are refused at the start") {
    // The heaps are as large as each other, whatever the rings take of them.
    auto ends = make_in_process(2);
    std::string said[2];
    {
      std::vector<std::jthread> hosts;
      for (std::uint32_t id = 0; id < 2; ++id)
        hosts.emplace_back([&, id] {
          native_scheduler scheduler({.threads = 1});
          unchecked_agent gpu(scheduler, {.compute_units = 1});
          comp_net::node::options o{.rings = 11, .reduce_bytes = 64};
          if (id == 1)
            o = {.rings = 5, .reduce_bytes = 256};
          constexpr std::size_t all = 1024 * 1024;
          o.shmem.heap_bytes = all - (id == 0 ? 11 * (128 + 128 * 4) : 5 * (128 + 320 * 4));
          auto const net = comp_net::node::start(gpu.core(), std::move(ends[id]), o);
          said[id] = net ? "it has begun" : net.error().what;
        });
    }
    for (std::string const& one : said)
      CHECK_MESSAGE(one.find("have other numbers or sizes of teams, or ComP-Net's rings") !=
                        std::string::npos,
                    one);
  }

  TEST_CASE("what cannot be is refused, with what can") {
    CHECK(refused({.configuration = "gpu"}) ==
          "comp_net: no configuration 'gpu'; there are: cpu, inter_kernel, apu, dgpu, comp_net");
    CHECK(refused({}, false) == "comp_net: no transport; has it been moved from?");
    CHECK(refused({.rings = 0}) == "comp_net: 0 rings; allowed are 1 to 65536");
    for (std::uint32_t const n : {0U, 3U, 131'072U})
      CHECK(refused({.ring_entries = n}) == "comp_net: rings of " + std::to_string(n) +
                                                " entries; allowed are powers of two up to 65536");
    CHECK(refused({.rings = 2, .service_threads = 3}) ==
          "comp_net: 3 service threads; allowed are 1 to 2, one a ring");
    CHECK(refused({.polling_rounds = 0}) == "comp_net: 0 polling rounds; at least 1 is allowed");
    CHECK(refused({.reduce_bytes = 100}) ==
          "comp_net: reductions of 100 bytes; allowed are multiples of 64 up to 65536");
  }
}
