// SPDX-License-Identifier: Apache-2.0
#include "call_sites.hpp"

#include <quarry/random_bits.hpp>
#include <quarry/report.hpp>

#include <map>
#include <mutex>

namespace quarry::net {
namespace {

/// The same in each run of a program, but for two that share it: memory of an explored job holds
/// it.
std::uint16_t first_guess(std::source_location where) noexcept {
  std::uint64_t hash = where.line(); // compilers differ in columns
  for (char const* c = where.file_name(); *c != 0; ++c)
    hash = random_bits::at(hash, static_cast<unsigned char>(*c));
  return static_cast<std::uint16_t>(hash);
}

class numbered_lines {
public:
  std::uint16_t number_of(std::source_location where) {
    std::lock_guard const lock(mutex_);
    for (std::uint16_t number = first_guess(where);; ++number) {
      auto const known = lines_.find(number);
      if (known != lines_.end() && is_same_line(known->second, where))
        return number;
      if (known == lines_.end() && number != 0) {
        if (lines_.size() == most)
          return 0;
        lines_.emplace(number, where);
        return number;
      }
    }
  }
  std::optional<std::source_location> find(std::uint64_t number) {
    std::lock_guard const lock(mutex_);
    auto const known = lines_.find(number);
    return known == lines_.end() ? std::nullopt : std::optional(known->second);
  }

private:
  static constexpr std::size_t most = 10'000;
  std::mutex mutex_;
  std::map<std::uint64_t, std::source_location> lines_;
};

numbered_lines& all() {
  static numbered_lines those;
  return those;
}

} // namespace

std::uint16_t call_site_number(std::source_location where) {
  return all().number_of(where);
}
std::optional<std::source_location> call_site(std::uint64_t number) {
  return number == 0 ? std::nullopt : all().find(number); // natively always
}

} // namespace quarry::net
