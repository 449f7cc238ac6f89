// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using gravel::gravel_node;

constexpr std::size_t heap_words = 256;

/// One node of a test's job.
struct test_node {
  agent& gpu;
  gravel_node& net;
  std::span<std::uint64_t> heap;
  std::uint32_t id;
  std::uint32_t count;
  [[nodiscard]] global<std::uint64_t> at(std::size_t word) const {
    return global<std::uint64_t>(heap.data() + word);
  }
};
using node_body = std::function<void(test_node&)>;

/// Every node's heap at the end, or the first error.
struct job_outcome {
  std::vector<std::vector<std::uint64_t>> heaps;
  std::vector<std::optional<error>> errors;
  std::vector<gravel::statistics> counts;
};

void run_one(executor& scheduler, std::unique_ptr<transport_port> end, gravel_node::options o,
             node_body const& body, job_outcome& out, std::uint32_t id, std::uint32_t wave_size) {
  agent gpu(scheduler, {.compute_units = 2, .wavefront_size = wave_size});
  std::uint32_t const count = end->pe_count();
  gravel_node net(gpu.core(), std::move(end), out.heaps[id], o);
  test_node node{gpu, net, out.heaps[id], id, count};
  body(node);
  if (auto const done = net.finish(); !done)
    out.errors[id] = done.error();
  out.counts[id] = net.counts();
}

job_outcome make_outcome(std::uint32_t nodes) {
  return {std::vector(nodes, std::vector<std::uint64_t>(heap_words)),
          std::vector<std::optional<error>>(nodes), std::vector<gravel::statistics>(nodes)};
}

job_outcome run_native(std::uint32_t nodes, std::size_t threads, gravel_node::options o,
                       node_body const& body, std::uint32_t wave_size = 64) {
  job_outcome out = make_outcome(nodes);
  std::vector<std::thread> hosts;
  for (auto& end : make_in_process(nodes))
    hosts.emplace_back([&, id = end->self().id, end = std::move(end)]() mutable {
      native_scheduler scheduler({.threads = threads});
      run_one(scheduler, std::move(end), o, body, out, id, wave_size);
    });
  for (std::thread& h : hosts)
    h.join();
  return out;
}

job_outcome run_sequential(std::uint32_t nodes, std::optional<std::uint64_t> seed,
                           gravel_node::options o, node_body const& body,
                           std::uint32_t wave_size = 64) {
  job_outcome out = make_outcome(nodes);
  sequential_scheduler scheduler({.seed = seed});
  std::vector<std::function<void()>> hosts;
  auto ends = std::make_shared<std::vector<std::unique_ptr<in_process>>>(make_in_process(nodes));
  for (std::uint32_t id = 0; id < nodes; ++id)
    hosts.emplace_back(
        [&, ends, id] { run_one(scheduler, std::move((*ends)[id]), o, body, out, id, wave_size); });
  scheduler.run(std::move(hosts));
  return out;
}

/// Every work-item sends to word and node (7 i + 3 id): increments, then adds of i.
struct scatter_wave {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    auto const place = i * 7 % 100;
    auto const node = i % nodes;
    task<> first = net.increment(wf, words + place, node);
    co_await std::move(first);
    task<> second = net.add(wf, words + place, i, node);
    co_await std::move(second);
  }
};

struct scatter_item {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    std::uint64_t const i = wi.global_id();
    co_await net.increment(wi, words + i * 7 % 100, static_cast<std::uint32_t>(i % nodes));
    co_await net.add(wi, words + i * 7 % 100, i, static_cast<std::uint32_t>(i % nodes));
  }
};

/// Work-item i loops i % 5 times: divergent code, wavefronts that end early (thesis Table 5-1a).
struct divergent_item {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    std::uint32_t const i = wi.global_id();
    for (std::uint32_t k = 0; k < i % 5; ++k) {
      if (i % 3 == 0)
        co_await net.increment(wi, words + i % 50, k % nodes);
      else
        co_await net.add(wi, words + (50 + i % 50), 2, k % nodes);
    }
  }
};

