// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/explore.hpp>

#include <cstdint>
#include <utility>

namespace quarry_test {

using namespace quarry;
using namespace quarry::emu;

struct message_orders {
  order write = order::release;
  order read = order::acquire;
};

/// Three words that lie apart.
struct three_words {
  explicit three_words(world& w) : all(w.allocate<std::uint32_t>(48, "words")) {}
  [[nodiscard]] global<std::uint32_t> operator[](int i) { return all.global() + 16 * i; }
  buffer<std::uint32_t> all;
};

/// A payload and a flag from one host thread to another.
inline void pass_message(world& w, message_orders h) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  auto flag = w.allocate<std::uint32_t>(1, "flag");
  w.start("writer", [&](world_core& self) {
    self.store(data.global(), 42);
    self.store(flag.global(), 1, h.write, scope::system);
  });
  w.start_task("reader", [&](world_core& self) -> task<> {
    auto const is_set = [](std::uint32_t v) { return v == 1; };
    static_cast<void>(co_await self.wait_until(flag.global(), is_set, h.read, scope::system));
    w.check(self.load(data.global()) == 42, "the payload is stale");
  });
  w.join();
}

inline verdict explore_message(message_orders h, explore_options o = {}) {
  o.executions = 300;
  return explore(o, [&](world& w) { pass_message(w, h); });
}

} // namespace quarry_test
