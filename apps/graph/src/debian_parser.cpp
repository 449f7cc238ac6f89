// SPDX-License-Identifier: Apache-2.0
#include "debian_parser.hpp"

#include "text.hpp"

#include <quarry/in_quotes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quarry::graph {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  auto const first = text.find_first_not_of(blanks);
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Field names are written in any case (Policy §5.1).
bool is_field(std::string_view read, std::string_view name) {
  auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(read.begin(), read.end(), name.begin(), name.end(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '-' || c == '.' || c == '_';
}

/// The name in `libc6:any (>= 2.36) [amd64]`.
std::string_view relation_name(std::string_view relation) {
  relation = trimmed(relation);
  return relation.substr(0, relation.find_first_of(" \t:([<"));
}

/// Calls `each` with the parts of `list` between separators, until it returns true.
template<class Each>
void for_each_part(std::string_view list, char separator, Each each) {
  while (!list.empty()) {
    auto const end = std::min(list.find(separator), list.size());
    if (each(list.substr(0, end)))
      return;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

} // namespace

result<void> debian_parser::line(std::string_view text) {
  ++line_number_;
  if (trimmed(text).empty())
    return end_stanza();
  if (stanza_line_ == 0)
    stanza_line_ = line_number_;
  if (text.front() != ' ' && text.front() != '\t')
    return field(text);
  if (line_number_ == stanza_line_)
    return malformed(name_, line_number_,
                     fmt::format("read {}, a line that goes on with a field, but no field came "
                                 "before it",
                                 in_quotes(text)));
  if (continued_ != nullptr)
    continued_->append(" ").append(trimmed(text));
  return {};
}

result<void> debian_parser::field(std::string_view text) {
  auto const colon = text.find(':');
  auto const name = text.substr(0, std::min(colon, text.size()));
  if (colon == text.npos || name.empty() || name.find_first_of(blanks) != name.npos)
    return malformed(name_, line_number_,
                     fmt::format("read {}, a line must be 'Field: value', or begin with a blank",
                                 in_quotes(text)));
  auto const value = trimmed(text.substr(colon + 1));
  continued_ = nullptr;
  if (is_field(name, "Package"))
    return package_field(value);
  if (is_field(name, "Depends") || is_field(name, "Pre-Depends"))
    continued_ = &current_.depends;
  else if (is_field(name, "Provides"))
    continued_ = &current_.provides;
  if (continued_ != nullptr)
    continued_->append(continued_->empty() ? "" : ", ").append(value);
  return {};
}

result<void> debian_parser::package_field(std::string_view value) {
  if (!current_.name.empty())
    return malformed(name_, line_number_,
                     fmt::format("a second Package field, {}, in the stanza of {}; stanzas are "
                                 "separated by an empty line",
                                 in_quotes(value), current_.name));
  if (value.empty() || !std::all_of(value.begin(), value.end(), is_name_character))
    return malformed(name_, line_number_,
                     fmt::format("read package name {}, allowed are letters, digits and + - . _",
                                 in_quotes(value)));
  current_.name = value;
  return {};
}

result<void> debian_parser::end_stanza() {
  auto const began = std::exchange(stanza_line_, 0);
  continued_ = nullptr;
  package done = std::exchange(current_, {});
  if (began == 0)
    return {}; // one more empty line between stanzas
  if (done.name.empty())
    return malformed(name_, began, "the stanza that begins here has no Package field");
  if (packages_.size() == max_vertex_count)
    return make_error(std::errc::value_too_large,
                      fmt::format("{}:{}: more than {} packages", name_, began, max_vertex_count));
  ++counts_.stanza_count;
  if (!real_.try_emplace(done.name, static_cast<std::uint32_t>(packages_.size())).second)
    ++counts_.repeated_package_count;
  else
    packages_.push_back(std::move(done));
  return {};
}

void debian_parser::list_providers() {
  for (std::uint32_t v = 0; v < packages_.size(); ++v)
    for_each_part(packages_[v].provides, ',', [&](std::string_view relation) {
      if (auto const name = relation_name(relation); !name.empty())
        provider_.try_emplace(std::string(name), v);
      return false;
    });
}

void debian_parser::add_edges(std::uint32_t source) {
  for_each_part(packages_[source].depends, ',', [&](std::string_view clause) {
    if (!trimmed(clause).empty())
      add_clause(source, clause);
    return false;
  });
}

void debian_parser::add_clause(std::uint32_t source, std::string_view clause) {
  ++counts_.clause_count;
  bool exists = false;
  for_each_part(clause, '|', [&](std::string_view relation) {
    auto const name = relation_name(relation);
    auto found = real_.find(name);
    exists = found != real_.end();
    if (!exists) {
      found = provider_.find(name);
      exists = found != provider_.end();
      counts_.provided_count += exists;
    }
    if (exists && found->second == source)
      ++counts_.own_count;
    else if (exists)
      edges_.push_back({source, found->second});
    return exists;
  });
  counts_.missing_count += !exists;
}

result<debian_graph> debian_parser::finish() {
  if (auto const ended = end_stanza(); !ended)
    return ended.error();
  if (packages_.empty())
    return make_error(std::errc::bad_message, fmt::format("{}: there is no package in it", name_));
  list_providers();
  for (std::uint32_t v = 0; v < packages_.size(); ++v)
    add_edges(v);
  auto graph = make_csr(static_cast<std::uint32_t>(packages_.size()), edges_, duplicates::merge);
  if (!graph)
    return graph.error();
  debian_graph made;
  made.graph = std::move(*graph);
  made.counts = counts_;
  made.counts.merged_count = edges_.size() - made.graph.edge_count();
  made.names.reserve(packages_.size());
  for (auto& entry : packages_)
    made.names.push_back(std::move(entry.name));
  return made;
}

} // namespace quarry::graph
