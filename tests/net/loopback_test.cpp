// SPDX-License-Identifier: Apache-2.0
// What a well-behaved job does; loopback_strangers_test.cpp and loopback_faults_test.cpp have the
// rest.
#include "raw_peer.hpp"
#include "transport_leaving_contract.hpp"

#include <quarry/net/loopback.hpp>

#include <array>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace quarry::net;
using namespace std::chrono_literals;

namespace {

contract::ends make(std::uint32_t pe_count) {
  auto const jobs = make_local_jobs(pe_count, 10s).value();
  contract::ends all(pe_count);
  std::vector<std::string> wrong(pe_count);
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < pe_count; ++i)
    threads.emplace_back([&, i] {
      auto opened = loopback::open(jobs[i]);
      if (opened)
        all[i] = *std::move(opened);
      else
        wrong[i] = opened.error().what;
    });
  threads.clear();
  contract::all_well(wrong);
  for (auto const& end : all)
    REQUIRE(end != nullptr);
  return all;
}

/// What a child process does as pe `id`: 0 if all was well.
int run_child(job const& j) {
  auto const opened = loopback::open(j);
  if (!opened)
    return 1;
  if (!contract::exchange(**opened, 300).empty())
    return 2;
  return (*opened)->finish() ? 0 : 3;
}

} // namespace

TEST_SUITE("net.loopback") {
  TEST_CASE("loopback: delivery") {
    contract::delivers(make);
  }
  TEST_CASE("loopback: limits") {
    contract::limits(make);
  }
  TEST_CASE("loopback: ends") {
    contract::ends_well_or_says_so(make);
  }
  TEST_CASE("loopback: leaving") {
    contract::finishes_alone(make);
  }

  TEST_CASE("processes exchange messages as threads do") {
    constexpr std::uint32_t pes = 3;
    auto const jobs = make_local_jobs(pes, 20s).value();
    std::vector<pid_t> children;
    for (std::uint32_t i = 1; i < pes; ++i) {
      auto const child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0)
        ::_exit(run_child(jobs[i]));
      children.push_back(child);
    }
    for (std::uint32_t i = 1; i < pes; ++i)
      ::close(jobs[i].listen_fd);
    CHECK(run_child(jobs[0]) == 0);
    for (auto const child : children) {
      int status = -1;
      CHECK(::waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
  }

  TEST_CASE("a job with an impossible timeout is refused before anybody is waited for") {
    for (auto const timeout : {0ms, std::chrono::milliseconds(-5000), max_job_timeout + 1ms,
                               std::chrono::milliseconds::max()}) {
      auto jobs = make_local_jobs(2, 10s).value();
      jobs[0].timeout = timeout;
      auto const opened = loopback::open(jobs[0]);
      REQUIRE_FALSE(opened);
      CHECK(opened.error().code == net_errc::bad_environment);
      CHECK(opened.error().what.find("allowed are 1 to 86400000") != std::string::npos);
      ::close(jobs[1].listen_fd);
    }
  }

  TEST_CASE("a pe without a listening socket binds its own port") {
    auto jobs = make_local_jobs(2, 10s).value();
    for (job& j : jobs)
      ::close(std::exchange(j.listen_fd, -1)); // the ports were free a moment ago
    contract::ends all(2);
    std::vector<std::string> wrong(2);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        auto opened = loopback::open(jobs[i]);
        if (opened)
          all[i] = *std::move(opened);
        else
          wrong[i] = opened.error().what;
      });
    threads.clear();
    contract::all_well(wrong);
    REQUIRE(all[0]);
    REQUIRE(all[1]);
    contract::all_well(
        contract::in_threads(all, [](transport_port& end) { return contract::exchange(end, 10); }));
    contract::all_well(contract::in_threads(all, contract::finish));
  }

  TEST_CASE("what a pe said before it went is heard, though another one tells first that it went") {
    auto all = make(3);
    std::array<std::byte, 8> const some{}, why{std::byte{1}};
    REQUIRE(all[0]->try_send(pe{1}, some, {}).value());
    REQUIRE(all[2]->try_send(pe{1}, why, {}).value());
    all[2].reset();
    auto const deadline = std::chrono::steady_clock::now() + 10s;
    auto const fails = [&](transport_port& end, transport_port::sink const& deliver) {
      quarry::result<std::size_t> got = end.poll(deliver);
      for (; got && std::chrono::steady_clock::now() < deadline; got = end.poll(deliver))
        end.wait(1ms);
      return got.has_error();
    };
    REQUIRE(fails(*all[0], [](pe, std::span<std::byte const>) {}));
    all[0].reset(); // its word of pe 2 stands behind its message, which came before pe 2's
    std::vector<std::uint32_t> heard;
    REQUIRE(fails(*all[1], [&](pe from, std::span<std::byte const> bytes) {
      heard.push_back(from.id);
      CHECK((bytes[0] == std::byte{1}) == (from == pe{2}));
    }));
    CHECK(heard == std::vector<std::uint32_t>{0, 2});
  }

  TEST_CASE("who has left in order takes nothing more, and breaks nothing between the others") {
    auto const all = make(3);
    std::jthread const leaves([&] { static_cast<void>(all[2]->finish()); });
    std::array<std::byte, 8> const some{};
    quarry::result<bool> sent = true;
    while (sent) { // until the goodbye has come
      sent = all[0]->try_send(pe{2}, some, {});
      static_cast<void>(all[0]->poll([](pe, std::span<std::byte const>) {}));
    }
    CHECK(sent.error().code == net_errc::peer_lost);
    REQUIRE(all[0]->try_send(pe{1}, some, {}).value());
    std::size_t came = 0;
    while (came == 0) {
      auto const got = all[1]->poll([](pe, std::span<std::byte const>) {});
      REQUIRE(got.has_value());
      came = *got;
    }
    CHECK(all[0]->poll([](pe, std::span<std::byte const>) {}).has_value());
    std::jthread const other([&] { static_cast<void>(all[1]->finish()); });
    static_cast<void>(all[0]->finish());
  }

  TEST_CASE("no program that a pe starts keeps its connections open") {
    auto const all = make(2);
    int connections = 0;
    for (int fd = 3; fd < 1024; ++fd) {
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
          peer.sin_family != AF_INET)
        continue;
      ++connections;
      CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
    CHECK(connections == 2);
  }

  TEST_CASE("finish() may be called again and says the same") {
    auto all = make(2);
    contract::all_well(contract::in_threads(all, contract::finish));
    CHECK(all[0]->finish().has_value());
    CHECK(all[1]->finish().has_value());
  }
}
