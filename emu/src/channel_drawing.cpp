// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/channel_drawing.hpp>

#include <cstddef>

namespace quarry::emu {
namespace {

std::string quoted(std::string const& text) {
  std::string result = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}
std::string node(char const* kind, std::size_t i) {
  return std::string("  ") + kind + std::to_string(i);
}

} // namespace

std::string channel_drawing::to_dot() const {
  std::string dot = "digraph {\n  rankdir = LR;\n";
  for (std::size_t i = 0; i < channels.size(); ++i)
    dot += node("channel", i) + " [shape = box, label = " +
           quoted(channels[i].name + ", " + std::to_string(channels[i].width)) + "];\n";
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernel const& k = kernels[i];
    dot += node("kernel", i) + " [shape = ellipse, label = " + quoted(k.name) + "];\n";
    dot += node("channel", k.from) + " -> kernel" + std::to_string(i) + ";\n";
    for (std::size_t const to : k.into)
      dot += node("kernel", i) + " -> channel" + std::to_string(to) + ";\n";
  }
  return dot + "}\n";
}

} // namespace quarry::emu
