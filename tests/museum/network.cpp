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
case_world dissemination(arrival how) {
  return [how](world& w) {
    // 4 PEs and 2 rounds show the same, more slowly. Of 3, nobody leaves before its messages are
    // there.
    constexpr std::uint64_t pes = 2, rounds = 1, barriers = 2;
    auto flag_words = w.allocate<std::uint64_t>(8 * pes * rounds, "flags");
    auto const flags = flag_words.global();
    network net(w, pes * rounds * barriers);
    auto const id = [](std::uint64_t pe, std::uint64_t round, std::uint64_t barrier) {
      return (barrier - 1) * pes * rounds + pe * rounds + round;
    };
    for (std::uint64_t pe = 0; pe < pes; ++pe)
      for (std::uint64_t round = 0; round < rounds; ++round)
        for (std::uint64_t barrier = 1; barrier <= barriers; ++barrier) {
          auto const flag = flags + 8 * (((pe + (1U << round)) % pes) * rounds + round);
          net.expect(id(pe, round, barrier), [=](world_core& self) {
            if (how == arrival::add)
              self.fetch_add(flag, 1, order::acq_rel, scope::system);
            else
              self.store(flag, barrier, order::release, scope::system);
          });
        }
    for (std::uint64_t pe = 0; pe < pes; ++pe)
      w.start_task("PE " + std::to_string(pe), [=, &net](world_core& self) -> task<> {
        for (std::uint64_t barrier = 1; barrier <= barriers; ++barrier)
          for (std::uint64_t round = 0; round < rounds; ++round) {
            if (how == arrival::fence_and_set && barrier > 1) {
              auto ordered = net.fence(self, id(pe, round, barrier - 1));
              static_cast<void>(co_await ordered);
            }
            net.send(self, id(pe, round, barrier));
            auto come = at_least(self, flags + 8 * (pe * rounds + round), barrier);
            static_cast<void>(co_await come);
          }
      });
    w.join();
  };
}

/// NVSHMEM's ring reduce: each chunk is put with SIGNAL_ADD, and the next PE waits for k arrivals
/// before it reduces chunk k. Two chunks of one link.
/// Source   NVIDIA/nvshmem#84
case_world ring_reduce(bool signal_per_chunk) {
  return [=](world& w) {
    constexpr std::uint64_t chunks = 2;
    auto data_words = w.allocate<std::uint64_t>(8 * chunks, "data");
    auto signal_words = w.allocate<std::uint64_t>(8 * chunks, "signals");
    auto const data = data_words.global(), signals = signal_words.global();
    network net(w, chunks);
    for (std::uint64_t k = 0; k < chunks; ++k)
      net.expect(k, [=](world_core& self) {
        self.store(data + 8 * k, 10 + k);
        self.fetch_add(signals + (signal_per_chunk ? 8 * k : 0), 1, order::acq_rel, scope::system);
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
           {wrong_by_value("SET", dissemination(arrival::set)),
            right("fence, then SET", dissemination(arrival::fence_and_set)),
            right("ADD", dissemination(arrival::add))}},
          {"37",
           "NVSHMEM, ring reduce by SIGNAL_ADD",
           "#84",
           {wrong_by_value("one signal for all chunks", ring_reduce(false)),
            right("a signal per chunk", ring_reduce(true))}}};
}

} // namespace quarry_test
