// SPDX-License-Identifier: Apache-2.0
// A table of what a kernel can wait in × what happens to its peer. Whatever it is, the kernel ends
// with a fault that names the operation and the peer; a peer that is merely slow changes nothing.
#include "comp_net_job.hpp"
#include "faulty_port.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace comp_net_test;
using namespace std::chrono_literals;
using comp_net::context;
using comp_net::device;
using faulty::connection;
using awaited = shmem::comparison;

namespace {

enum class stage : std::uint8_t { wait_until, put, get, atomic, quiet, barrier, reduce };
struct named_stage {
  stage what;
  char const* name; ///< of the operation, as the fault has it
};
constexpr named_stage stages[] = {
    {stage::wait_until, "wait_until"}, {stage::put, "put"},     {stage::get, "get"},
    {stage::atomic, "atomic"},         {stage::quiet, "quiet"}, {stage::barrier, "barrier_all"},
    {stage::reduce, "reduce"},
};

constexpr std::size_t put_words = 4096, cells = put_words + 64;

/// Puts something to the other node, and then does what may have to wait for it.
struct wait_in {
  task<> operator()(any_wavefront auto& wf, stage what, global<std::uint64_t> words,
                    global<std::uint64_t> own, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    pe const other{1 - net.self().id};
    auto told = ctx.p(wf, words, 1, other);
    co_await std::move(told);
    if (what == stage::wait_until) {
      auto wait = ctx.wait_until(wf, words, awaited::equal, 1);
      static_cast<void>(co_await std::move(wait));
    } else if (what == stage::put) {
      for (int i = 0; i < 200; ++i) { // more than all buffers hold
        auto put = ctx.put(wf, words + 64, own, put_words, other);
        co_await std::move(put);
      }
    } else if (what == stage::get) {
      auto got = ctx.get(wf, own, words + 64, put_words, other);
      co_await std::move(got);
    } else if (what == stage::atomic) {
      auto count = ctx.atomic_fetch_add(wf, words + 1, 1, other);
      static_cast<void>(co_await std::move(count));
    } else if (what == stage::quiet) {
      auto over = ctx.quiet(wf);
      co_await std::move(over);
    } else if (what == stage::barrier) {
      auto met = ctx.barrier_all(wf);
      co_await std::move(met);
    } else {
      auto sum = ctx.reduce(wf, shmem::reduction::sum, own, own, 4);
      co_await std::move(sum);
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

struct row {
  stage what;
  connection fault;
  std::string_view configuration;
  std::chrono::milliseconds timeout;
};

comp_net::node::options options_of(row const& r) {
  return {.configuration = r.configuration,
          .rings = 1,
          .ring_entries = 4,
          .reduce_bytes = 64,
          .shmem = {.heap_bytes = cells * 8 + 4096,
                    .timeout = r.timeout,
                    .most_teams = 1,
                    .team_bytes = 4096,
                    .shares_memory = false}};
}

using clock = std::chrono::steady_clock;

/// What a machine that does other work may take longer.
constexpr auto slack = 8s;

struct ending {
  std::string report; ///< the fault of node 0's kernel, or nothing
  clock::duration took{};
};
/// Node 1's connection has the fault, a cut one node 0's as well; only a slow node 1 has a kernel
/// that takes part.
ending run_row(row const& r) {
  clock::duration took{};
  auto ends = make_in_process(2);
  std::array<faulty::control, 2> controls;
  std::latch all_here(2), all_set(2), has_ended(1);
  auto const run = [&](std::uint32_t id) -> std::string {
    native_scheduler scheduler({.threads = 1, .stall_timeout = 60s});
    unchecked_agent gpu(scheduler, {.compute_units = 1, .wavefront_size = 64});
    auto net = comp_net::node::start(
        gpu.core(), std::make_unique<faulty::port>(std::move(ends[id]), controls[id], pe{1 - id}),
        options_of(r));
    auto const words = net ? net->shmem().malloc<std::uint64_t>(cells) : net.error();
    bool const is_ready = words && net->shmem().barrier_all();
    auto own = gpu.allocate<std::uint64_t>(put_words, "own");
    all_here.arrive_and_wait(); // what they have met by may leave after one of them has
    if (id == 1 || r.fault == connection::cut)
      controls[id].turn(r.fault);
    all_set.arrive_and_wait();
    std::string report = is_ready ? "" : "it did not even begin";
    auto const begun = clock::now();
    bool const takes_part = r.fault == connection::slow;
    if (is_ready && (id == 0 || takes_part)) {
      auto const done =
          gpu.run({.work_groups = 1, .work_items_per_group = 64, .lds_bytes = context::lds_bytes},
                  wait_in{}, r.what, global<std::uint64_t>(words->data()), own.global(),
                  std::ref(net->device()));
      if (auto const f = done.get_fault())
        report = std::string(to_string(f->what)) + ": " + f->report;
      else if (auto const left = takes_part ? net->finish() : result<void>{}; !left)
        report = left.error().what;
    }
    if (id == 0) {
      took = clock::now() - begun;
      has_ended.count_down();
    } else {
      has_ended.wait(); // who leaves earlier is lost, not silent
    }
    return report;
  };
  std::string of_peer;
  std::string report;
  {
    std::jthread const other([&] { of_peer = run(1); });
    report = run(0);
  }
  return {report + of_peer, took};
}

struct reported {
  row of;
  std::string name;
  ending how;
};
/// Every stage, on the command processor and on a host thread, all at the same time: they wait.
std::vector<reported> run_all(connection fault, std::chrono::milliseconds timeout) {
  std::vector<reported> all;
  for (auto const configuration : {comp_net::on_command_processor.name, comp_net::dgpu.name})
    for (auto const& [what, name] : stages)
      all.push_back({{what, fault, configuration, timeout}, name, {}});
  std::vector<std::jthread> threads;
  for (reported& one : all)
    threads.emplace_back([&one] { one.how = run_row(one.of); });
  threads.clear();
  return all;
}

void check_all(connection fault, std::chrono::milliseconds timeout,
               std::chrono::milliseconds at_most, std::string_view says) {
  for (auto const& [of, name, how] : run_all(fault, timeout)) {
    auto const& report = how.report;
    CAPTURE(of.configuration);
    CAPTURE(name);
    INFO(report);
    CHECK(how.took < at_most + slack);
    CHECK(report.starts_with("exception: "));
    for (std::string_view const part :
         {std::string_view(name), says, std::string_view("comp_net_peer_faults_test.cpp:")})
      CHECK(report.find(part) != std::string::npos);
  }
}

} // namespace

TEST_SUITE("net.comp_net_peer_faults") {
  TEST_CASE("a peer that stops is named, by every operation that waits for it") {
    check_all(connection::stopped, 4s, 4s, "no word from pe 1");
  }
  TEST_CASE("so is one that takes nothing more, when the buffers to it are full") {
    check_all(connection::deaf, 4s, 4s, "no word from pe 1");
  }
  TEST_CASE("a peer that answers, but never does what is waited for, ends the wait all the same") {
    for (auto const& [of, name, how] : run_all(connection::well, 800ms)) {
      auto const& report = how.report;
      CAPTURE(of.configuration);
      CAPTURE(name);
      INFO(report);
      bool const is_for_all = of.what == stage::barrier || of.what == stage::reduce;
      if (of.what != stage::wait_until && !is_for_all) {
        CHECK(report.empty()); // the peer's service answers, whatever its kernels do
        continue;
      }
      CHECK(how.took < 3 * 800ms + slack);
      CHECK(report.starts_with("exception: "));
      CHECK(report.find(std::string("pe 0 waits in ") + name +
                        " of work-group 0 (comp_net_peer_") != std::string::npos);
      CHECK(report.find(is_for_all
                            ? ") for pe 1: every pe answers, but none has begun"
                            : "): every pe answers, but none has begun") != std::string::npos);
      CHECK(report.find("an operation for 2400 ms") != std::string::npos);
    }
  }
  TEST_CASE("a connection that is cut ends every operation at once, and says whose it was") {
    check_all(connection::cut, 30s, 0s, "pe 1: the connection was cut");
  }
  TEST_CASE("a peer that is slow changes nothing") {
    for (auto const& [of, name, how] : run_all(connection::slow, 30s)) {
      CAPTURE(of.configuration);
      CAPTURE(name);
      CHECK_MESSAGE(how.report.empty(), how.report);
    }
  }
}