struct divergent_wave {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    std::uint64_t k = 0;
    for (auto loop = wf.loop(); loop.keep(i % 5 > k); ++k) {
      auto const third = i % 3 == 0;
      if (auto const active = wf.where(third)) {
        task<> sent = net.increment(wf, words + i % 50, k % nodes, reconverging);
        co_await std::move(sent);
      }
      if (auto const active = wf.where(!third)) {
        task<> sent =
            net.add(wf, words + (i % 50 + 50), gravel::lanes64<w>(2), k % nodes, reconverging);
        co_await std::move(sent);
      }
    }
  }
};

struct put_42 {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const leader = wf.where(wf.local_id() < 1);
    task<> sent = net.put(wf, words + wf.local_id(), gravel::lanes64<w>(42), 1);
    co_await std::move(sent);
  }
};

struct await_42 {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words) const {
    auto const came = [](std::uint64_t v) { return v == 42; };
    static_cast<void>(co_await wf.wait_until(words, came, order::acquire, scope::system));
    if (wf.index_in_group() == 0)
      wf.store(words + 1, 43);
  }
};

struct send_active {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t handler,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    task<> sent = net.active_message(wf, handler, words + i % 4, i, 0);
    co_await std::move(sent);
  }
};

struct increment_all {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    gravel::endpoint& net) const {
    task<> sent = net.increment(wf, words + wf.global_id(), 0);
    co_await std::move(sent);
  }
};

constexpr std::uint32_t items = 300; // a partial last wavefront and a partial last group

void check_scatter(job_outcome const& out) {
  auto const nodes = static_cast<std::uint32_t>(out.heaps.size());
  std::vector expected(nodes, std::vector<std::uint64_t>(heap_words));
  for (std::uint64_t i = 0; i < items; ++i)
    expected[i % nodes][i * 7 % 100] += nodes * (1 + i);
  for (auto const& e : out.errors)
    CHECK_MESSAGE(!e, (e ? e->what : ""));
  CHECK(out.heaps == expected);
}

void check_divergent(job_outcome const& out) {
  auto const nodes = static_cast<std::uint32_t>(out.heaps.size());
  std::vector expected(nodes, std::vector<std::uint64_t>(heap_words));
  for (std::uint32_t i = 0; i < items; ++i)
    for (std::uint32_t k = 0; k < i % 5; ++k)
      expected[k % nodes][i % 3 == 0 ? i % 50 : 50 + i % 50] += nodes * (i % 3 == 0 ? 1U : 2U);
  for (auto const& e : out.errors)
    CHECK_MESSAGE(!e, (e ? e->what : ""));
  CHECK(out.heaps == expected);
}

template<class Kernel>
node_body launching(Kernel kernel) {
  return [kernel](test_node& n) {
    launch_config const config{.work_items = items, .work_items_per_group = 128};
    auto const o = n.gpu.run(config, kernel, n.at(0), n.count, std::ref(n.net.device()));
    CHECK_MESSAGE(o, (o ? "" : o.get_fault()->report));
  };
}

constexpr std::string_view styles[] = {gravel::aggregated::name, gravel::not_aggregated::name};

} // namespace

