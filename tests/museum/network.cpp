// SPDX-License-Identifier: Apache-2.0
// What relies on the order of a network that keeps none.
#include "exhibit.hpp"

using namespace quarry_test;
using namespace quarry::emu;

namespace {

using words = global<std::uint64_t>;

/// Messages that are under way: each is an actor, so that when it arrives is a decision. What its
/// sender did before it was sent has been seen by whoever sees it arrive.
class network {
public:
  network(world& w, std::uint64_t most)
      : world_(w), words_(w.allocate<std::uint64_t>(16 * most, "network")) {}

  /// Message `id`: once it is sent, `deliver` writes at its target.
  void expect(std::uint64_t id, std::function<void(world_core&)> deliver) {
    auto const sent = words_.global() + 16 * id, arrived = sent + 8;
    world_.start_task("message", [=, deliver = std::move(deliver)](world_core& self) -> task<> {
      auto under_way = nonzero(self, sent, order::acquire);
      static_cast<void>(co_await under_way);
      deliver(self);
      self.store(arrived, 1, order::release, scope::system);
    });
  }
  void send(world_core& self, std::uint64_t id) {
    self.store(words_.global() + 16 * id, 1, order::release, scope::system);
  }
  /// What is sent after it arrives after that message.
  auto fence(world_core& self, std::uint64_t id) {
    return nonzero(self, words_.global() + 16 * id + 8, order::acquire);
  }

private:
  world& world_;
  buffer<std::uint64_t> words_;
};

enum class arrival : std::uint8_t { set, fence_and_set, add };

/// NVSHMEM: in round k of a dissemination barrier a PE tells the one 2^k away that it has come. Of
/// two messages for one word, the late one of the barrier before may come last.
/// Source   NVIDIA/nvshmem PR#36
class dissemination {
public:
  dissemination(world& w, arrival how)
      : how_(how), flags_(w.allocate<std::uint64_t>(8 * pes * rounds, "flags")),
        net_(w, pes * rounds * barriers) {
    for (std::uint64_t m = 0; m < pes * rounds * barriers; ++m)
      net_.expect(m, [this, m](world_core& self) { deliver(self, m); });
  }

  task<> run(world_core& self, std::uint64_t pe) {
    for (std::uint64_t barrier = 0; barrier < barriers; ++barrier)
      for (std::uint64_t round = 0; round < rounds; ++round) {
        auto const m = (barrier * pes + pe) * rounds + round;
        if (how_ == arrival::fence_and_set && barrier != 0) {
          auto ordered = net_.fence(self, m - pes * rounds);
          static_cast<void>(co_await ordered);
        }
        net_.send(self, m);
        auto come = at_least(self, flag(pe, round), barrier + 1);
        static_cast<void>(co_await come);
      }
  }

  // 4 PEs and 2 rounds show the same, more slowly. Of 3 PEs, nobody leaves before its messages have
  // come.
  static constexpr std::uint64_t pes = 2, rounds = 1, barriers = 2;

private:
  words flag(std::uint64_t pe, std::uint64_t round) {
    return flags_.global() + 8 * (pe * rounds + round);
  }
  void deliver(world_core& self, std::uint64_t m) {
    auto const round = m % rounds, pe = m / rounds % pes, barrier = m / rounds / pes;
    words const at = flag((pe + (std::uint64_t{1} << round)) % pes, round);
    if (how_ == arrival::add)
      self.fetch_add(at, 1, order::acq_rel, scope::system);
    else
      self.store(at, barrier + 1, order::release, scope::system);
  }

  arrival how_;
  buffer<std::uint64_t> flags_;
  network net_;
};

case_world meet_twice(arrival how) {
  return [how](world& w) {
    dissemination barrier(w, how);
    for (std::uint64_t pe = 0; pe < dissemination::pes; ++pe)
      w.start_task("PE " + std::to_string(pe),
                   [&barrier, pe](world_core& self) { return barrier.run(self, pe); });
    w.join();
  };
}

/// NVSHMEM's ring reduce: each chunk is put with SIGNAL_ADD, and the next PE waits for k arrivals
/// before it reduces chunk k. Two chunks of one link.
/// Source   NVIDIA/nvshmem#84
case_world ring_reduce(bool signal_per_chunk) {
  return [=](world& w) {
    constexpr std::uint64_t chunks = 2;
    std::uint64_t const stride = signal_per_chunk ? 8 : 0;
    auto data_words = w.allocate<std::uint64_t>(8 * chunks, "data");
    auto signal_words = w.allocate<std::uint64_t>(8 * chunks, "signals");
    auto const data = data_words.global(), signals = signal_words.global();
    network net(w, chunks);
    for (std::uint64_t k = 0; k < chunks; ++k)
      net.expect(k, [=](world_core& self) {
        self.store(data + 8 * k, 10 + k);
        self.fetch_add(signals + stride * k, 1, order::acq_rel, scope::system);
      });
    w.start("PE 0", [=, &net](world_core& self) {
      for (std::uint64_t k = 0; k < chunks; ++k)
        net.send(self, k);
    });
    w.start_task("PE 1", [=, &w](world_core& self) -> task<> {
      for (std::uint64_t k = 0; k < chunks; ++k) {
        auto come =
            signal_per_chunk ? at_least(self, signals + 8 * k, 1) : at_least(self, signals, k + 1);
        static_cast<void>(co_await come);
        w.check(self.load(data + 8 * k) == 10 + k, "a chunk is reduced before it has come");
      }
    });
    w.join();
  };
}

} // namespace

namespace quarry_test {

std::vector<exhibit> network_exhibits() {
  return {{"36",
           "NVSHMEM, dissemination barrier by SET",
           "PR#36",
           {wrong("SET", meet_twice(arrival::set)),
            right("fence, then SET", meet_twice(arrival::fence_and_set)),
            right("ADD", meet_twice(arrival::add))}},
          {"37",
           "NVSHMEM, ring reduce by SIGNAL_ADD",
           "#84",
           {wrong("one signal for all chunks", ring_reduce(false)),
            right("a signal per chunk", ring_reduce(true))}}};
}

} // namespace quarry_test
