// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/replay_file.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace quarry;

replay_file example() {
  std::vector<choice> const choices{{choice_kind::actor, 3, 2},
                                    {choice_kind::value, 2, 0},
                                    {choice_kind::write_back, 2, 1},
                                    {choice_kind::actor, 2, 0}};
  return {.name = "world",
          .build = "abc123",
          .seed = 42,
          .most_decisions = 300,
          .kind = "race",
          .where = "a.hpp:1 and b.hpp:2",
          .choices = choice_record(choices)};
}

std::string refusal(std::string const& text) {
  auto const file = replay_file::from_text(text);
  return file ? "accepted" : file.error().what;
}

/// The text with `from` replaced.
std::string edited(std::string const& from, std::string const& to) {
  std::string text = example().to_text();
  return text.replace(text.find(from), from.size(), to);
}

} // namespace

TEST_SUITE("emu.replay_file") {
  TEST_CASE("what is written is read again") {
    auto const file = replay_file::from_text(example().to_text());
    REQUIRE(file.has_value());
    CHECK(file->to_text() == example().to_text());
    CHECK(file->name == "world");
    CHECK(file->seed == 42);
    CHECK(file->most_decisions == 300);
    CHECK(file->where == "a.hpp:1 and b.hpp:2");
    CHECK(file->choices == example().choices);
  }

  TEST_CASE("a file that was cut short or edited is refused, with the line") {
    CHECK(refusal("") == "replay file, line 1: expected \"quarry-replay 2\"");
    CHECK(refusal("quarry-replay 1\n") == "replay file, line 1: expected \"quarry-replay 2\"");
    CHECK(refusal("quarry-replay 2\nname: x\n") == "replay file, line 2: the file is cut short");
    CHECK(refusal(edited("build: ", "built: ")) == "replay file, line 3: expected \"build: …\"");
    CHECK(refusal(edited("0x000000000000002a", "0x2g")).find("line 4: expected a seed") !=
          std::string::npos);
    CHECK(refusal(edited("indirect", "some")) ==
          "replay file, line 5: expected \"races: \" and indirect, direct or off");
    CHECK(refusal(edited("decisions: 300", "decisions: 3x")) ==
          "replay file, line 6: expected how many decisions an execution may take");
    CHECK(refusal(edited("choices 4", "choices x")).find("line 9: the choices below") !=
          std::string::npos);
  }

  TEST_CASE("a line break in a name does not become a line of the file") {
    replay_file file = example();
    file.name = "two\nlines";
    auto const again = replay_file::from_text(file.to_text());
    REQUIRE(again.has_value());
    CHECK(again->name == "two lines");
  }

  TEST_CASE("on disk; a file that cannot be read or written is named") {
    auto const path =
        (std::filesystem::temp_directory_path() / ("quarry-" + build_id() + ".replay")).string();
    REQUIRE(example().write(path).has_value());
    auto const file = replay_file::read(path);
    std::filesystem::remove(path);
    REQUIRE(file.has_value());
    CHECK(file->choices == example().choices);
    auto const missing = replay_file::read("/nowhere/x.replay");
    REQUIRE(missing.has_error());
    CHECK(missing.error().what.find("/nowhere/x.replay: cannot be read") == 0);
    auto const unwritten = example().write("/nowhere/x.replay");
    REQUIRE(unwritten.has_error());
    CHECK(unwritten.error().what.find("/nowhere/x.replay: cannot be written") == 0);
  }

  TEST_CASE("the program has a build id, always the same") {
    CHECK(build_id() == build_id());
    CHECK(!build_id().empty());
  }
}
