// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/job.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <fcntl.h>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace quarry::net;

namespace {

/// The variables of a job while it lives; none of them afterwards.
class environment {
public:
  explicit environment(std::vector<std::pair<std::string, std::string>> const& variables) {
    clear();
    for (auto const& [name, value] : variables)
      ::setenv(name.c_str(), value.c_str(), 1);
  }
  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;
  ~environment() { clear(); }

private:
  static void clear() {
    for (auto const* name : {"RANK", "SIZE", "TOKEN", "ADDRESSES", "TIMEOUT_MS", "LISTEN_FD"})
      ::unsetenv((std::string{"QUARRY_"} + name).c_str());
  }
};

std::vector<std::pair<std::string, std::string>> good_variables() {
  return {{"QUARRY_RANK", "1"},
          {"QUARRY_SIZE", "2"},
          {"QUARRY_TOKEN", "00112233445566778899aabbccddeeff"},
          {"QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0.1:5002"},
          {"QUARRY_TIMEOUT_MS", "2500"},
          {"QUARRY_LISTEN_FD", "7"}};
}

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_SUITE("net.job") {
  TEST_CASE("a job is read whole from its environment") {
    environment const set{good_variables()};
    auto const j = job_from_environment();
    REQUIRE(j.has_value());
    CHECK(j->self == pe{1});
    CHECK(j->pe_count == 2);
    CHECK(j->token == job_token{0x0011223344556677, 0x8899aabbccddeeff});
    CHECK(j->endpoints == std::vector<endpoint>{{"127.0.0.1", 5001}, {"127.0.0.1", 5002}});
    CHECK(j->timeout == std::chrono::milliseconds{2500});
    CHECK(j->listen_fd == 7);
  }

  TEST_CASE("what environment_of writes, job_from_environment reads back") {
    for (int const fd : {-1, 12}) {
      job const written{.self = pe{2},
                        .pe_count = 3,
                        .token = job_token::random(),
                        .endpoints = {{"127.0.0.1", 1}, {"127.0.0.1", 2}, {"127.0.0.1", 65535}},
                        .timeout = std::chrono::milliseconds{77},
                        .listen_fd = fd};
      std::vector<std::pair<std::string, std::string>> variables;
      for (auto const& line : environment_of(written)) {
        auto const equals = line.find('=');
        variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
      }
      environment const set{variables};
      auto const read = job_from_environment();
      REQUIRE(read.has_value());
      CHECK(*read == written);
    }
  }

  TEST_CASE("the timeout and the descriptor have defaults; nothing else has") {
    for (auto const& [missing, ignored] : good_variables()) {
      CAPTURE(missing);
      auto variables = good_variables();
      std::erase_if(variables, [&](auto const& v) { return v.first == missing; });
      environment const set{variables};
      auto const j = job_from_environment();
      if (missing == "QUARRY_TIMEOUT_MS") {
        REQUIRE(j.has_value());
        CHECK(j->timeout == std::chrono::milliseconds{10'000});
      } else if (missing == "QUARRY_LISTEN_FD") {
        REQUIRE(j.has_value());
        CHECK(j->listen_fd == -1);
      } else {
        REQUIRE_FALSE(j.has_value());
        CHECK(j.error().code == net_errc::bad_environment);
        CHECK(contains(j.error().what, missing + " is not set"));
      }
    }
  }

  TEST_CASE("a value that is not allowed is refused by name, value and what is allowed") {
    struct bad {
      std::string name, value, allowed;
    };
    std::vector<bad> const cases{
        {"QUARRY_RANK", "2", "0 to 1"},
        {"QUARRY_RANK", "-1", "0 to 1"},
        {"QUARRY_RANK", "", "0 to 1"},
        {"QUARRY_RANK", "1x", "0 to 1"},
        {"QUARRY_RANK", "18446744073709551617", "0 to 1"},
        {"QUARRY_SIZE", "0", "1 to 1024"},
        {"QUARRY_SIZE", "1025", "1 to 1024"},
        {"QUARRY_TOKEN", "00112233445566778899aabbccddeef", "32 hexadecimal digits"},
        {"QUARRY_TOKEN", "00112233445566778899aabbccddeegg", "32 hexadecimal digits"},
        {"QUARRY_TOKEN", "-0112233445566778899aabbccddeeff", "32 hexadecimal digits"},
        {"QUARRY_ADDRESSES", "", "2 (QUARRY_SIZE) comma-separated address:port"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001", "2 (QUARRY_SIZE) comma-separated"},
        {"QUARRY_ADDRESSES", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", "2 (QUARRY_SIZE)"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0.1:5002,", "2 (QUARRY_SIZE)"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0.1:0", "address:port"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0.1:5001", "no two the same"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0.1:65536", "address:port"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001,localhost:5002", "address:port"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0:5002", "address:port"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0.1.9:5002", "address:port"},
        {"QUARRY_ADDRESSES", "127.0.0.1:5001,127.0.0.256:5002", "address:port"},
        {"QUARRY_ADDRESSES", "127.0.0.1,127.0.0.1", "address:port"},
        {"QUARRY_TIMEOUT_MS", "0", "1 to 86400000"},
        {"QUARRY_TIMEOUT_MS", "86400001", "1 to 86400000"},
        {"QUARRY_TIMEOUT_MS", "10s", "1 to 86400000"},
        {"QUARRY_LISTEN_FD", "-1", "0 to 2147483647"},
    };
    for (auto const& [name, value, allowed] : cases) {
      CAPTURE(name);
      CAPTURE(value);
      auto variables = good_variables();
      for (auto& variable : variables)
        if (variable.first == name)
          variable.second = value;
      environment const set{variables};
      auto const j = job_from_environment();
      REQUIRE_FALSE(j.has_value());
      CHECK(j.error().code == net_errc::bad_environment);
      CHECK(contains(j.error().what, name + "=\"" + value + "\""));
      CHECK(contains(j.error().what, allowed));
    }
  }

  TEST_CASE("local jobs share one token and the endpoints, and each has a socket of its own") {
    auto const jobs = make_local_jobs(3, std::chrono::milliseconds{500});
    REQUIRE(jobs.has_value());
    REQUIRE(jobs->size() == 3);
    std::set<int> descriptors, ports;
    for (std::uint32_t id = 0; id < 3; ++id) {
      auto const& j = (*jobs)[id];
      CHECK(j.self == pe{id});
      CHECK(j.pe_count == 3);
      CHECK(j.token == jobs->front().token);
      CHECK(j.endpoints == jobs->front().endpoints);
      CHECK(j.endpoints[id].address == "127.0.0.1");
      CHECK(j.timeout == std::chrono::milliseconds{500});
      CHECK((::fcntl(j.listen_fd, F_GETFD) & FD_CLOEXEC) != 0);
      descriptors.insert(j.listen_fd);
      ports.insert(j.endpoints[id].port);
    }
    CHECK(descriptors.size() == 3);
    CHECK(ports.size() == 3);
    CHECK(make_local_jobs(1, std::chrono::milliseconds{1})->front().token != jobs->front().token);
    for (int const fd : descriptors)
      ::close(fd);
  }

  TEST_CASE("a job of no pe, or of too many, or that waits for nobody, is refused") {
    for (std::uint32_t const count : {0u, max_pe_count + 1}) {
      auto const jobs = make_local_jobs(count, std::chrono::milliseconds{1});
      REQUIRE_FALSE(jobs.has_value());
      CHECK(jobs.error().code == net_errc::bad_environment);
      CHECK(contains(jobs.error().what, std::to_string(count)));
    }
    auto const jobs = make_local_jobs(2, std::chrono::milliseconds{0});
    REQUIRE_FALSE(jobs.has_value());
    CHECK(jobs.error().what == "a job with a timeout of 0 ms; allowed are 1 to 86400000");
  }
}
