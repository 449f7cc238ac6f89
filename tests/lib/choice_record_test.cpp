// SPDX-License-Identifier: Apache-2.0
#include <quarry/bytes.hpp>
#include <quarry/choice_record.hpp>
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;

namespace {

constexpr auto an_actor = choice_kind::actor;
constexpr auto a_value = choice_kind::value;
constexpr auto a_write_back = choice_kind::write_back;

using choices = std::vector<choice>;

choices some(random_bits& bits, std::uint32_t length, std::uint32_t variety) {
  choices all;
  for (std::uint32_t i = 0; i < length; ++i) {
    std::uint32_t const n = 2 + bits.below(variety);
    std::uint32_t const value = bits.below(3) == 0 ? bits.below(n) : 0;
    all.push_back({static_cast<choice_kind>(bits.below(choice_kind_count)), n, value});
  }
  return all;
}

std::string refusal(std::string_view text) {
  auto const r = choice_record::from_text(text);
  REQUIRE_MESSAGE(r.has_error(), text);
  CHECK(r.error().code == std::errc::invalid_argument);
  return r.error().what;
}

void check_round_trip(choices const& all) {
  choice_record const r(all);
  auto const text = r.to_text();
  CAPTURE(text);
  auto const read = choice_record::from_text(text);
  REQUIRE_MESSAGE(read.has_value(), read.error().what);
  CHECK(*read == r);
  CHECK(read->to_text() == text);
}

constexpr std::string_view head = "choices 1000 trace 0x1\n";

} // namespace

