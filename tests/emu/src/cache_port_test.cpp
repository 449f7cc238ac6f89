// SPDX-License-Identifier: Apache-2.0
// What ports make of values, LDS and lanes; rows are in cache_port_rows_test.cpp, and whatever
// caches do below is cache_machine_test's.
#include "agents.hpp"
#include "explored_hosts.hpp"

#include <quarry/emu/cache_port.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <source_location>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

// Values, and the words that they are made of.

struct halves {
  std::uint32_t low, high;
  bool operator==(halves const&) const = default;
};
struct alignas(8) whole {
  std::uint32_t low, high;
  bool operator==(whole const&) const = default;
};
struct three_bytes {
  std::array<std::uint8_t, 3> all;
  bool operator==(three_bytes const&) const = default;
};
struct three_shorts {
  std::array<std::uint16_t, 3> all;
  bool operator==(three_shorts const&) const = default;
};
struct alignas(16) two_words {
  std::array<std::uint64_t, 2> all;
  bool operator==(two_words const&) const = default;
};
struct five_ints {
  std::array<std::uint32_t, 5> all;
  bool operator==(five_ints const&) const = default;
};

/// Stores a value between two others: how large the words are that it was given in.
template<class T>
std::set<unsigned> words_of(T const& value) {
  explored_hosts m;
  alignas(64) std::array<T, 3> row;
  std::memset(row.data(), 0x5a, sizeof row);
  T const other = row[0];
  m.known.add(row.data(), sizeof row, "row");
  m.begin();
  m.port(0).store(&row[1], value, std::nullopt, scope::work_item, here());
  CHECK(m.port(0).load(&row[1], std::nullopt, scope::work_item, here()) == value);
  CHECK(row[1] == other); // it is in a cache
  m.finish();
  CHECK(row[0] == other);
  CHECK(row[1] == value);
  CHECK(row[2] == other);
  std::set<unsigned> sizes;
  auto const first = reinterpret_cast<std::uintptr_t>(&row[1]);
  for (std::size_t i = 0; i < sizeof(T); ++i)
    sizes.insert(m.memory.machine().width(first + i));
  return sizes;
}

/// What another host may find where one stores {1, 1} over zeros.
template<class T>
std::set<std::uint32_t> seen_of_both_halves() {
  explored_hosts m({.detects_races = false});
  T word{0, 0};
  m.known.add(&word, sizeof word, "word");
  return in_every_execution(m, [&] {
    m.port(0).store(&word, T{1, 1}, std::nullopt, scope::work_item, here());
    T const seen = m.port(1).load(&word, std::nullopt, scope::work_item, here());
    return seen.high * 10 + seen.low;
  });
}

/// Passes a value from host 0 to host 1 by a flag, which is accessed so; fences where they are.
struct handover_of {
  order store, load;
  std::optional<order> before, after; ///< fences
};

/// What the other one sees, if the flag is there; and "race" if one was found.
std::set<std::string> handed_over(handover_of const& how, bool detects_races) {
  explored_hosts m({.detects_races = detects_races});
  alignas(64) std::uint32_t data = 0;
  alignas(64) std::uint32_t flag = 0;
  m.known.add(&data, sizeof data, "data");
  m.known.add(&flag, sizeof flag, "flag");
  return in_every_execution(m, [&]() -> std::string {
    auto &writer = m.port(0), &reader = m.port(1);
    writer.store(&data, 7U, std::nullopt, scope::work_item, here());
    if (how.before)
      writer.fence(*how.before, scope::system, here());
    writer.store(&flag, 1U, how.store, scope::system, here());
    if (reader.load(&flag, how.load, scope::system, here()) == 0)
      return "not yet";
    if (how.after)
      reader.fence(*how.after, scope::system, here());
    std::uint32_t const seen = reader.load(&data, std::nullopt, scope::work_item, here());
    return std::to_string(seen) + m.kind_found();
  });
}

using strings = std::set<std::string>;
using sizes = std::set<unsigned>;

} // namespace