TEST_SUITE("net.gravel") {
  TEST_CASE("every operation of every work-item is applied once, in every style, natively") {
    for (std::string_view const style : styles)
      for (std::uint32_t const nodes : {1U, 2U, 3U, 4U})
        for (std::size_t const threads : {1U, 2U}) {
          CAPTURE(style);
          CAPTURE(nodes);
          check_scatter(run_native(nodes, threads, {.style = style}, launching(scatter_wave{})));
          check_scatter(
              run_native(nodes, threads, {.style = style}, launching(scatter_item{}), 32));
        }
  }

  TEST_CASE("divergent loops reach the network by reconvergence, wave and item kernels alike") {
    for (std::uint32_t const nodes : {1U, 3U}) {
      check_divergent(run_native(nodes, 2, {}, launching(divergent_wave{})));
      check_divergent(run_native(nodes, 2, {}, launching(divergent_item{})));
      check_divergent(run_native(nodes, 1, {}, launching(divergent_item{}), 32));
    }
  }

  TEST_CASE("whatever the interleaving, the answer is the same") {
    for (std::uint32_t const nodes : {1U, 2U, 3U}) {
      check_scatter(run_sequential(nodes, std::nullopt, {}, launching(scatter_wave{})));
      for (std::uint64_t seed = 0; seed < 5; ++seed) {
        CAPTURE(seed);
        CAPTURE(nodes);
        gravel_node::options const tight{
            .buffer_bytes = 64, .buffers_per_node = 2, .queue_slots = 2};
        check_scatter(run_sequential(nodes, seed, tight, launching(scatter_wave{}), 32));
        check_divergent(run_sequential(nodes, seed, tight, launching(divergent_item{})));
      }
    }
  }

  TEST_CASE("buffers leave when they are full, and their sizes add up") {
    auto const out = run_native(2, 1, {.buffer_bytes = 256}, launching(scatter_wave{}));
    std::uint64_t applied = 0;
    for (auto const& c : out.counts) {
      applied += c.applied;
      CHECK(c.operations == 2 * items);
      CHECK(c.frames > 2 * items * 4 / 256);
      CHECK(c.frame_bytes <= c.frames * 256);
      CHECK(c.remote_frames < c.frames);
      CHECK(c.wire_bytes > c.remote_frames * 16);
    }
    CHECK(applied == 2 * 2 * items);
  }

  TEST_CASE("without aggregation every operation is a message of its own") {
    auto const out =
        run_native(2, 1, {.style = gravel::not_aggregated::name}, launching(scatter_wave{}));
    for (auto const& c : out.counts)
      CHECK(c.frames == c.operations);
  }

  TEST_CASE("a buffer that is not full leaves by itself, without quiet") {
    // Node 1 waits for node 0's put in its kernel: only the timeout can bring it.
    auto const out = run_native(2, 2, {}, [](test_node& n) {
      launch_config const one{.work_groups = 1, .work_items_per_group = 64};
      auto const o = n.id == 0 ? n.gpu.run(one, put_42{}, n.at(0), std::ref(n.net.device()))
                               : n.gpu.run(one, await_42{}, n.at(0));
      CHECK(o);
    });
    CHECK(out.heaps[1][0] == 42);
    CHECK(out.heaps[1][1] == 43);
  }

  TEST_CASE("active messages run their handler serially on the target") {
    auto const out = run_native(2, 2, {}, [](test_node& n) {
      auto const keep_highest = [](std::uint64_t& word, std::uint64_t v) {
        word = std::max(word, v);
      };
      std::uint32_t const handler = n.net.add_handler(keep_highest);
      CHECK(n.net.barrier().has_value());
      launch_config const config{.work_items = items};
      CHECK(n.gpu.run(config, send_active{}, n.at(0), handler, std::ref(n.net.device())));
    });
    for (std::uint64_t w = 0; w < 4; ++w)
      CHECK(out.heaps[0][w] == items - 4 + w);
  }

  TEST_CASE("sums and gathers see everybody, in order") {
    auto const out = run_native(3, 1, {}, [](test_node& n) {
      auto const sum = n.net.all_sum<std::uint64_t>(n.id + 1);
      REQUIRE(sum.has_value());
      n.heap[0] = *sum;
      std::byte const mine[] = {std::byte(n.id)};
      auto const all = n.net.all_gather(mine);
      REQUIRE(all.has_value());
      for (std::size_t i = 0; i < all->size(); ++i)
        n.heap[1 + i] = static_cast<std::uint64_t>((*all)[i].at(0));
    });
    for (auto const& heap : out.heaps)
      CHECK(std::vector(heap.begin(), heap.begin() + 4) == std::vector<std::uint64_t>{6, 0, 1, 2});
  }

  TEST_CASE("an address outside the target's heap ends the job with a typed error") {
    auto out = make_outcome(1);
    native_scheduler scheduler({.threads = 1});
    agent gpu(scheduler);
    gravel_node net(gpu.core(), std::move(make_in_process(1)[0]), out.heaps[0], {});
    launch_config const config{.work_items = heap_words + 1};
    CHECK(gpu.run(config, increment_all{}, global<std::uint64_t>(out.heaps[0].data()),
                  std::ref(net.device())));
    auto const quiet = net.quiet();
    REQUIRE(quiet.has_error());
    CHECK(quiet.error().code == net_errc::outside_heap);
    CHECK(quiet.error().what.find("256 words") != std::string::npos);
    CHECK(net.quiet().error().code == net_errc::outside_heap); // and stays so
  }

  TEST_CASE("a node that goes away ends every wait of the others within the timeout") {
    auto ends = make_in_process(2);
    auto out = make_outcome(2);
    native_scheduler scheduler({.threads = 1});
    agent gpu(scheduler);
    gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0], {});
    ends[1].reset();
    auto const b = net.barrier();
    REQUIRE(b.has_error());
    CHECK(b.error().code == net_errc::peer_lost);
    CHECK(b.error().what.find("pe 1") != std::string::npos);
    auto const g = net.all_sum(1);
    CHECK(g.has_error());
  }

  TEST_CASE("a node that says nothing ends in a timeout that names it") {
    auto ends = make_in_process(3);
    auto out = make_outcome(1);
    native_scheduler scheduler({.threads = 1});
    agent gpu(scheduler);
    gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0],
                    {.timeout = std::chrono::milliseconds(50)});
    auto const b = net.quiet();
    REQUIRE(b.has_error());
    CHECK(b.error().code == net_errc::timeout);
    CHECK(b.error().what.find("pe 1, pe 2") != std::string::npos);
  }

  TEST_CASE("a frame that is none ends the job with bad_frame, and touches nothing") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      auto ends = make_in_process(2);
      auto out = make_outcome(1);
      native_scheduler scheduler({.threads = 1});
      agent gpu(scheduler);
      gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0],
                      {.timeout = std::chrono::milliseconds(50)});
      std::vector<std::uint32_t> frame(1 + random() % 12);
      std::generate(frame.begin(), frame.end(),
                    [&] { return static_cast<std::uint32_t>(random() % 6); });
      frame[0] = random() % 2 == 0 ? 1 : static_cast<std::uint32_t>(random() % 8 + 5);
      if (frame[0] == 1 && frame.size() > 2)
        frame[2] = 1000; // a run longer than its frame
      auto const bytes = std::as_bytes(std::span(frame));
      REQUIRE(ends[1]->try_send(pe{0}, bytes, {}).has_value());
      auto const q = net.all_sum(1);
      bool const is_empty_frame = frame[0] == 1 && frame.size() == 1;
      REQUIRE(q.has_error());
      CHECK(q.error().code == (is_empty_frame ? net_errc::timeout : net_errc::bad_frame));
      CHECK(std::all_of(out.heaps[0].begin(), out.heaps[0].end(), [](auto w) { return w == 0; }));
    }
  }

  TEST_CASE("options that cannot be are refused by name") {
    native_scheduler scheduler({.threads = 1});
    agent gpu(scheduler);
    std::vector<std::uint64_t> heap(8);
    auto const make = [&](gravel_node::options o) {
      gravel_node const net(gpu.core(), std::move(make_in_process(1)[0]), heap, o);
    };
    CHECK_THROWS_WITH(make({.style = "gravle"}),
                      doctest::Contains("allowed are gravel and no_aggregation"));
    CHECK_THROWS_WITH(make({.buffer_bytes = 6}), doctest::Contains("6 bytes"));
    CHECK_THROWS_WITH(make({.buffers_per_node = 1}), doctest::Contains("2 to 1024"));
    CHECK_THROWS_WITH(make({.queue_slots = 3}), doctest::Contains("powers of two"));
    CHECK_THROWS_WITH(make({.package_columns = 0}), doctest::Contains("1 to 1024"));
  }
}
