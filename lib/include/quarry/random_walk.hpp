// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/random_bits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quarry {

/// How often a choice of each kind is not the boring one.
///
/// Shape    percent, 0 to 100
struct choice_rates {
  /// Which of the older writes a load sees that does not see the newest.
  enum class age : std::uint8_t { any, oldest };

  unsigned leave_percent = 50;      ///< an actor that could go on; the message that came first
  unsigned stale_percent = 50;      ///< loads
  unsigned write_back_percent = 50; ///< of those who could have
  unsigned reverse_percent = 50;    ///< lanes, and work-groups, from the last to the first
  age stale_age = age::any;         ///< any: each as likely as the others

  friend bool operator==(choice_rates const&, choice_rates const&) = default;
};

/// What an execution of `swarm` draws: each rate one of 2, 10, 30, 50 and 80 %, as no fixed one
/// shows everything; and at times laziness: nothing stale, nearly everything as stale as can be
/// (but a loop that waits for a value ends), nothing ever written back. Lanes and groups come in
/// either order.
///
/// Source   Groce et al.: Swarm testing, ISSTA'12
[[nodiscard]] choice_rates drawn_rates(random_bits& bits) noexcept;
/// "leaves 10 %, stale 98 % (oldest), written back 2 %, reversed 50 %"
[[nodiscard]] std::string to_string(choice_rates const& r);

/// The strategy that decides anew at each choice, at fixed rates.
class random_walk final : public chooser {
public:
  random_walk() : random_walk(choice_rates{}) {}
  /// Errors   std::invalid_argument – a rate above 100 %
  explicit random_walk(choice_rates rates) { use(rates); }

  static constexpr std::string_view name() noexcept { return "random_walk"; }
  void begin(std::uint64_t seed) noexcept;
  void end() noexcept {}
  [[nodiscard]] std::string describe() const { return "random walk: " + to_string(rates_); }

  /// From now on.
  ///
  /// Errors   std::invalid_argument – a rate above 100 %
  void use(choice_rates rates);
  [[nodiscard]] choice_rates const& rates() const noexcept { return rates_; }

  unsigned pick(unsigned n, choice_kind kind) override;
  /// Any of them with the same probability, where the one that ran cannot go on.
  unsigned pick_actor(std::span<std::uint32_t const> ready) override;
  void on_yield(std::uint32_t actor) override;

private:
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};

  random_bits bits_{0};
  std::array<std::uint64_t, choice_kind_count> odds_{}; ///< in 2^-32, of a choice that is not 0
  std::uint32_t last_ = nobody;                         ///< whom the last choice let run
  choice_rates rates_;
};

// Implementation

inline unsigned random_walk::pick(unsigned n, choice_kind kind) {
  std::uint64_t const r = bits_();
  // The age is drawn at once: with a coin per step old values would be exponentially rare.
  unsigned other = 1 + random_bits::scaled(static_cast<std::uint32_t>(r), n - 1);
  if (kind == choice_kind::value && rates_.stale_age == choice_rates::age::oldest)
    other = n - 1;
  // No branch: nobody could predict it.
  bool const is_boring = r >> 32 >= odds_[static_cast<std::size_t>(kind)];
  return other & (static_cast<unsigned>(is_boring) - 1);
}

inline unsigned random_walk::pick_actor(std::span<std::uint32_t const> ready) {
  auto const n = static_cast<unsigned>(ready.size());
  unsigned const i = ready.front() == last_ ? pick(n, choice_kind::actor) : bits_.below(n);
  last_ = ready[i];
  return i;
}

inline void random_walk::on_yield(std::uint32_t actor) {
  if (actor == last_)
    last_ = nobody; // it may be chosen again, but not because it ran
}

} // namespace quarry
