// SPDX-License-Identifier: Apache-2.0
// OpenSHMEM between threads of one process, each a pe, straight into the heap or over 127.0.0.1:
//   shmem_put_flag/who/how    8 bytes and their flag put until who waits for it goes on, half a
//                             round trip; of a peer, a message of 8 bytes
//   shmem_bandwidth/who/how/<bytes>   one after the other, the last one waited for
//   allreduce/who/<ranks>/<bytes>     floats, in place
//   shmem_idle/who/<pes>              nodes to which nothing happens: `cores` kept busy
//   shmem_waiting_hosts/who/<pes>, shmem_waiting_kernels/who/<pes>   the same while they wait
#include "bench.hpp"
#include "idle_job.hpp"
#include "mpi_jobs.hpp"

#include <quarry/native_scheduler.hpp>
#include <quarry/net.hpp>

#include <benchmark/benchmark.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace quarry::bench {
namespace {

using net::pe;
using net::shmem::comparison;
using net::shmem::node;
using net::shmem::reduction;
using net::shmem::signal_op;
using ends = std::vector<std::unique_ptr<net::transport_port>>;
using maker = ends (*)(std::uint32_t pe_count);

constexpr pe first{0}, second{1};

ends in_process(std::uint32_t pe_count) {
  ends all;
  for (auto& end : net::make_in_process(pe_count))
    all.push_back(std::move(end));
  return all;
}
ends loopback(std::uint32_t pe_count) {
  auto const jobs = net::make_local_jobs(pe_count, std::chrono::seconds{10}).value();
  ends all(pe_count);
  std::vector<std::jthread> threads;
  threads.reserve(pe_count);
  for (std::uint32_t i = 0; i < pe_count; ++i)
    threads.emplace_back([&, i] { all[i] = net::loopback::open(jobs[i]).value(); });
  threads.clear();
  return all;
}

/// Runs `mine` as pe 0 and `theirs` as the others. What goes wrong ends the process.
void run_pes(maker make, std::uint32_t pe_count, std::size_t heap_bytes,
             std::function<void(node&)> const& mine, std::function<void(node&)> const& theirs) {
  ends all = make(pe_count);
  auto const run = [&](std::uint32_t id, auto const& body) {
    native_scheduler scheduler({.threads = 1});
    auto n = node::start(scheduler, std::move(all[id]), {.heap_bytes = heap_bytes});
    body(n.value());
    n->finish().value();
  };
  std::vector<std::jthread> others;
  for (std::uint32_t id = 1; id < pe_count; ++id)
    others.emplace_back([&, id] { run(id, theirs); });
  run(0, mine);
}

/// A word and its flag: who has seen the flag finds the word.
struct flagged_word {
  explicit flagged_word(node& n)
      : word(n.malloc<std::uint64_t>(2).value().data()), flag(word + 1), n_(n) {}
  void put(std::uint64_t round, pe target) {
    std::uint64_t const payload = ~round;
    n_.default_context()
        .put_signal(word, {&payload, 1}, flag, round, signal_op::set, target)
        .value();
  }

