// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// Small litmus tests for PTX, as text. Half of them are classic shapes with orders, scopes, fences
/// and places by chance, since what is all by chance seldom synchronises; all that threads read,
/// and the last values, are observed. A write's value tells it from the others at its location, but
/// for updates that may leave it as it is.
class random_ptx {
public:
  enum class shapes : std::uint8_t {
    any,
    handed_over, ///< a word is: by an update, to who has written it as well, or twice
    left_as_is,  ///< by updates, half of which may write what they have read
  };
  explicit random_ptx(std::uint64_t seed, shapes which = shapes::any)
      : random_(seed), which_(which) {}

  /// The next test.
  [[nodiscard]] std::string next();

private:
  /// A thread's accesses: R or W or U (read-modify-write), and a location, such as "Wx Wy".
  using shape = std::vector<std::string>;

  [[nodiscard]] unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  [[nodiscard]] bool happens(unsigned percent) { return below(100) < percent; }
  template<class T>
  [[nodiscard]] T const& one_of(std::vector<T> const& all) {
    return all[below(static_cast<unsigned>(all.size()))];
  }

  [[nodiscard]] shape random_shape();
  [[nodiscard]] std::string places(std::size_t thread_count);
  [[nodiscard]] std::vector<std::string> program(std::size_t thread, std::string_view accesses);
  [[nodiscard]] std::string fence();
  [[nodiscard]] std::string read(std::size_t thread, char location);
  [[nodiscard]] std::string write(char location);
  [[nodiscard]] std::string update(std::size_t thread, char location);
  /// Such as .acquire.gpu.
  [[nodiscard]] std::string strength(std::vector<std::string> const& orders);
  /// A scope that holds all threads, most of the time.
  [[nodiscard]] std::string scope();
  [[nodiscard]] std::string new_register(std::size_t thread);
  [[nodiscard]] std::string new_value() { return std::to_string(++last_value_); }

  std::mt19937_64 random_; // its numbers are the same everywhere, those of distributions are not
  shapes which_;
  unsigned widest_ = 0; // scope that holds all threads: cta, gpu, sys
  unsigned last_value_ = 0;
  unsigned last_register_ = 0;
  std::string observed_;
};
