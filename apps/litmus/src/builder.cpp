// SPDX-License-Identifier: Apache-2.0
#include "builder.hpp"

#include "mnemonic.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quarry::litmus {
namespace {

bool has_digits_after(std::string_view text, std::string_view prefix) {
  return text.size() > prefix.size() && text.starts_with(prefix) &&
         text.find_first_not_of("0123456789", prefix.size()) == text.npos;
}

bool is_register_name(std::string_view text) {
  return has_digits_after(text, "r");
}

constexpr std::string_view a_register = "a register, such as r0";
constexpr std::string_view a_location = "the name of a location";

} // namespace

void builder::declare(token const& name) {
  if (is_register_name(name.text))
    tokens_.fail_at(name, "P0:r0 for a register; a location has another name than r0, r1 …");
  if (std::ranges::find(made_.locations, name.text, &location::name) != made_.locations.end())
    tokens_.fail_with(name.line, fmt::format("location {} is declared twice", name.text));
  made_.locations.push_back(
      {std::string(name.text), static_cast<std::uint32_t>(made_.initial.size())});
  made_.initial.push_back(0);
}

void builder::declare_alias(token const& name, token const& of) {
  auto const storage = made_.locations[location_named(of).at].storage;
  declare(name);
  made_.initial.pop_back();
  made_.locations.back().storage = storage;
}

void builder::declare_register(token const& thread_name, token const& name, value initial) {
  if (!is_register_name(name.text))
    tokens_.fail_at(name, a_register);
  registers_.push_back({thread_name, name, initial});
}

void builder::declare_thread(token const& name, placement where) {
  if (!has_digits_after(name.text, "P"))
    tokens_.fail_at(name, "a thread, such as P0");
  if (find_thread(name.text))
    tokens_.fail_with(name.line, fmt::format("thread {} is there twice", name.text));
  made_.threads.push_back({std::string(name.text), where, {}, {}, {}});
  labels_.emplace_back();
}

void builder::finish_threads() {
  for (auto const& [thread_name, name, initial] : registers_) {
    auto const found = find_thread(thread_name.text);
    if (!found)
      tokens_.fail_with(thread_name.line, fmt::format("there is no thread {} for register {}",
                                                      thread_name.text, name.text));
    auto& of = made_.threads[*found];
    if (std::ranges::find(of.registers, name.text) != of.registers.end())
      tokens_.fail_with(name.line,
                        fmt::format("register {} of {} is declared twice", name.text, of.name));
    of.initial[register_named(of, name.text).at] = initial;
  }
}

void builder::add(instruction const& i) {
  made_.threads[thread_].program.push_back(i);
}

void builder::check_label(token const& name) const {
  if (!has_digits_after(name.text, "LC"))
    tokens_.fail_at(name, "a label, such as LC00");
}

void builder::define_label(token const& name) {
  check_label(name);
  auto const& of = made_.threads[thread_];
  auto const at = static_cast<std::uint32_t>(of.program.size());
  if (!labels_[thread_].targets.emplace(name.text, at).second)
    tokens_.fail_with(name.line, fmt::format("label {} is there twice in {}", name.text, of.name));
}

void builder::add_branch(branch b, token const& label) {
  check_label(label);
  labels_[thread_].uses.push_back({label, made_.threads[thread_].program.size()});
  add(b);
}

void builder::finish_programs() {
  for (std::size_t i = 0; i < labels_.size(); ++i)
    for (auto const& [name, at] : labels_[i].uses) {
      auto const target = labels_[i].targets.find(name.text);
      if (target == labels_[i].targets.end())
        tokens_.fail_with(
            name.line, fmt::format("there is no label {} in {}", name.text, made_.threads[i].name));
      std::get<branch>(made_.threads[i].program[at]).target = target->second;
    }
}

location_index builder::location_named(token const& name) const {
  auto const found = std::ranges::find(made_.locations, name.text, &location::name);
  if (found == made_.locations.end())
    tokens_.fail_with(name.line,
                      fmt::format("location {} is neither declared nor used", name.text));
  return {static_cast<std::uint32_t>(found - made_.locations.begin())};
}

