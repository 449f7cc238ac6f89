// SPDX-License-Identifier: Apache-2.0
// OpenSHMEM on three pes, where a meeting has two rounds: a team's collectives that move data, and
// waits for one, some and all of several words, while the network reorders what no fence orders.
#include "few_nodes.hpp"
#include "targets.hpp"

#include <quarry/net/shmem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;

constexpr std::uint32_t three = 3;
constexpr std::size_t each = 2; // words of 8 bytes: one alone would be put with an order of its own

/// One of the pes.
struct member {
  world& w;
  world_core& self;
  explored_agent& gpu;
  shmem::node& n;
  std::uint32_t id;

  [[nodiscard]] std::uint64_t* word(std::size_t i) const {
    return reinterpret_cast<std::uint64_t*>(n.local({i * 8}));
  }
  [[nodiscard]] std::uint64_t load(std::size_t i) const {
    return self.load(global<std::uint64_t>(word(i)));
  }
  void store(std::size_t i, std::uint64_t value) const {
    self.store(global<std::uint64_t>(word(i)), value);
  }
  void check_ok(result<void> const& r) const {
    w.check(static_cast<bool>(r), r ? "" : r.error().what);
  }
};

void run_members(world& w, weakening const* weak, std::size_t words,
                 std::function<void(member const&)> const& body) {
  shmem::node::options const options{.heap_bytes = words * 8,
                                     .most_teams = 1,
                                     .team_bytes = 256,
                                     .orders = weakened<shmem::shmem_orders>(weak)};
  auto ends = make_in_process(three);
  for (std::uint32_t id = 0; id < three; ++id)
    w.start("pe " + std::to_string(id), [&, id](world_core& self) {
      explored_agent gpu(w.scheduler(), node_machine);
      auto n = shmem::node::start(gpu.core(), std::move(ends[id]), options);
      w.check(n.has_value(), n ? "" : n.error().what);
      if (!n)
        return;
      member const me{w, self, gpu, *n, id};
      body(me);
      me.check_ok(n->finish());
    });
  w.join();
}

// Collectives that move data

constexpr std::uint64_t rounds = 2;                // a second one shows whether the first was over
constexpr std::size_t from = 0, to = three * each; // places in the heap
constexpr std::size_t collective_words = 2 * to;

/// What `sender` has for `receiver`: word `i`.
constexpr std::uint64_t part_of(std::uint64_t round, std::uint32_t sender, std::uint32_t receiver,
                                std::size_t i) {
  return 1000 * round + std::uint64_t{100} * sender + std::uint64_t{10} * receiver + i;
}

/// Of which one pe has none to collect, and one as many as there are.
constexpr std::size_t own_words(std::uint64_t round, std::size_t p) {
  return (p + round) % three;
}

/// Nobody writes into a destination before its pe has come to the next collective: each looks at
/// what it has received without a barrier.
void exchange_all(member const& m) {
  shmem::team& all = m.n.world();
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (std::uint32_t p = 0; p < three; ++p)
      for (std::size_t i = 0; i < each; ++i)
        m.store(from + p * each + i, part_of(round, m.id, p, i));
    auto const root = static_cast<std::uint32_t>(round % three);
    m.check_ok(all.broadcast(m.word(to), m.word(from), each, root));
    for (std::size_t i = 0; i < each; ++i)
      m.w.check(m.load(to + i) == part_of(round, root, 0, i), "not what the root has broadcast");
    m.check_ok(all.fcollect(m.word(to), m.word(from), each));
    for (std::uint32_t p = 0; p < three; ++p)
      for (std::size_t i = 0; i < each; ++i)
        m.w.check(m.load(to + p * each + i) == part_of(round, p, 0, i),
                  "not what everybody has collected");
    m.check_ok(all.collect(m.word(to), m.word(from), own_words(round, m.id)));
    for (std::size_t p = 0, at = to; p < three; at += own_words(round, p), ++p)
      for (std::size_t i = 0; i < own_words(round, p); ++i)
        m.w.check(m.load(at + i) == part_of(round, static_cast<std::uint32_t>(p), 0, i),
                  "not what each has collected of its own");
    m.check_ok(all.alltoall(m.word(to), m.word(from), each));
    for (std::uint32_t p = 0; p < three; ++p)
      for (std::size_t i = 0; i < each; ++i)
        m.w.check(m.load(to + p * each + i) == part_of(round, p, m.id, i),
                  "not what each has sent to each");
  }
}

// Waits for several words

constexpr std::size_t flags = 5; // two of each pe that gives, and one of the taker's own kernel
constexpr std::size_t of_first = 0, of_last = 2, of_kernel = 4;
constexpr std::size_t flag_words = 0, data_words = 8, wait_words = data_words + flags * each;
constexpr std::uint32_t taker = 1;