TEST_SUITE("lib.choice_record") {
  TEST_CASE("a record keeps the choices up to the last that is not 0, and counts all") {
    choices const all{{an_actor, 3, 0}, {an_actor, 3, 2}, {a_value, 4, 1},
                      {an_actor, 2, 1}, {a_value, 4, 0},  {a_write_back, 2, 0}};
    choice_record const r(all);
    CHECK(r.choices().size() == 4);
    CHECK(r.count() == 6);
    CHECK(r.nonzero_count() == 3);
    CHECK(r.preemption_count() == 2);
    CHECK(r.trace_hash() == trace_hash(all));
    CHECK(choice_record().count() == 0);
    CHECK(choice_record() == choice_record(choices{}));
  }

  TEST_CASE("any difference changes the hash, one in the zeros at the end too") {
    choices const all{{an_actor, 3, 1}, {a_value, 4, 2}, {a_write_back, 2, 0}};
    auto const hash = trace_hash(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      choices other = all;
      other[i].n += 1;
      CHECK(trace_hash(other) != hash);
      other = all;
      other[i].value ^= 1;
      CHECK(trace_hash(other) != hash);
      other = all;
      other[i].kind = other[i].kind == an_actor ? a_value : an_actor;
      CHECK(trace_hash(other) != hash);
    }
    choices longer = all;
    longer.push_back({an_actor, 2, 0});
    CHECK(trace_hash(longer) != hash);
    CHECK(choice_record(longer) != choice_record(all));
    // The same on every machine: it stands in files.
    CHECK(hash == 0xc3346dae85bc0060);
  }

  TEST_CASE("a recorder passes choices on and keeps them") {
    std::array<std::uint8_t, 3> const data{2, 5, 1};
    bytes source(data);
    recorder r(source);
    source.begin(0);
    std::array<std::uint32_t, 3> const ready{4, 7, 9};
    CHECK(r.pick_actor(ready) == 2);
    CHECK(r.pick(4, a_value) == 1);
    CHECK(r.pick(2, a_write_back) == 1);
    CHECK(r.pick(2, a_value) == 0);
    choices const all{{an_actor, 3, 2}, {a_value, 4, 1}, {a_write_back, 2, 1}, {a_value, 2, 0}};
    CHECK(choices(r.choices().begin(), r.choices().end()) == all);
    CHECK(r.record() == choice_record(all));
    CHECK(r.trace_hash() == trace_hash(all));
    r.begin();
    CHECK(r.choices().empty());
    CHECK(r.record() == choice_record());
  }

  TEST_CASE("a recorder allocates nothing for an execution as long as one before") {
    bytes source({});
    recorder r(source);
    for (int i = 0; i < 10'000; ++i)
      r.pick(2, a_value);
    auto const* const memory = r.choices().data();
    for (int execution = 0; execution < 10; ++execution) {
      r.begin();
      for (int i = 0; i < 10'000; ++i)
        r.pick(2, a_value);
      CHECK(r.choices().data() == memory);
    }
  }

  TEST_CASE("the text says kinds, alternatives, values and repetitions") {
    choices all(17, {an_actor, 2, 0});
    all.push_back({an_actor, 2, 1});
    for (int i = 0; i < 40; ++i) {
      all.push_back({a_value, 3, 0});
      all.push_back({a_value, 3, 0});
      all.push_back({a_write_back, 2, 0});
    }
    all.push_back({a_value, 3, 2});
    all.push_back({choice_kind::message, 4, 3});
    std::string const text = choice_record(all).to_text();
    std::string const body = "a2*17 a2:1 (v3*2 w2)*40 v3:2 m4:3\n";
    CHECK(text.substr(text.find('\n') + 1) == body);
    CHECK(text.starts_with("choices 140 trace 0x"));
    CHECK(choice_record().to_text() == "choices 0 trace 0xcbf29ce44fd0bfc1\n");
  }

  TEST_CASE("text and back is the same record") {
    random_bits bits(3);
    check_round_trip({});
    check_round_trip({{a_value, 0xffffffff, 0xfffffffe}});
    for (std::uint32_t i = 0; i < 1'000; ++i)
      check_round_trip(some(bits, bits.below(200), 1 + i % 7));
    for (std::uint32_t i = 0; i < 200; ++i) { // periods, with something else in between
      choices all;
      for (int part = 0; part < 4; ++part) {
        choices const block = some(bits, 1 + bits.below(20), 2);
        for (std::uint32_t times = bits.below(9); times != 0; --times)
          all.insert(all.end(), block.begin(), block.end());
        all.push_back({an_actor, 9, 1});
      }
      check_round_trip(all);
    }
  }

  TEST_CASE("a long regular execution is a short text, and a long line is broken") {
    choices all;
    for (int i = 0; i < 100'000; ++i)
      all.push_back({i % 5 == 0 ? a_value : an_actor, 4, 0});
    all.push_back({an_actor, 4, 3});
    CHECK(choice_record(all).to_text().size() < 80);

    random_bits bits(1);
    std::string const text = choice_record(some(bits, 5'000, 9)).to_text();
    std::size_t longest = 0;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t const end = text.find('\n', at);
      longest = std::max(longest, end - at);
      at = end + 1;
    }
    CHECK(longest <= 100);
    CHECK(longest > 90);
  }

  TEST_CASE("what somebody has edited is read: any white space, zeros at the end, an old hash") {
    auto const r =
        choice_record::from_text(" choices\t9 trace 0x00ff\r\n\r\n( a2 w3:2*2 )*2\n a2*3");
    REQUIRE(r.has_value());
    choices const all{{an_actor, 2, 0}, {a_write_back, 3, 2}, {a_write_back, 3, 2},
                      {an_actor, 2, 0}, {a_write_back, 3, 2}, {a_write_back, 3, 2}};
    CHECK(choices(r->choices().begin(), r->choices().end()) == all);
    CHECK(r->count() == 9);
    CHECK(r->trace_hash() == 0xff);
  }

  TEST_CASE("a malformed head is refused: where, what was expected, what is there") {
    std::pair<std::string_view, std::string_view> const rows[] = {
        {"", "line 1, column 1: expected the word 'choices', found the end"},
        {"schedule 3", "line 1, column 1: expected the word 'choices', found 'schedule'"},
        {"choices", "line 1, column 8: expected how many choices there were, found the end"},
        {"choices -3", "line 1, column 9: expected how many choices there were, found '-3'"},
        {"choices 3", "line 1, column 10: expected the word 'trace', found the end"},
        {"choices 3 hash", "line 1, column 11: expected the word 'trace', found 'hash'"},
        {"choices 3 trace ff",
         "line 1, column 17: expected a hash: 0x and hexadecimal digits, found 'ff'"},
        {"choices 3 trace 0xg",
         "line 1, column 19: expected a hash of hexadecimal digits, found 'g'"},
        {"choices 99999999999999999999 trace 0x1",
         "line 1, column 9: expected how many choices there were, found '99999999999999999999'"},
    };
    for (auto const& [text, what] : rows)
      CHECK(refusal(text) == what);
  }

  TEST_CASE("malformed choices are refused: where, what was expected, what is there") {
    std::pair<std::string_view, std::string_view> const rows[] = {
        {"x2", "line 2, column 1: expected a choice: a, v, w, m, l, g or '(', found 'x2'"},
        {"a2 v3:1\n v2 3",
         "line 3, column 5: expected a choice: a, v, w, m, l, g or '(', found '3'"},
        {"a", "line 2, column 2: expected the number of alternatives, 2 or more, found the end"},
        {"a1", "line 2, column 2: expected the number of alternatives, 2 or more, found '1'"},
        {"a 2",
         "line 2, column 2: expected the number of alternatives, 2 or more, found white space"},
        {"a4294967296",
         "line 2, column 2: expected the number of alternatives, 2 or more, found '4294967296'"},
        {"a3:3", "line 2, column 4: expected a value from 0 to 2, found '3'"},
        {"a3:", "line 2, column 4: expected a value from 0 to 2, found the end"},
        {"a3*0", "line 2, column 4: expected how often, 1 or more, found '0'"},
        {"a3*x", "line 2, column 4: expected how often, 1 or more, found 'x'"},
        {"a3a2", "line 2, column 3: expected white space, found 'a2'"},
        {"a3*2:1", "line 2, column 5: expected white space, found ':1'"},
        {"(a2 v3", "line 2, column 7: expected a choice: a, v, w, m, l, g or ')', found the end"},
        {"(a2 (v3))",
         "line 2, column 5: expected a choice: a, v, w, m, l, g or ')', found '(v3))'"},
        {"()*3", "line 2, column 1: expected a choice in the brackets, found '()*3'"},
        {"(a2)*", "line 2, column 6: expected how often, 1 or more, found the end"},
        {"(a2)*2a2", "line 2, column 7: expected white space, found 'a2'"},
        {"a2)", "line 2, column 3: expected a choice: a, v, w, m, l, g or '(', found ')'"},
        {"a2 a2*1000", "line 2, column 4: expected at most 1000 choices in all, found 'a2*1000'"},
        {"(a2*10 v2)*91", "line 2, column 1: expected at most 1000 choices in all, found '(a2*10'"},
    };
    for (auto const& [text, what] : rows)
      CHECK(refusal(std::string(head) + std::string(text)) == what);
  }

  TEST_CASE("a text cannot make a record larger than memory") {
    std::string const bomb = "choices 18446744073709551615 trace 0x1\n";
    CHECK(refusal(bomb + "a2*18446744073709551615") ==
          "line 2, column 1: expected at most 10000000 choices in all, found "
          "'a2*18446744073709551'");
    CHECK(refusal(bomb + "(a2*9 v2)*9223372036854775808") ==
          "line 2, column 1: expected at most 10000000 choices in all, found '(a2*9'");
  }

  TEST_CASE("no text that is cut or altered by a byte does anything but be read or be refused") {
    choices all(3, {an_actor, 2, 0});
    for (int i = 0; i < 4; ++i) {
      all.push_back({a_value, 12, 7});
      all.push_back({a_write_back, 2, 1});
    }
    std::string const text = choice_record(all).to_text();
    int refused = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      refused += choice_record::from_text(text.substr(0, i)).has_error() ? 1 : 0;
      for (char const c : {'\0', '0', '9', 'a', '(', ')', '*', ':', '\n', '\xff'}) {
        std::string altered = text;
        altered[i] = c;
        auto const r = choice_record::from_text(altered);
        refused += r.has_error() ? 1 : 0;
        if (r.has_value())
          for (choice const& one : r->choices())
            CHECK(one.value < one.n);
      }
    }
    CHECK(refused > 300);
  }

  TEST_CASE("no line has more than 100 columns, brackets of long choices neither") {
    choices all;
    for (int i = 0; i < 40; ++i)
      for (std::uint32_t k = 0; k < 14; ++k)
        all.push_back({a_value, 4'000'000'000U, 3'999'999'000U + k});
    choice_record const long_ones(all);
    std::string const text = long_ones.to_text();
    CHECK(text.find("(v4000000000:3999999000 ") != std::string::npos);
    CHECK(text.find(")*40") != std::string::npos);
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      CHECK_MESSAGE(text.find('\n', at) - at <= 100, text);
    auto const same = choice_record::from_text(text);
    REQUIRE(same.has_value());
    CHECK(*same == long_ones);
  }
}