register_index builder::register_named(thread& of, std::string_view name) {
  auto const found = std::ranges::find(of.registers, name);
  if (found != of.registers.end())
    return {static_cast<std::uint32_t>(found - of.registers.begin())};
  of.registers.emplace_back(name);
  of.initial.push_back(0);
  return {static_cast<std::uint32_t>(of.registers.size() - 1)};
}

location_index builder::read_location() {
  if (is_register_name(tokens_.peek().text))
    throw unsupported_feature{fmt::format("the address in register {}", tokens_.peek().text)};
  token const& name = tokens_.word(a_location);
  if (std::ranges::find(made_.locations, name.text, &location::name) == made_.locations.end())
    declare(name);
  return location_named(name);
}

register_index builder::read_register() {
  if (!is_register_name(tokens_.peek().text))
    tokens_.fail(a_register);
  return register_named(made_.threads[thread_], tokens_.next().text);
}

operand builder::read_operand() {
  if (tokens_.peek().what == token::kind::word) {
    if (!is_register_name(tokens_.peek().text))
      tokens_.fail("a register, such as r0, or a number");
    return read_register();
  }
  return tokens_.number("a register or a number");
}

std::uint32_t builder::read_barrier_instance(bool is_of_subgroup) {
  auto const number = tokens_.number("the barrier's number");
  std::string const name = fmt::format("{}{}", number, is_of_subgroup ? " of subgroups" : "");
  auto const found = std::ranges::find(made_.barriers, name);
  if (found != made_.barriers.end())
    return static_cast<std::uint32_t>(found - made_.barriers.begin());
  made_.barriers.push_back(name);
  return static_cast<std::uint32_t>(made_.barriers.size() - 1);
}

std::optional<std::uint32_t> builder::find_thread(std::string_view name) const {
  bool const is_number = name.find_first_not_of("0123456789") == name.npos;
  std::string const full = is_number ? fmt::format("P{}", name) : std::string(name);
  auto const found = std::ranges::find(made_.threads, full, &thread::name);
  if (found == made_.threads.end())
    return std::nullopt;
  return static_cast<std::uint32_t>(found - made_.threads.begin());
}

std::uint32_t builder::observe(variable v) {
  auto const found = std::ranges::find(made_.observed, v);
  if (found != made_.observed.end())
    return static_cast<std::uint32_t>(found - made_.observed.begin());
  made_.observed.push_back(v);
  return static_cast<std::uint32_t>(made_.observed.size() - 1);
}

variable builder::read_thread_register(token const& thread_name) {
  tokens_.expect(":", "and a register, after a thread");
  auto const found = find_thread(thread_name.text);
  if (!found)
    tokens_.fail_with(thread_name.line, fmt::format("there is no thread {}", thread_name.text));
  token const& name = tokens_.word(a_register);
  auto& of = made_.threads[*found];
  // What is unsupported was not read: it may use any register.
  if (!made_.unsupported.empty() && is_register_name(name.text))
    return {variable::kind::thread_register, *found, register_named(of, name.text).at};
  auto const at = std::ranges::find(of.registers, name.text);
  if (at == of.registers.end())
    tokens_.fail_with(name.line,
                      fmt::format("{} neither uses nor declares register {}", of.name, name.text));
  return {variable::kind::thread_register, *found,
          static_cast<std::uint32_t>(at - of.registers.begin())};
}

std::uint32_t builder::read_variable() {
  if (tokens_.accept("[")) {
    auto const at = location_named(tokens_.word(a_location)).at;
    tokens_.expect("]", "after the location");
    return observe({variable::kind::memory, 0, at});
  }
  token const& first = tokens_.next();
  if (tokens_.at(":"))
    return observe(read_thread_register(first));
  if (first.what != token::kind::word)
    tokens_.fail_at(first, "a location or a register, such as x or P0:r0");
  return observe({variable::kind::memory, 0, location_named(first).at});
}

} // namespace quarry::litmus
