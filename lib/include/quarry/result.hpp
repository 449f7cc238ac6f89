// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/system/result.hpp>

#include <iosfwd>
#include <string>
#include <system_error>

namespace quarry {

/// What the world did wrong: a code to test for, and a sentence that names the thing and the place.
struct error {
  std::error_code code;
  std::string what;

  friend bool operator==(error const&, error const&) = default;
  /// The sentence: for test macros, which print what they compare.
  template<class Character, class Traits>
  friend auto& operator<<(std::basic_ostream<Character, Traits>& out, error const& e) {
    return out << e.what;
  }
};

/// A value, or an error of the world (design §10): peer lost, port in use, bad file, heap
/// exhausted.
///
/// Errors   value() throws std::system_error with the error's code and sentence
template<class T>
using result = boost::system::result<T, error>;

/// Found by result::value() through argument-dependent lookup.
[[noreturn]] inline void throw_exception_from_error(error const& e, boost::source_location const&) {
  throw std::system_error(e.code, e.what);
}

} // namespace quarry
