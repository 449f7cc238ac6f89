// SPDX-License-Identifier: Apache-2.0
// What a drawing says; of which nodes a graph's drawing is made, channel_graph_test.cpp checks.
#include <quarry/emu/channel_drawing.hpp>

#include <doctest/doctest.h>

#include <string>

using quarry::emu::channel_drawing;

namespace {

std::string with(std::string const& lines) {
  return "digraph {\n  rankdir = LR;\n" + lines + "}\n";
}

} // namespace

TEST_SUITE("emu.channel_drawing") {
  TEST_CASE("a drawing of nothing is an empty graph") {
    CHECK(channel_drawing{}.to_dot() == with(""));
  }

  TEST_CASE("channels that nobody consumes are boxes, with their widths") {
    channel_drawing const d{.channels = {{"in", 1}, {"out", 4'294'967'295}}};
    CHECK(d.to_dot() == with("  channel0 [shape = box, label = \"in, 1\"];\n"
                             "  channel1 [shape = box, label = \"out, 4294967295\"];\n"));
  }

  TEST_CASE("a kernel has one edge from its channel, and one to each that it produces for") {
    channel_drawing const d{.channels = {{"a", 8}, {"b", 8}},
                            .kernels = {{"again", 1, {1, 0}}, {"ends", 0}}};
    CHECK(d.to_dot() == with("  channel0 [shape = box, label = \"a, 8\"];\n"
                             "  channel1 [shape = box, label = \"b, 8\"];\n"
                             "  kernel0 [shape = ellipse, label = \"again\"];\n"
                             "  channel1 -> kernel0;\n"
                             "  kernel0 -> channel1;\n"
                             "  kernel0 -> channel0;\n"
                             "  kernel1 [shape = ellipse, label = \"ends\"];\n"
                             "  channel0 -> kernel1;\n"));
  }

  TEST_CASE("equal names are different nodes") {
    channel_drawing const d{.channels = {{"x", 2}, {"x", 2}}, .kernels = {{"x", 0}, {"x", 1}}};
    std::string const dot = d.to_dot();
    for (char const* const node : {"  channel0 [", "  channel1 [", "  kernel0 [", "  kernel1 ["})
      CHECK(dot.find(node) != std::string::npos);
    CHECK(dot.find("channel1 -> kernel1") != std::string::npos);
    CHECK(dot.find("channel0 -> kernel1") == std::string::npos);
  }

  TEST_CASE("whatever a name has in it stays inside its label") {
    channel_drawing const d{.channels = {{R"(a "b\)", 2}}, .kernels = {{R"(\"; x)", 0}}};
    CHECK(d.to_dot() == with(R"(  channel0 [shape = box, label = "a \"b\\, 2"];
  kernel0 [shape = ellipse, label = "\\\"; x"];
  channel0 -> kernel0;
)"));
  }
}
