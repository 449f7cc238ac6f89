// SPDX-License-Identifier: Apache-2.0
// The concept; what its models promise is transport_contract.hpp, run in each model's suite.
#include <quarry/net/in_process.hpp>
#include <quarry/net/loopback.hpp>
#include <quarry/net/mpi.hpp>
#include <quarry/net/transport.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace quarry::net;

namespace {

/// Everything but a name.
class nameless : public transport_port {
public:
  pe self() const override { return pe{0}; }
  std::uint32_t pe_count() const override { return 1; }
  quarry::result<bool> try_send(pe, std::span<std::byte const>,
                                std::span<std::byte const>) override {
    return true;
  }
  quarry::result<std::size_t> poll(sink const&) override { return std::size_t{0}; }
  bool has_input() override { return false; }
  bool has_room(pe) override { return true; }
  void wait(std::chrono::nanoseconds) override {}
  bool is_flushed() override { return true; }
  quarry::result<void> finish() override { return {}; }
  std::uint64_t wire_bytes() const override { return 0; }
};
class named final : public nameless {
public:
  static constexpr char const* name = "named";
};
/// Has the operations, but cannot be driven through the port.
struct no_port {
  [[maybe_unused]] static constexpr char const* name = "no port";
};

} // namespace

TEST_SUITE("net.transport") {
  TEST_CASE("in-process, loopback and MPI are transports, by different names") {
    CHECK(transport<in_process>);
    CHECK(transport<loopback>);
    CHECK(transport<mpi>);
    CHECK(std::string(in_process::name) == "in-process");
    CHECK(std::string(loopback::name) == "loopback");
    CHECK(std::string(mpi::name) == "mpi");
  }

  TEST_CASE("without mpirun there is no MPI job, and it is said how to get one") {
    REQUIRE_FALSE(mpi::is_launched());
    auto const opened = mpi::open({});
    REQUIRE(opened.has_error());
    CHECK(opened.error().code == net_errc::bad_environment);
    CHECK(opened.error().what.find(mpi::is_available() ? "mpirun -n" : "-Dmpi=enabled") !=
          std::string::npos);
  }

  TEST_CASE("a transport is a port with a name") {
    CHECK(transport<named>);
    CHECK_FALSE(transport<nameless>);
    CHECK_FALSE(transport<no_port>);
    CHECK_FALSE(transport<transport_port>);
  }

  TEST_CASE("a message may be a per-node buffer of the largest size") {
    CHECK(max_message_bytes >= 1024 * 1024);
    CHECK(max_message_bytes % 8 == 0);
  }
}
