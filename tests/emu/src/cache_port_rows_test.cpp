// SPDX-License-Identifier: Apache-2.0
// Accesses of consecutive lanes through a port: load_row() and store_row() of cache_port.hpp.
#include "agents.hpp"
#include "explored_hosts.hpp"

#include <quarry/emu/cache_port.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Rows of bytes that begin somewhere in a line; by rows, or an element at a time.
struct row_access {
  unsigned element, first, count; ///< elements before it, elements
  bool by_row;
};

struct row_end {
  std::vector<std::uint8_t> memory, seen;
  std::uint64_t activity;
  std::string busiest;
  bool operator==(row_end const&) const = default;
};

row_end access_row(row_access const& how) {
  alignas(64) std::array<std::uint8_t, 512> memory{};
  std::array<std::uint8_t, 256> values;
  std::iota(values.begin(), values.end(), std::uint8_t{1});
  explored_hosts m;
  m.known.add(memory.data(), memory.size(), "row");
  m.begin();
  auto& port = m.port(0);
  row_end end{
      .memory = {}, .seen = std::vector<std::uint8_t>(values.size()), .activity = 0, .busiest = {}};
  auto* const at = memory.data() + how.first * how.element;
  auto const where = here();
  if (how.by_row) {
    port.store_row({at, how.element, how.count, 5, where}, values.data());
    port.load_row({at, how.element, how.count, 5, where}, end.seen.data());
  } else {
    auto const each = [&]<class T>(T) {
      for (unsigned i = 0; i < how.count; ++i) {
        T value;
        std::memcpy(&value, values.data() + i * sizeof(T), sizeof(T));
        port.store(reinterpret_cast<T*>(at) + i, value, std::nullopt, scope::work_item, where,
                   static_cast<int>(5 + i));
      }
      for (unsigned i = 0; i < how.count; ++i) {
        T const value = port.load(reinterpret_cast<T*>(at) + i, std::nullopt, scope::work_item,
                                  where, static_cast<int>(5 + i));
        std::memcpy(end.seen.data() + i * sizeof(T), &value, sizeof(T));
      }
    };
    how.element == 1   ? each(std::uint8_t{})
    : how.element == 2 ? each(std::uint16_t{})
    : how.element == 4 ? each(std::uint32_t{})
                       : each(std::uint64_t{});
  }
  CHECK(std::memcmp(end.seen.data(), values.data(), how.count * how.element) == 0);
  m.finish();
  end.memory.assign(memory.begin(), memory.end());
  end.activity = m.memory.activity();
  end.busiest = m.memory.busiest();
  CHECK(std::memcmp(at, values.data(), how.count * how.element) == 0);
  CHECK(m.kind_found() == "");
  return end;
}

} // namespace

TEST_SUITE("emu.cache_port_rows") {
  TEST_CASE("a row is what its elements in turn would be, wherever it lies in its lines") {
    for (unsigned const element : {1U, 2U, 4U, 8U})
      for (unsigned const first : {0U, 1U, 64 / element - 1, 64 / element})
        for (unsigned const count :
             {1U, 64 / element - 1, 64 / element, 64 / element + 1, 192 / element}) {
          CAPTURE(element);
          CAPTURE(first);
          CAPTURE(count);
          CHECK(access_row({element, first, count, true}) ==
                access_row({element, first, count, false}));
        }
  }

  TEST_CASE("a race with a row names the lane of its element") {
    alignas(64) std::array<std::uint32_t, 32> row{};
    std::array<std::uint32_t, 32> seen{};
    for (unsigned const raced : {0U, 15U, 20U, 31U}) {
      CAPTURE(raced);
      explored_hosts m;
      m.known.add(row.data(), sizeof row, "row");
      m.begin();
      m.port(0).store(&row[raced], 1U, std::nullopt, scope::work_item, here());
      m.port(1).load_row({row.data(), 4, 32, 8, here()}, seen.data());
      CHECK(m.kind_found() == "race");
      CHECK_SAYS(m.report(), "bob lane " + std::to_string(8 + raced) + ", ");
      CHECK_SAYS(m.report(), "row[" + std::to_string(raced) + "]");
    }
  }
}