  std::uint64_t* word;
  std::uint64_t* flag;

private:
  node& n_;
};

void put_flag(benchmark::State& state, maker make) {
  constexpr std::uint64_t no_more = ~std::uint64_t{0};
  run_pes(
      make, 2, 4096,
      [&](node& n) {
        flagged_word mine(n);
        std::uint64_t round = 0;
        bool is_right = true;
        // Two iterations each: the time of one is half a round trip.
        while (state.KeepRunningBatch(2)) {
          mine.put(++round, second);
          n.wait_until(mine.flag, comparison::equal, round).value();
          is_right = is_right && *mine.word == ~round;
        }
        mine.put(no_more, second);
        check(state, is_right, "a put was lost");
        state.SetItemsProcessed(static_cast<std::int64_t>(2 * round));
      },
      [](node& n) {
        flagged_word mine(n);
        for (std::uint64_t round = 1;; ++round) {
          n.wait_until(mine.flag, comparison::greater_equal, round).value();
          if (*mine.flag == no_more)
            return;
          mine.put(round, first);
        }
      });
}

void bandwidth(benchmark::State& state, maker make) {
  auto const bytes = static_cast<std::size_t>(state.range(0));
  run_pes(
      make, 2, 2 * bytes,
      [&](node& n) {
        std::byte* const dest = n.malloc<std::byte>(bytes).value().data();
        std::vector<std::byte> const source(bytes, std::byte{7});
        auto& c = n.default_context();
        for (auto _ : state)
          c.put(dest, source, second).value();
        c.quiet().value();
        check(state, c.g(dest + bytes - 1, second).value() == std::byte{7}, "a put was lost");
        state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
        n.barrier_all().value();
      },
      [&](node& n) {
        static_cast<void>(n.malloc<std::byte>(bytes).value());
        n.barrier_all().value();
      });
}

void allreduce(benchmark::State& state, maker make) {
  auto const ranks = static_cast<std::uint32_t>(state.range(0));
  auto const count = static_cast<std::size_t>(state.range(1)) / sizeof(float);
  // The first element says how many know that it is the last time, the last one how many came.
  auto const all = [&](node& n, float ends) {
    auto const v = n.malloc<float>(count).value();
    return [&n, v, ends, ranks](bool is_last) {
      v.front() = is_last ? ends : 0;
      v.back() = 1;
      n.world().reduce(reduction::sum, v.data(), v.data(), v.size()).value();
      if (v.back() != static_cast<float>(ranks))
        throw std::runtime_error("a sum is wrong");
      return v.front() != 0;
    };
  };
  run_pes(
      make, ranks, count * sizeof(float) + 4096,
      [&](node& n) {
        auto const reduce = all(n, 1);
        for (auto _ : state)
          reduce(false);
        check(state, reduce(true), "the last sum is wrong");
        state.SetBytesProcessed(state.range(1) * state.iterations());
      },
      [&](node& n) {
        auto const reduce = all(n, 0);
        while (!reduce(false)) {
        }
      });
}

/// A job of Open MPI: a process a rank, which take their own time.
void run_job(benchmark::State& state, mpi_over how, char const* program, std::int64_t ranks,
             std::int64_t bytes, std::int64_t times) {
  for (auto _ : state) {
    auto const seconds = mpi_seconds(how, program, ranks, bytes, times);
    check(state, seconds.has_value(), "the job of MPI failed");
    state.SetIterationTime(seconds.value_or(1));
  }
}

void mpi_allreduce(benchmark::State& state, mpi_over how) {
  std::int64_t const bytes = state.range(1);
  run_job(state, how, "allreduce_mpi", state.range(0), bytes,
          bytes <= 1024        ? 2000
          : bytes <= 1'048'576 ? 200
                               : 5);
  state.SetBytesProcessed(bytes * state.iterations());
}

/// 8 bytes to and fro.
void mpi_ping_pong(benchmark::State& state, mpi_over how, char const* program) {
  run_job(state, how, program, 2, 8, 100'000);
  state.SetItemsProcessed(state.iterations());
}

/// Of a core, that a job may use in which nobody calls anything: a job of eight nodes at least.
constexpr double idle_share = 0.02;

/// Says how much of a core was used, and fails where that is too much.
void report_idle(benchmark::State& state, double cores, idling how) {
  state.counters["cores"] = cores;
  auto const too_much = "an idle job has used " + std::to_string(100 * cores) +
                        " % of a core; it may use less than 2";
  check(state, how != idling::nothing || cores < idle_share, too_much.c_str());
}

/// A second in which nothing happens.
void idle_together(benchmark::State& state, maker make, idling how) {
  constexpr int seconds = 1;
  double used = 0;
  for (auto _ : state) {
    ends all = make(static_cast<std::uint32_t>(state.range(0)));
    std::vector<std::jthread> others;
    for (std::size_t id = 1; id < all.size(); ++id)
      others.emplace_back([&, id] { idle(std::move(all[id]), how, seconds); });
    used += idle(std::move(all[0]), how, seconds);
  }
  report_idle(state, used / seconds / static_cast<double>(state.iterations()), how);
}

void mpi_idle(benchmark::State& state, mpi_over over, idling how) {
  double cores = 0;
  for (auto _ : state) {
    auto const used = mpi_seconds(over, "idle_over_mpi", state.range(0), static_cast<int>(how), 1);
    check(state, used.has_value(), "the job of MPI failed");
    cores += used.value_or(0);
  }
  report_idle(state, cores / static_cast<double>(state.iterations()), how);
}

// The same by Asio alone

using tcp = boost::asio::ip::tcp;

struct connection {
  boost::asio::io_context io;
  tcp::socket near{io}, far{io};
  connection() {
    tcp::acceptor listening(io, {boost::asio::ip::address_v4::loopback(), 0});
    near.connect(listening.local_endpoint());
    listening.accept(far);
    near.set_option(tcp::no_delay(true));
    far.set_option(tcp::no_delay(true));
  }
};

std::uint64_t polled_word(tcp::socket& socket) {
  std::uint64_t word = 0;
  boost::system::error_code e;
  while (socket.read_some(boost::asio::buffer(&word, sizeof word), e) != sizeof word)
    if (e != boost::asio::error::would_block)
      throw boost::system::system_error(e);
  return word;
}

void asio_polled(benchmark::State& state) {
  connection c;
  c.near.non_blocking(true);
  c.far.non_blocking(true);
  constexpr std::uint64_t no_more = ~std::uint64_t{0};
  std::jthread const other([&] {
    for (std::uint64_t word = 0; (word = polled_word(c.far)) != no_more;)
      boost::asio::write(c.far, boost::asio::buffer(&word, sizeof word));
  });
  std::uint64_t round = 0, back = 0;
  while (state.KeepRunningBatch(2)) {
    ++round;
    boost::asio::write(c.near, boost::asio::buffer(&round, sizeof round));
    back = polled_word(c.near);
  }
  boost::asio::write(c.near, boost::asio::buffer(&no_more, sizeof no_more));
  check(state, back == round, "a word was lost");
  state.SetItemsProcessed(static_cast<std::int64_t>(2 * round));
}

void asio_stream(benchmark::State& state) {
  connection c;
  auto const bytes = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> const source(bytes, std::byte{7});
  std::vector<std::byte> dest(bytes);
  std::jthread const other([&] {
    boost::system::error_code e;
    while (!e)
      boost::asio::read(c.far, boost::asio::buffer(dest), e);
    std::byte const done{1};
    boost::asio::write(c.far, boost::asio::buffer(&done, 1));
  });
  for (auto _ : state)
    boost::asio::write(c.near, boost::asio::buffer(source));
  c.near.shutdown(tcp::socket::shutdown_send);
  std::byte done{0};
  boost::asio::read(c.near, boost::asio::buffer(&done, 1));
  check(state, done == std::byte{1} && dest.back() == std::byte{7}, "bytes were lost");
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void register_rows() {
  using benchmark::RegisterBenchmark;
  using namespace std::string_literals;
  constexpr std::pair<mpi_over, char const*> over_mpi[] = {
      {mpi_over::shared_memory, "shared_memory"}, {mpi_over::tcp, "tcp"}};
  RegisterBenchmark("shmem_put_flag/quarry/in_process", put_flag, in_process)->UseRealTime();
  RegisterBenchmark("shmem_put_flag/quarry/loopback", put_flag, loopback)->UseRealTime();
  RegisterBenchmark("shmem_put_flag/asio_polled/loopback", asio_polled)->UseRealTime();
  if (has_mpi())
    for (auto const& [how, name] : over_mpi) {
      for (auto const& [who, program] :
           {std::pair("quarry/mpi_", "put_flag_over_mpi"), std::pair("mpi/", "ping_pong_mpi")})
        RegisterBenchmark(("shmem_put_flag/"s + who + name).c_str(), mpi_ping_pong, how, program)
            ->Iterations(1)
            ->UseManualTime();
    }
  for (std::int64_t const bytes : {65'536, 1'048'576}) {
    RegisterBenchmark("shmem_bandwidth/quarry/in_process", bandwidth, in_process)
        ->Arg(bytes)
        ->UseRealTime();
    RegisterBenchmark("shmem_bandwidth/quarry/loopback", bandwidth, loopback)
        ->Arg(bytes)
        ->UseRealTime();
    RegisterBenchmark("shmem_bandwidth/asio_stream/loopback", asio_stream)
        ->Arg(bytes)
        ->UseRealTime();
  }
  for (idling const how : {idling::nothing, idling::hosts, idling::kernels}) {
    std::string const row = idling_names[static_cast<std::size_t>(how)];
    for (auto const& [make, name] :
         {std::pair(&in_process, "/quarry_in_process"), std::pair(&loopback, "/quarry_loopback")})
      RegisterBenchmark((row + name).c_str(), idle_together, make, how)
          ->Arg(8)
          ->Iterations(1)
          ->UseRealTime();
    if (has_mpi())
      for (auto const& [over, name] : over_mpi)
        RegisterBenchmark((row + "/quarry_mpi_" + name).c_str(), mpi_idle, over, how)
            ->Arg(8)
            ->Iterations(1)
            ->UseRealTime();
  }
  for (std::int64_t const ranks : {2, 4, 8})
    for (std::int64_t const bytes : {8, 1024, 65'536, 1'048'576, 8'388'608, 67'108'864}) {
      RegisterBenchmark("allreduce/quarry_in_process", allreduce, in_process)
          ->Args({ranks, bytes})
          ->UseRealTime();
      RegisterBenchmark("allreduce/quarry_loopback", allreduce, loopback)
          ->Args({ranks, bytes})
          ->UseRealTime();
      if (has_mpi())
        for (auto const& [how, name] : over_mpi)
          RegisterBenchmark(("allreduce/mpi_"s + name).c_str(), mpi_allreduce, how)
              ->Args({ranks, bytes})
              ->Iterations(1)
              ->UseManualTime();
    }
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  quarry::bench::register_rows();
  return quarry::bench::run(argc, argv);
}
