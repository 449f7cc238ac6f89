// SPDX-License-Identifier: Apache-2.0
// Memory models: who is asked before an access, and who may refuse it.
#include <quarry/emu/fault.hpp>
#include <quarry/emu/memory.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>

using namespace quarry;
using namespace quarry::emu;

namespace {

/// Counts decision points.
class counting_executor final : public executor {
public:
  explicit counting_executor(bool decides) : decides_(decides) {}
  void make_ready(actor&) override {}
  void notify() override {}
  using executor::run_until;
  bool run_until(bool (*is_over)(void*), void* argument, wait_site const&) override {
    return is_over(argument);
  }
  strand const* turn() const noexcept override { return nullptr; }
  bool decides() const noexcept override { return decides_; }
  void decision_point(actor& self) override {
    ++count;
    last = &self;
  }
  int count = 0;
  actor* last = nullptr;

private:
  bool decides_;
};

class nobody final : public actor {
public:
  std::string name() const override { return "nobody"; }
  void on_done() noexcept override {}
};

/// 64 bytes that may be touched, and what stands around them.
struct known_words {
  known_words() { known.add(first, 64, "words"); }
  allocations known;
  alignas(64) std::byte all[128] = {};
  std::byte* first = all + 32;
};

/// How `access` was refused; none: it was not.
template<class F>
std::optional<fault::kind> refusal(F const& access) {
  try {
    access();
    return std::nullopt;
  } catch (kernel_stop const& stop) {
    return stop.what;
  }
}

constexpr auto bounds = fault::kind::out_of_bounds;
constexpr auto alignment = fault::kind::misaligned;

/// What every model that checks refuses.
template<memory_model M>
void checks_like_the_others(memory_context const& context, std::byte* first) {
  M const memory(context);
  auto const here = std::source_location::current();
  auto const plain = [&](std::byte* at, std::size_t bytes) {
    return refusal([&] { memory.before(at, bytes, 0, here); });
  };
  auto const atomic = [&](std::byte* at) {
    return refusal([&] { memory.before(at, 4, 4, here); });
  };
  CHECK(plain(first, 64) == std::nullopt);
  CHECK(plain(first - 1, 4) == bounds);
  CHECK(plain(first + 61, 4) == bounds);
  CHECK(plain(first + 1, 4) == std::nullopt); // of bytes
  CHECK(atomic(first + 60) == std::nullopt);
  CHECK(atomic(first + 2) == alignment);
  CHECK(atomic(first + 64) == bounds);
  CHECK(refusal([&] { memory.check(first + 62, 2, here); }) == std::nullopt);
  CHECK(refusal([&] { memory.check(first + 63, 2, here); }) == bounds);
  CHECK(refusal([&] { memory.before(nullptr, 0, 0, here); }) == std::nullopt); // a fence
}

} // namespace

TEST_SUITE("emu.memory") {
  TEST_CASE("models that check refuse what is outside, and what is misaligned") {
    known_words w;
    counting_executor decider(true), native(false);
    nobody me;
    checks_like_the_others<checked_memory>({nullptr, nullptr, &w.known}, w.first);
    checks_like_the_others<interleaving_memory>({&me, &decider, &w.known}, w.first);
    checks_like_the_others<dynamic_memory>({&me, &decider, &w.known}, w.first);
    checks_like_the_others<dynamic_memory>({&me, &native, &w.known}, w.first);
    checks_like_the_others<dynamic_memory>({nullptr, nullptr, &w.known}, w.first);
  }

  TEST_CASE("a refusal names the place of the access") {
    known_words w;
    auto const here = std::source_location::current();
    try {
      checked_memory({nullptr, nullptr, &w.known}).before(w.first + 60, 8, 0, here);
      FAIL("it was not refused");
    } catch (kernel_stop const& stop) {
      CHECK(stop.where.line() == here.line());
      CHECK(stop.message.find("4 bytes over the end of 'words' (64 bytes, ") != std::string::npos);
    }
  }

  TEST_CASE("`native` refuses nothing, asks nobody, and takes no room") {
    CHECK(std::is_empty_v<native_memory>);
    CHECK_FALSE(native_memory::checks);
    counting_executor decider(true);
    nobody me;
    allocations none;
    native_memory const memory({&me, &decider, &none});
    CHECK(refusal([&] {
            memory.before(&me, 4, 3, std::source_location::current());
            memory.check(&me, 4, std::source_location::current());
          }) == std::nullopt);
    CHECK(decider.count == 0);
  }

  TEST_CASE("one access is one decision point of its own actor, however many elements it has") {
    known_words w;
    counting_executor decider(true);
    nobody me;
    auto const here = std::source_location::current();
    auto const touch = [&](auto const& memory) {
      decider.count = 0;
      memory.before(w.first, 4, 4, here);
      memory.check(w.first + 4, 4, here);
      memory.check(w.first + 8, 4, here);
      memory.before(nullptr, 0, 0, here);
      CHECK(decider.last == &me);
      return decider.count;
    };
    CHECK(touch(interleaving_memory({&me, &decider, &w.known})) == 2);
    CHECK(touch(interleaving_memory({&me, &decider, nullptr})) == 2);
    CHECK(touch(dynamic_memory({&me, &decider, &w.known})) == 2);
  }

  TEST_CASE("a refused access is no decision point") {
    known_words w;
    counting_executor decider(true);
    nobody me;
    interleaving_memory const memory({&me, &decider, &w.known});
    CHECK(refusal([&] { memory.before(w.first - 4, 4, 4, std::source_location::current()); }) ==
          bounds);
    CHECK(decider.count == 0);
  }

  TEST_CASE("memory that decides at run time asks only a scheduler that decides") {
    known_words w;
    counting_executor native(false);
    nobody me;
    dynamic_memory const memory({&me, &native, &w.known});
    memory.before(w.first, 4, 4, std::source_location::current());
    CHECK(native.count == 0);
  }

  TEST_CASE("an atomic access holds 1, 2, 4 or 8 trivially copyable bytes") {
    struct three {
      char bytes[3];
    };
    struct sixteen {
      long words[2];
    };
    CHECK(atomically_storable<char>);
    CHECK(atomically_storable<double>);
    CHECK_FALSE(atomically_storable<three>);
    CHECK_FALSE(atomically_storable<sixteen>);
    CHECK(storable<sixteen>);
    CHECK_FALSE(storable<std::string>);
  }
}
