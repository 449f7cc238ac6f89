// SPDX-License-Identifier: Apache-2.0
// put_flag_over_mpi BYTES TIMES: two pes of OpenSHMEM on the transport `mpi` put a word of 8 bytes
// to and fro, each waits for the other's; pe 0 prints the seconds that one way took.
#include <quarry/native_scheduler.hpp>
#include <quarry/net.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace quarry::net;
using clock = std::chrono::steady_clock;

void play(shmem::node& n, std::uint64_t times) {
  std::uint64_t* const flag = n.malloc<std::uint64_t>(1).value().data();
  bool const is_first = n.self().id == 0;
  pe const other{1 - n.self().id};
  std::uint64_t round = 0;
  auto const play_rounds = [&](std::uint64_t count) {
    for (std::uint64_t const end = round + count; round != end;) {
      ++round;
      if (is_first)
        n.default_context().p(flag, round, other).value();
      n.wait_until(flag, shmem::comparison::equal, round).value();
      if (!is_first)
        n.default_context().p(flag, round, other).value();
    }
  };
  play_rounds(1 + times / 10);
  n.barrier_all().value();
  auto const begun = clock::now();
  play_rounds(times);
  double const seconds = std::chrono::duration<double>(clock::now() - begun).count();
  n.barrier_all().value();
  if (is_first)
    std::printf("%.9f\n", seconds / static_cast<double>(times) / 2);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::string(argv[1]) != "8") {
    std::fputs("usage: put_flag_over_mpi 8 TIMES, on two ranks\n", stderr);
    return 2;
  }
  job const j = mpi::find_job(std::chrono::seconds{30}).value();
  quarry::native_scheduler scheduler({.threads = 1});
  auto n = shmem::node::start(scheduler, mpi::open(j).value(), {.heap_bytes = 4096});
  play(n.value(), std::strtoull(argv[2], nullptr, 10));
  n->finish().value();
}
