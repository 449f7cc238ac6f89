// SPDX-License-Identifier: Apache-2.0
// put_flag_over_mpi BYTES TIMES: two pes of OpenSHMEM on the transport `mpi` put a word of 8 bytes
// and its flag to and fro, each waits for the other's; pe 0 prints the seconds that one way took.
// Exit status 1: another word came than was sent.
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

bool play(shmem::node& n, std::uint64_t times) {
  std::uint64_t* const word = n.malloc<std::uint64_t>(2).value().data();
  std::uint64_t* const flag = word + 1;
  bool const is_first = n.self().id == 0;
  pe const other{1 - n.self().id};
  std::uint64_t round = 0;
  bool is_right = true;
  auto const put = [&] {
    std::uint64_t const payload = ~round;
    n.default_context()
        .put_signal(word, {&payload, 1}, flag, round, shmem::signal_op::set, other)
        .value();
  };
  auto const play_rounds = [&](std::uint64_t count) {
    for (std::uint64_t const end = round + count; round != end;) {
      ++round;
      if (is_first)
        put();
      n.wait_until(flag, shmem::comparison::equal, round).value();
      is_right = is_right && *word == ~round;
      if (!is_first)
        put();
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
  return is_right;
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
  bool const is_right = play(n.value(), std::strtoull(argv[2], nullptr, 10));
  n->finish().value();
  return is_right ? 0 : 1;
}
