// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/error.hpp>
#include <quarry/net/gravel_message.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/result.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

// The format of a per-node buffer (thesis Figure A-2: messages are packed so that each costs
// little): 32-bit words in the machine's order, first the kind of frame. Data frames are runs of
// messages with the same command: tag, count, then `count` entries: the heap word's number, and
// unless the command is `increment` the 64-bit value, low half first.

namespace quarry::net::gravel {

enum class frame_kind : std::uint32_t {
  data = 1,
  fence_request, ///< number: answer when everything before it has been applied
  fence_answer,  ///< number
  gather,        ///< number, then one node's contribution: a byte says to which collective
  failure,       ///< its code, the node that it comes from, then its text: why the sender leaves
  waiting,       ///< number: not used. The sender is there, and waits for somebody else itself
};

inline constexpr std::size_t run_header_words = 2;

[[nodiscard]] constexpr std::size_t entry_words(command c) noexcept {
  return c == command::increment ? 1 : 3;
}

/// Why a job fails that gets such a frame.
[[nodiscard]] inline error bad_frame(pe from, char const* what) {
  return make_error(net_errc::bad_frame, fmt::format("gravel: {} from {}", what, to_string(from)));
}

/// A run of a data frame.
struct message_run {
  command what;
  std::uint32_t handler;
  std::uint32_t count;
  std::span<std::uint32_t const> entries;

  [[nodiscard]] std::uint32_t word(std::size_t i) const noexcept {
    return entries[i * entry_words(what)];
  }
  [[nodiscard]] std::uint64_t value(std::size_t i) const noexcept {
    std::size_t const at = i * entry_words(what);
    return entries[at + 1] | std::uint64_t{entries[at + 2]} << 32;
  }
};

/// Takes the first run off `rest`; none if what is there is not a whole run of a known command.
[[nodiscard]] inline std::optional<message_run>
take_run(std::span<std::uint32_t const>& rest) noexcept {
  if (rest.size() < run_header_words)
    return std::nullopt;
  command const what = package_tag::what(rest[0]);
  if (what < command::increment || what > command::active_message)
    return std::nullopt;
  std::size_t const words = std::size_t{rest[1]} * entry_words(what);
  if (rest[1] == 0 || words > rest.size() - run_header_words)
    return std::nullopt;
  message_run const r{what, package_tag::handler(rest[0]), rest[1],
                      rest.subspan(run_header_words, words)};
  rest = rest.subspan(run_header_words + words);
  return r;
}

/// Fills one per-node buffer. The hot fields come first: an aggregator has one of these a node.
class frame_writer {
public:
  frame_writer() = default;
  /// Starts a data frame in `words`, which must hold at least one message.
  void open(std::span<std::uint32_t> words) noexcept {
    begin_ = words.data();
    end_ = begin_ + words.size();
    *begin_ = static_cast<std::uint32_t>(frame_kind::data);
    at_ = limit_ = begin_ + 1;
    run_ = nullptr;
    tag_ = 0;
  }
  [[nodiscard]] bool is_open() const noexcept { return begin_ != nullptr; }
  [[nodiscard]] bool is_empty() const noexcept { return messages_ == 0 && run_ == nullptr; }
  /// Changes with every message: tells whether one has come since.
  [[nodiscard]] void const* position() const noexcept { return at_; }

  /// What the next messages are: until another call, add() takes messages with this tag.
  void expect(std::uint32_t tag) noexcept {
    if (tag != tag_)
      limit_ = at_; // the next add() starts a run
    wanted_ = tag;
  }
  /// Adds a message of one word; false if it does not fit, or no frame is open.
  [[nodiscard]] bool add(std::uint32_t word) noexcept {
    if (at_ == limit_) [[unlikely]]
      if (!start_run(1))
        return false;
    *at_++ = word;
    return true;
  }
  /// Adds a message of a word and a value.
  [[nodiscard]] bool add(std::uint32_t word, std::uint64_t value) noexcept {
    if (limit_ - at_ < 3) [[unlikely]]
      if (!start_run(3))
        return false;
    at_[0] = word;
    at_[1] = static_cast<std::uint32_t>(value);
    at_[2] = static_cast<std::uint32_t>(value >> 32);
    at_ += 3;
    return true;
  }

  /// May `words` more messages of one word be added, without another run?
  [[nodiscard]] bool has_room(std::uint32_t words) const noexcept {
    return limit_ - at_ >= static_cast<std::ptrdiff_t>(words);
  }
  /// Adds those of a register's words whose bits are set. Needs room for all of them.
  template<class Register>
  void add_some(typename Register::type words, std::uint64_t bits) noexcept {
    at_ += Register::compress(at_, words, bits);
  }

  /// Ends the frame; gives its words.
  std::size_t close() noexcept {
    end_run();
    auto const words = static_cast<std::size_t>(at_ - begin_);
    *this = frame_writer(wanted_);
    return words;
  }
  [[nodiscard]] std::uint64_t message_count() const noexcept {
    return messages_ + (run_ == nullptr ? 0 : run_length());
  }

private:
  explicit frame_writer(std::uint32_t wanted) noexcept : wanted_(wanted) {}
  bool start_run(std::ptrdiff_t needed) noexcept {
    auto const header = wanted_ == tag_ ? 0 : static_cast<std::ptrdiff_t>(run_header_words);
    if (end_ - at_ < needed + header)
      return false;
    limit_ = end_;
    if (wanted_ == tag_)
      return true;
    end_run();
    run_ = at_;
    tag_ = wanted_;
    *at_ = tag_;
    at_ += run_header_words;
    return true;
  }
  [[nodiscard]] std::uint32_t run_length() const noexcept {
    auto const words = static_cast<std::size_t>(at_ - run_) - run_header_words;
    return static_cast<std::uint32_t>(words / entry_words(package_tag::what(tag_)));
  }
  void end_run() noexcept {
    if (run_ == nullptr)
      return;
    run_[1] = run_length();
    messages_ += run_[1];
    run_ = nullptr;
    tag_ = 0;
  }

  std::uint32_t* at_ = nullptr;
  std::uint32_t* limit_ = nullptr; ///< the end if the open run is of the wanted tag, otherwise at_
  std::uint32_t* end_ = nullptr;
  std::uint32_t wanted_ = 0;
  std::uint32_t tag_ = 0; ///< of the open run; no command is 0
  std::uint32_t* run_ = nullptr;
  std::uint32_t* begin_ = nullptr;
  std::uint64_t messages_ = 0;
};

} // namespace quarry::net::gravel