TEST_SUITE("emu.cache_port") {
  TEST_CASE("a value is one word if its alignment lets it be, otherwise words as large as that") {
    CHECK(words_of(std::uint8_t{3}) == sizes{1});
    CHECK(words_of(std::int16_t{-3}) == sizes{2});
    CHECK(words_of(1.5F) == sizes{4});
    CHECK(words_of(-2.5) == sizes{8});
    CHECK(words_of(whole{1, 2}) == sizes{8});
    CHECK(words_of(halves{1, 2}) == sizes{4});
    CHECK(words_of(three_bytes{{1, 2, 3}}) == sizes{1});
    CHECK(words_of(three_shorts{{1, 2, 3}}) == sizes{2});
  }
  TEST_CASE("so are values of more than 8 bytes, in words of 8 at most") {
    CHECK(words_of(two_words{{1, 2}}) == sizes{8});
    CHECK(words_of(five_ints{{1, 2, 3, 4, 5}}) == sizes{4});
  }
  TEST_CASE("a value of one word is seen whole, one of two may tear") {
    CHECK(seen_of_both_halves<whole>() == std::set<std::uint32_t>{0, 11});
    CHECK(seen_of_both_halves<halves>() == std::set<std::uint32_t>{0, 1, 10, 11});
  }

  TEST_CASE("an update gives what was there, and changes it only if it is told to") {
    explored_hosts m;
    std::array<std::int16_t, 2> pair{-5, 77};
    m.known.add(pair.data(), sizeof pair, "pair");
    m.begin();
    auto const update = [&](std::optional<std::int16_t> to) {
      return m.port(0).update(pair.data(), order::relaxed, scope::system, here(),
                              [&](std::int16_t) { return to; });
    };
    CHECK(update(std::nullopt) == -5);
    std::uint64_t const before = m.memory.activity();
    CHECK(update(std::nullopt) == -5);
    CHECK(m.memory.activity() == before); // nobody may go on because of it
    CHECK(update(std::int16_t{-30'000}) == -5);
    CHECK(m.memory.activity() > before);
    CHECK(update(std::nullopt) == -30'000);
    m.finish();
    CHECK(pair == std::array<std::int16_t, 2>{-30'000, 77});
  }

  TEST_CASE("fences order plain accesses around relaxed ones, for values and for races") {
    constexpr auto relaxed = order::relaxed;
    handover_of const by_fences{relaxed, relaxed, order::release, order::acquire};
    handover_of const by_flag{order::release, order::acquire, {}, {}};
    for (handover_of const& right : {by_fences, by_flag}) {
      CHECK(handed_over(right, false) == strings{"not yet", "7"});
      CHECK(handed_over(right, true) == strings{"not yet", "7"});
    }
    for (handover_of const& wrong : {handover_of{relaxed, relaxed, {}, order::acquire},
                                     handover_of{relaxed, relaxed, order::release, {}},
                                     handover_of{relaxed, order::acquire, {}, {}}}) {
      CHECK(handed_over(wrong, false) == strings{"not yet", "0", "7"});
      CHECK(handed_over(wrong, true) == strings{"not yet", "0race", "7race"});
    }
  }

  TEST_CASE("a wait can go on as soon as some value that it could see lets it, and sees that one") {
    explored_hosts m;
    std::uint32_t word = 0;
    m.known.add(&word, sizeof word, "word");
    m.begin();
    auto const is = [&](std::uint32_t wanted) {
      return [wanted](std::uint32_t v) { return v == wanted; };
    };
    auto &writer = m.port(0), &reader = m.port(1);
    auto const could = [&](auto predicate) {
      return reader.could_load(&word, predicate, order::acquire, scope::system, here());
    };
    CHECK(could(is(0)));
    CHECK_FALSE(could(is(1)));
    writer.store(&word, 1U, order::release, scope::system, here());
    CHECK(could(is(1)));
    CHECK_FALSE(could(is(2)));
    CHECK(reader.load_if(&word, is(1), order::acquire, scope::system, here()) == 1);
    CHECK_FALSE(could(is(0))); // what it has seen is not undone
    CHECK(m.kind_found() == "");
  }

  TEST_CASE("what is in no allocation is found, with who asks; nothing is there, or changes") {
    auto const none = [](std::uint32_t) -> std::optional<std::uint32_t> { return 5; };
    for (int which = 0; which < 4; ++which) {
      CAPTURE(which);
      explored_hosts m;
      std::array<std::uint32_t, 2> row{41, 42};
      m.known.add(row.data(), sizeof row[0], "one");
      m.begin();
      auto& port = m.port(0);
      auto* const beyond = &row[1];
      if (which == 0)
        CHECK(port.load(beyond, std::nullopt, scope::work_item, here()) == 0);
      else if (which == 1)
        port.store(beyond, 5U, order::relaxed, scope::system, here());
      else if (which == 2)
        CHECK(port.update(beyond, order::relaxed, scope::system, here(), none) == 0);
      else
        CHECK_FALSE(port.could_load(
            beyond, [](std::uint32_t) { return true; }, order::relaxed, scope::system, here()));
      CHECK(m.kind_found() == "out of bounds");
      CHECK_SAYS(m.report(), "ann accesses 4 bytes 0 bytes after the end of 'one' (4 bytes");
      m.finish();
      CHECK(row == std::array<std::uint32_t, 2>{41, 42});
    }
  }

  TEST_CASE("LDS has no caches: what is stored is there, up to its last byte and no further") {
    explored_hosts m;
    std::array<std::uint32_t, 4> row{};
    m.known.add(row.data(), sizeof row, "row");
    m.begin();
    auto& port = m.port(0);
    auto* const lds = reinterpret_cast<std::byte*>(&row[1]);
    port.set_lds(lds, 2 * sizeof row[0]);
    for (std::uint32_t i = 0; i < 4; ++i)
      port.store(&row[i], i + 10, std::nullopt, scope::work_item, here());
    CHECK(row == std::array<std::uint32_t, 4>{0, 11, 12, 0});
    CHECK(port.update(&row[1], order::relaxed, scope::work_group, here(),
                      [](std::uint32_t v) { return std::optional(v * 2); }) == 11);
    CHECK(row[1] == 22);
    for (std::uint32_t i = 0; i < 4; ++i)
      CHECK(port.load(&row[i], std::nullopt, scope::work_item, here()) == (i == 1 ? 22 : i + 10));
    CHECK(port.could_load(
        &row[2], [](std::uint32_t v) { return v == 12; }, order::acquire, scope::work_group,
        here()));
    CHECK(m.kind_found() == "");
  }

  TEST_CASE("LDS that nobody has written is found when it is read, however little is missing") {
    for (unsigned const written : {0U, 1U, 2U, 3U, 4U}) {
      CAPTURE(written);
      explored_hosts m;
      alignas(8) std::array<std::uint8_t, 8> lds{};
      m.begin();
      auto& port = m.port(0);
      port.set_lds(reinterpret_cast<std::byte*>(lds.data()), lds.size());
      for (unsigned i = 0; i < written; ++i)
        port.store(&lds[4 + i], std::uint8_t{1}, std::nullopt, scope::work_item, here());
      static_cast<void>(port.load(reinterpret_cast<std::uint32_t*>(&lds[4]), std::nullopt,
                                  scope::work_item, here()));
      CHECK(m.kind_found() == (written == 4 ? "" : "uninitialised"));
      if (written != 4)
        CHECK_SAYS(
            m.report(),
            "ann reads 4 bytes of LDS " +
                (written == 0 ? "that " : "of which " + std::to_string(4 - written) + " of 4 ") +
                "nobody in its work-group has written");
    }
  }

  TEST_CASE("the race detector sees LDS all the same") {
    explored_hosts m;
    std::uint32_t word = 0;
    m.begin();
    for (std::size_t const i : {0U, 1U}) {
      m.port(i).set_lds(reinterpret_cast<std::byte*>(&word), sizeof word);
      m.port(i).store(&word, 1U, std::nullopt, scope::work_item, here());
    }
    CHECK(m.kind_found() == "race");
    CHECK_SAYS(m.report(), "memory   LDS");
  }

  TEST_CASE("lanes of one instruction are not ordered, those of the next one are") {
    for (bool const begins_another : {false, true})
      for (bool const is_of_item : {false, true}) { // an item kernel's lanes come one by one
        explored_hosts m;
        std::uint32_t word = 0;
        m.known.add(&word, sizeof word, "word");
        m.begin();
        auto& port = m.port(0);
        port.begin_instruction();
        for (int const lane : {0, 1}) {
          if (lane == 1 && begins_another)
            port.begin_instruction();
          if (is_of_item)
            port.set_lane(lane);
          port.store(&word, 1U, std::nullopt, scope::work_item, here(), is_of_item ? -1 : lane);
        }
        CHECK(m.kind_found() == (begins_another ? "" : "race"));
        if (!begins_another)
          CHECK_SAYS(m.report(), "race: lanes of one instruction");
      }
  }
  TEST_CASE("a lane of an item kernel that acquires comes after one that has released, no other "
            "one does") {
    enum class who { nobody, first, second }; // … has released
    for (who const releaser : {who::nobody, who::first, who::second})
      for (order const o : {order::relaxed, order::acquire, order::acq_rel, order::seq_cst}) {
        CAPTURE(to_string(o));
        CAPTURE(static_cast<int>(releaser));
        explored_hosts m;
        std::array<std::uint32_t, 2> words{};
        m.known.add(words.data(), sizeof words, "words");
        m.begin();
        auto& port = m.port(0);
        port.begin_instruction();
        port.set_lane(0);
        port.store(&words[0], 1U, std::nullopt, scope::work_item, here());
        if (releaser == who::first)
          port.store(&words[1], 1U, order::release, scope::work_group, here());
        port.set_lane(1);
        if (releaser == who::second)
          port.store(&words[1], 1U, order::release, scope::work_group, here());
        static_cast<void>(port.load(&words[1], o, scope::work_group, here()));
        port.store(&words[0], 2U, std::nullopt, scope::work_item, here());
        bool const are_ordered = o != order::relaxed && releaser == who::first;
        CHECK(m.kind_found() == (are_ordered ? "" : "race"));
      }
  }

  TEST_CASE("misuse of a data structure is found, with who, where and what") {
    explored_hosts m;
    m.begin();
    auto const where = here();
    m.port(2).report_misuse("takes a token twice", where);
    REQUIRE(m.memory.first_finding());
    CHECK(m.kind_found() == "misuse");
    CHECK(m.memory.first_finding()->where == to_string(where));
    CHECK_SAYS(m.report(), to_string(where) + ": eve: takes a token twice");
  }
}
