// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/litmus/parse.hpp>
#include <quarry/litmus/test.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Litmus tests as text, and what was read from them as text again.
namespace litmus_text {

using namespace quarry::litmus;

[[nodiscard]] inline test parsed(std::string_view text) {
  auto read = parse(text, "t.litmus");
  REQUIRE_MESSAGE(read.has_value(), (read ? "" : read.error().what));
  return *read;
}

/// What is wrong with the text; empty if nothing is.
[[nodiscard]] inline std::string problem(std::string_view text) {
  auto const read = parse(text, "t.litmus");
  return read ? "" : read.error().what;
}

/// A test of one thread with these declarations and instructions, a row each.
[[nodiscard]] inline std::string ptx(std::string const& declarations, std::string const& rows) {
  return "PTX t\n{\n" + declarations + "\n}\n P0@cta 0,gpu 0 ;\n" + rows + "\nexists (x == 1)\n";
}
[[nodiscard]] inline std::string vulkan(std::string const& declarations, std::string const& rows) {
  return "Vulkan t\n{\n" + declarations + "\n}\n P0@sg 0, wg 0, qf 0 ;\n" + rows +
         "\nexists (x == 1)\n";
}

/// An instruction, such as `load r0, x acquire agent`.
class writer {
public:
  writer(test const& t, std::size_t thread) : test_(t), thread_(thread) {}

  std::string operator()(load const& i) const {
    return "load " + name(i.into) + ", " + name(i.from) + order_of(i.how);
  }
  std::string operator()(store const& i) const {
    return "store " + name(i.to) + ", " + name(i.what) + order_of(i.how);
  }
  std::string operator()(update const& i) const {
    auto const into = i.into ? name(*i.into) + ", " : "";
    std::string what;
    if (auto const* f = std::get_if<update::fetch>(&i.what))
      what = "fetch " + symbol(f->operation) + " " + name(f->by);
    else if (auto const* e = std::get_if<update::exchange>(&i.what))
      what = "exchange " + name(e->what);
    else if (auto const* c = std::get_if<update::compare_exchange>(&i.what))
      what = "compare " + name(c->expected) + " exchange " + name(c->desired);
    return "update " + into + name(i.at) + ", " + what + order_of(i.how);
  }
  std::string operator()(fence const& i) const { return "fence" + order_of(i.how); }
  std::string operator()(barrier const& i) const {
    return (i.waits ? "barrier " : "arrival ") + test_.barriers[i.instance] +
           (i.id ? " id " + name(*i.id) : "") + (i.quorum ? " quorum " + name(*i.quorum) : "") +
           order_of(i.how);
  }
  std::string operator()(compute const& i) const {
    return name(i.into) + " = " + name(i.left) + " " + symbol(i.operation) + " " + name(i.right);
  }
  std::string operator()(branch const& i) const {
    constexpr std::string_view comparisons[] = {"==", "!=", "<", "<=", ">", ">="};
    return "if " + name(i.left) + " " + std::string(comparisons[static_cast<int>(i.condition)]) +
           " " + name(i.right) + " to " + std::to_string(i.target);
  }

private:
  static std::string symbol(arithmetic a) { return std::string(1, "+-*/&|^"[static_cast<int>(a)]); }
  static std::string order_of(access_order const& how) {
    if (!how)
      return "";
    return " " + std::string(to_string(how->order)) + " " + std::string(to_string(how->scope));
  }
  std::string name(register_index r) const { return test_.threads[thread_].registers[r.at]; }
  std::string name(location_index l) const { return test_.locations[l.at].name; }
  std::string name(operand const& o) const {
    auto const* r = std::get_if<register_index>(&o);
    return r != nullptr ? name(*r) : std::to_string(std::get<value>(o));
  }

  test const& test_;
  std::size_t thread_;
};

[[nodiscard]] inline std::vector<std::string> program(test const& t, std::size_t thread = 0) {
  std::vector<std::string> lines;
  for (auto const& i : t.threads[thread].program)
    lines.push_back(std::visit(writer(t, thread), i));
  return lines;
}

/// The one instruction that `text` is for, in a PTX or a Vulkan test with x, y and r0, r1.
[[nodiscard]] inline std::string ptx_instruction(std::string const& text) {
  return program(parsed(ptx("x=0; y=0;", text + " ;"))).at(0);
}
[[nodiscard]] inline std::string vulkan_instruction(std::string const& text) {
  return program(parsed(vulkan("x=0; y=0;", text + " ;"))).at(0);
}

} // namespace litmus_text
