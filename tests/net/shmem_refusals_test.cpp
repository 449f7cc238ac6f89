// SPDX-License-Identifier: Apache-2.0
// Calls that have nothing to do, or that cannot be done.
#include "shmem_job.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <system_error>

using namespace shmem_test;

TEST_SUITE("net.shmem_refusals") {
  TEST_CASE("nothing to wait for is waited for at once; operations that do not exist") {
    on_all(2, [](node& n) -> std::string {
      auto const words = n.malloc<std::uint64_t>(2);
      QUARRY_OK(words);
      std::span<std::uint64_t const> const none;
      auto const any = n.wait_until_any(none, comparison::equal, 1);
      QUARRY_OK(any);
      QUARRY_EXPECT(!any->has_value());
      auto const some = n.wait_until_some(none, comparison::equal, 1);
      QUARRY_OK(some);
      QUARRY_EXPECT(some->empty());
      QUARRY_OK(n.wait_until_all(none, comparison::equal, 1));
      auto const unknown = static_cast<comparison>(6);
      std::span<std::uint64_t const> const two = *words;
      std::uint64_t const* const first = two.data();
      QUARRY_EXPECT(n.wait_until(first, unknown, 1).error().what ==
                    "shmem: wait_until: a word is compared by ==, !=, >, >=, < or <=; there is no "
                    "comparison 6");
      QUARRY_EXPECT(n.wait_until_all(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.wait_until_any(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.wait_until_some(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.signal_wait_until(first, unknown, 1).has_error());
      QUARRY_EXPECT(n.test(first, unknown, 1).has_error());
      QUARRY_EXPECT(n.test_all(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.test_any(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.test_some(two, unknown, 1).has_error());
      auto const how = static_cast<signal_op>(9);
      std::uint64_t* const w = words->data();
      std::uint64_t const source[1] = {7};
      auto const invalid = std::make_error_code(std::errc::invalid_argument);
      QUARRY_EXPECT(n.default_context()
                        .put_signal(w, std::span(source), w + 1, 1, how, right_of(n))
                        .error()
                        .code == invalid);
      QUARRY_OK(n.barrier_all());
      return "";
    });
  }

  TEST_CASE("whatever is called after finish() is refused, and nothing is lost in silence") {
    on_all(2, [](node& n) -> std::string {
      auto const words = n.malloc<std::uint64_t>(2);
      QUARRY_OK(words);
      std::uint64_t* const w = words->data();
      auto& c = n.default_context();
      pe const right = right_of(n);
      QUARRY_OK(n.finish());
      QUARRY_EXPECT(!n.failure());
      net_errc const over = net_errc::already_finished;
      QUARRY_EXPECT(c.p(w, 1, right).error().code == over);
      QUARRY_EXPECT(c.g(w, right).error().code == over);
      QUARRY_EXPECT(c.p(w, 1, n.self()).error().code == over);
      QUARRY_EXPECT(c.atomic_fetch_inc(w, right).error().code == over);
      QUARRY_EXPECT(c.put_nbi(w, std::span<std::uint64_t const>(w, 1), right).error().code == over);
      QUARRY_EXPECT(c.quiet().error().code == over);
      QUARRY_EXPECT(n.wait_until(w, comparison::equal, 0).error().code == over);
      QUARRY_EXPECT(n.test(w, comparison::equal, 0).error().code == over);
      QUARRY_EXPECT(n.malloc<int>(1).error().code == over);
      QUARRY_EXPECT(n.free(w).error().code == over);
      QUARRY_EXPECT(n.make_context().error().code == over);
      QUARRY_EXPECT(n.world().reduce(reduction::sum, w, w, 1).error().code == over);
      QUARRY_EXPECT(n.world().split_strided(0, 1, 1).error().code == over);
      auto const barrier = n.barrier_all();
      QUARRY_EXPECT(barrier.error().code == over);
      QUARRY_EXPECT(barrier.error().what ==
                    "shmem: barrier_all: finish() has ended this pe's part in the job");
      QUARRY_EXPECT(n.finish().error().code == over);
      return "";
    });
  }
}
