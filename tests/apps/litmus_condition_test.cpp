// SPDX-License-Identifier: Apache-2.0
#include "litmus_text.hpp"

#include <limits>

using namespace litmus_text;

namespace {

/// Whether the condition that is written is met when a, b, c, d are these.
bool is_met(std::string const& text, std::vector<value> const& values) {
  auto const t = parsed("PTX t\n{a=0; b=0; c=0; d=0;}\n P0@cta 0,gpu 0 ;\n"
                        "locations [a;b;c;d]\nexists " +
                        text);
  return t.final.what.is_met(values);
}

} // namespace

TEST_SUITE("apps.litmus_condition") {
  TEST_CASE("every comparison compares, with signs") {
    struct row {
      std::string symbol;
      bool below;
      bool same;
      bool above;
    };
    for (auto const& [symbol, below, same, above] :
         {row{"=", false, true, false}, row{"==", false, true, false}, row{"!=", true, false, true},
          row{"<", true, false, false}, row{"<=", true, true, false}, row{">", false, false, true},
          row{">=", false, true, true}}) {
      CAPTURE(symbol);
      CHECK(is_met("(a " + symbol + " b)", {-1, 0, 0, 0}) == below);
      CHECK(is_met("(a " + symbol + " b)", {5, 5, 0, 0}) == same);
      CHECK(is_met("(a " + symbol + " -1)", {0, 0, 0, 0}) == above);
    }
  }

  TEST_CASE("and binds closer than or, not closest, parentheses decide") {
    for (int bits = 0; bits < 16; ++bits) {
      CAPTURE(bits);
      bool const a = bits & 1;
      bool const b = bits & 2;
      bool const c = bits & 4;
      bool const d = bits & 8;
      std::vector<value> const values{a, b, c, d};
      CHECK(is_met("a=1 \\/ b=1 /\\ c=1 \\/ d=1", values) == (a || (b && c) || d));
      CHECK(is_met("(a=1 \\/ b=1) /\\ (c=1 \\/ d=1)", values) == ((a || b) && (c || d)));
      CHECK(is_met("~a=1 /\\ b=1", values) == (!a && b));
      CHECK(is_met("not (a=1 /\\ (b=1 \\/ ~(c=d)))", values) == !(a && (b || c != d)));
    }
  }

  TEST_CASE("a location may stand in brackets, a thread be a number") {
    auto const t = parsed("PTX t\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
                          " ld r0, 1 | ld r1, 1 ;\nexists (1:r1 == P0:r0 /\\ [x] == x)");
    REQUIRE(t.observed.size() == 3);
    CHECK(name_of(t, t.observed[0]) == "P1:r1");
    CHECK(name_of(t, t.observed[1]) == "P0:r0");
    CHECK(t.final.what.is_met(std::vector<value>{1, 1, 0}));
    CHECK_FALSE(t.final.what.is_met(std::vector<value>{1, 0, 0}));
  }

  TEST_CASE("the target of forall is a counterexample, of exists and ~exists an example") {
    auto const target = [](std::string const& how, value x) {
      auto const t = parsed("PTX t\n{x=0;}\n P0@cta 0,gpu 0 ;\n" + how + " (x == 1)");
      return t.final.is_target(std::vector{x});
    };
    CHECK(target("exists", 1));
    CHECK_FALSE(target("exists", 0));
    CHECK(target("~exists", 1));
    CHECK_FALSE(target("not exists", 0));
    CHECK(target("forall", 0));
    CHECK_FALSE(target("forall", 1));
  }

  TEST_CASE("arithmetic wraps around and never traps") {
    auto const least = std::numeric_limits<value>::min();
    CHECK(apply(arithmetic::add, std::numeric_limits<value>::max(), 1) == least);
    CHECK(apply(arithmetic::subtract, least, 1) == std::numeric_limits<value>::max());
    CHECK(apply(arithmetic::multiply, least, -1) == least);
    CHECK(apply(arithmetic::divide, -7, 2) == -3);
    CHECK(apply(arithmetic::divide, least, -1) == least);
    CHECK(apply(arithmetic::divide, 7, 0) == 0);
    CHECK(apply(arithmetic::bit_and, 6, 3) == 2);
    CHECK(apply(arithmetic::bit_or, 6, 3) == 7);
    CHECK(apply(arithmetic::bit_xor, 6, 3) == 5);
  }
}