/// Data and its flag, twice: a flag that is put, or a signal that is added.
void give_flags(member const& m) {
  shmem::context& c = m.n.default_context();
  std::size_t const first = m.id == 0 ? of_first : of_last;
  for (std::size_t flag = first; flag < first + 2; ++flag) {
    std::array<std::uint64_t, each> const data{10 * flag + 1, 10 * flag + 2};
    std::uint64_t* const to = m.word(data_words + flag * each);
    std::uint64_t* const at = m.word(flag_words + flag);
    if (m.id == 0) {
      m.check_ok(c.put(to, data, pe{taker}));
      c.fence();
      m.check_ok(c.p(at, 1, pe{taker}));
    } else {
      m.check_ok(c.put_signal(to, data, at, 1, shmem::signal_op::add, pe{taker}));
    }
  }
}

/// The data of a flag that is met.
void check_data(auto& who, world& w, global<std::uint64_t> words, std::size_t flag) {
  auto const data = words + data_words + flag * each;
  std::uint64_t const first = who.load(data);
  std::uint64_t const second = who.load(data + 1);
  w.check(first == 10 * flag + 1 && second == 10 * flag + 2, "a flag came before its data");
}

/// Waits for a flag of each of the others, and gives one of its own.
struct flag_from_kernel {
  task<> operator()(any_wavefront auto& wf, world& w, global<std::uint64_t> words) const {
    auto const is_set = [](std::uint64_t v) { return v == 1; };
    for (std::size_t const flag : {of_first, of_last}) {
      static_cast<void>(
          co_await wf.wait_until(words + flag_words + flag, is_set, order::acquire, scope::system));
      check_data(wf, w, words, flag);
    }
    for (std::size_t i = 0; i < each; ++i)
      wf.store(words + data_words + of_kernel * each + i, 10 * of_kernel + 1 + i);
    wf.store(words + flag_words + of_kernel, 1, order::release, scope::system);
  }
};

/// Waits for any of the flags; for some of the others; for all. What is met has its data.
void take_flags(member const& m) {
  global<std::uint64_t> const heap(m.word(0));
  auto const words = std::span<std::uint64_t const>(m.word(flag_words), flags);
  auto const any = m.n.wait_until_any(words, shmem::comparison::equal, 1);
  m.w.check(any && *any, any ? "it waits for nothing" : any.error().what);
  if (!any || !*any)
    return;
  check_data(m.self, m.w, heap, **any);
  std::array<bool, flags> is_known{};
  is_known[**any] = true;
  auto const some = m.n.wait_until_some(words, shmem::comparison::equal, 1, is_known);
  m.w.check(some && !some->empty(), some ? "it waits for nothing" : some.error().what);
  if (!some)
    return;
  for (std::size_t const flag : *some) {
    m.w.check(!is_known[flag], "a word that is skipped was met");
    check_data(m.self, m.w, heap, flag);
  }
  m.check_ok(m.n.wait_until_all(words, shmem::comparison::equal, 1));
  for (std::size_t flag = 0; flag < flags; ++flag)
    check_data(m.self, m.w, heap, flag);
}

void give_or_take(member const& m) {
  if (m.id != taker)
    return give_flags(m);
  auto beside = m.gpu.launch({.work_items = 32, .work_items_per_group = 32}, flag_from_kernel{},
                             std::ref(m.w), global(m.word(0)));
  take_flags(m);
  static_cast<void>(beside.wait());
}

std::vector<weakening> orders_without(std::string_view entry) {
  auto all = weakenings_of<shmem::shmem_orders>();
  std::erase_if(all, [&](weakening const& w) { return w.entry == entry; });
  return all;
}

} // namespace

target shmem_collectives_target() {
  return {
      .name = "shmem-collectives",
      .what = "three pes: broadcast, fcollect, collect and alltoall, twice, each looked at without "
              "a barrier",
      .weakenings = orders_without("fetch_word"), // by nobody
      .run = [](world& w,
                weakening const* weak) { run_members(w, weak, collective_words, exchange_all); },
      .most_decisions = 100'000,
      // Hosts alone touch a team's words, and they are one agent. What a meeting orders, a look
      // at what has come before others put there anew, its network interface orders as well: it
      // has sent that the pe has come before it brings any of that. An arrival that is counted
      // goes on with the release sequence of those before it.
      .indistinguishable = {"apply_word=relaxed", "apply_word=agent", "apply_update=release",
                            "apply_update=agent", "wait=agent"}};
}

target shmem_waits_target() {
  return {.name = "shmem-waits",
          .what = "two pes put data and flags, or add signals; the third one, whose kernel gives a "
                  "flag of its own, waits for any, for some of the others, for all",
          .weakenings = orders_without("fetch_word"),
          .run = [](world& w,
                    weakening const* weak) { run_members(w, weak, wait_words, give_or_take); },
          .most_decisions = 100'000,
          .indistinguishable = {"apply_update=release"}}; // a signal has one pe that adds to it
}

} // namespace quarry::exploration
