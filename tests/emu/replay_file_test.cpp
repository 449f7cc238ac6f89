// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/explore.hpp>
#include <quarry/emu/replay_file.hpp>

#include <doctest/doctest.h>

#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <system_error>
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

/// The example's text with `from` replaced.
std::string edited(std::string const& from, std::string const& to) {
  std::string text = example().to_text();
  return text.replace(text.find(from), from.size(), to);
}

/// With the checksum that belongs to the lines below it, as a program of another version may have
/// written it.
std::string sealed(std::string const& text) {
  auto const content = text.substr(text.find('\n', text.find('\n') + 1) + 1);
  std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (char const c : content)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  char line[40];
  std::snprintf(line, sizeof line, "checksum: 0x%016" PRIx64 "\n", hash);
  return text.substr(0, text.find('\n') + 1) + line + content;
}

/// While it lives, files of the process are no longer than that.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit const now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  file_size_limit(file_size_limit const&) = delete;
  file_size_limit& operator=(file_size_limit const&) = delete;
  ~file_size_limit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

private:
  void (*signal_)(int);
  rlimit before_{};
};

bool is_refused_as_edited(std::string const& text) {
  return refusal(text).starts_with(
      "replay file, line 2: the file was edited or cut short: what follows has the checksum: 0x");
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

  TEST_CASE("what was converted to another system's text is said to be so") {
    std::string lines;
    for (char const c : example().to_text())
      lines += c == '\n' ? "\r\n" : std::string(1, c);
    for (std::string const& text : {lines, "\xef\xbb\xbf" + example().to_text()})
      CHECK(refusal(text).starts_with(
          "replay file, line 1: a byte-order mark, or lines that end in CR LF: "));
  }

  TEST_CASE("a file that was cut short or edited anywhere is refused") {
    std::string const text = example().to_text();
    CHECK(sealed(text) == text);
    CHECK(is_refused_as_edited(edited("seed: 0x000000000000002a", "seed: 0x000000000000002b")));
    CHECK(is_refused_as_edited(edited("a3:2", "a3:1")));
    CHECK(is_refused_as_edited(edited("name: world", "name: world2")));
    CHECK(is_refused_as_edited(edited("checksum: 0x", "checksum: 0xf")));
    CHECK(is_refused_as_edited(edited("checksum: ", "")));
    CHECK(is_refused_as_edited(text + "a2"));
    auto const rest = text.find('\n') + 1;
    for (std::size_t length = rest; length < text.size(); ++length) {
      CAPTURE(length);
      CHECK(is_refused_as_edited(text.substr(0, length)));
    }
  }

  TEST_CASE("what a file has wrong although its checksum is right is said, with the line") {
    CHECK(refusal("") == "replay file, line 1: expected \"quarry-replay 3\"");
    CHECK(refusal("quarry-replay 2\n") == "replay file, line 1: expected \"quarry-replay 3\"");
    CHECK(refusal(sealed("quarry-replay 3\n\nname: x\n")) ==
          "replay file, line 3: the file is cut short");
    CHECK(refusal(sealed(edited("build: ", "built: "))) ==
          "replay file, line 4: expected \"build: …\"");
    CHECK(refusal(sealed(edited("0x000000000000002a", "0x2g"))).find("line 5: expected a seed") !=
          std::string::npos);
    CHECK(refusal(sealed(edited("indirect", "some"))) ==
          "replay file, line 6: expected \"races: \" and indirect, direct or off");
    CHECK(refusal(sealed(edited("decisions: 300", "decisions: 3x"))) ==
          "replay file, line 7: expected how many decisions an execution may take");
  }

  TEST_CASE("what is wrong with the choices has one line number, the file's") {
    CHECK(refusal(sealed(edited("choices 4", "choices x"))) ==
          "replay file, line 11, column 9: expected how many choices there were, found 'x'");
    CHECK(refusal(sealed(edited("a3:2", "a3:3"))) ==
          "replay file, line 12, column 4: expected a value from 0 to 2, found '3'");
  }

  TEST_CASE("a line break in a name does not become a line of the file") {
    replay_file file = example();
    file.name = "two\nlines";
    auto const again = replay_file::from_text(file.to_text());
    REQUIRE(again.has_value());
    CHECK(again->name == "two lines");
  }

  TEST_CASE("a failure with line breaks in what it says is repeated as what it is") {
    auto const fail = [](world&) { throw std::runtime_error("bad\rthing"); };
    auto const first = explore({.executions = 1, .keeps_failures = false}, fail);
    REQUIRE(first.failure);
    replay_file file;
    file.build = build_id();
    file.kind = first.failure->kind;
    file.where = first.failure->where;
    file.choices = first.failure->shrunk;
    auto const recorded = replay_file::from_text(file.to_text());
    REQUIRE(recorded.has_value());
    auto const again = explore({.repeats = &*recorded, .keeps_failures = false}, fail);
    CHECK_MESSAGE(again.missed.empty(), again.to_string());
    REQUIRE(again.failure);
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

  TEST_CASE("of one that is written in part only nothing is left, and why is said") {
    replay_file large = example();
    large.choices = choice_record(std::vector<choice>(100'000, {choice_kind::value, 16, 15}));
    large.name = std::string(100'000, 'n');
    auto const path =
        (std::filesystem::temp_directory_path() / ("quarry-part-" + build_id() + ".replay"))
            .string();
    result<void> written = [&] {
      file_size_limit const small(10'000);
      return large.write(path);
    }();
    REQUIRE(written.has_error());
    CHECK(written.error().code == std::errc::file_too_large);
    CHECK(written.error().what == path + ": cannot be written: File too large");
    CHECK(!std::filesystem::exists(path));
  }

  TEST_CASE("the program has a build id, always the same") {
    CHECK(build_id() == build_id());
    CHECK(!build_id().empty());
  }
}
