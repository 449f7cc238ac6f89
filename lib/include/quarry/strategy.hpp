// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choice_record.hpp>
#include <quarry/choices.hpp>
#include <quarry/pct.hpp>
#include <quarry/random_walk.hpp>
#include <quarry/result.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace quarry {

/// Decides the choices of one execution after the other. begin(), the choices, end(); after an
/// execution that broke off, begin() follows without an end().
///
/// Choices follow from the seed, from what was asked before in the same execution, and, for a
/// strategy that learns, from how long the executions before it were: nothing else.
template<class T>
concept strategy = std::derived_from<T, chooser> && requires(T& t, T const& c, std::uint64_t seed) {
  { c.name() } -> std::convertible_to<std::string_view>;
  { t.begin(seed) } -> std::same_as<void>;
  { t.end() } -> std::same_as<void>;
  { c.describe() } -> std::same_as<std::string>; // what the last begin() drew, for reports
};

/// Any strategy, owned.
class any_strategy final : public chooser {
public:
  template<strategy S, class... Arguments>
  explicit any_strategy(std::in_place_type_t<S>, Arguments&&... arguments)
      : model_(std::make_unique<model_of<S>>(std::forward<Arguments>(arguments)...)),
        choices_(&model_->choices()) {}
  any_strategy(any_strategy&& other) noexcept
      : model_(std::move(other.model_)), choices_(std::exchange(other.choices_, nullptr)) {}
  any_strategy& operator=(any_strategy&& other) noexcept {
    model_ = std::move(other.model_);
    choices_ = std::exchange(other.choices_, nullptr);
    return *this;
  }
  ~any_strategy() override = default;

  [[nodiscard]] std::string_view name() const { return model_->name(); }
  void begin(std::uint64_t seed) { model_->begin(seed); }
  void end() { model_->end(); }
  [[nodiscard]] std::string describe() const { return model_->describe(); }

  unsigned pick(unsigned n, choice_kind kind) override { return choices_->pick(n, kind); }
  unsigned pick_actor(std::span<std::uint32_t const> ready) override {
    return choices_->pick_actor(ready);
  }
  void on_yield(std::uint32_t actor) override { choices_->on_yield(actor); }

  /// The strategy itself: saves a call, and is what dynamic_cast looks at.
  [[nodiscard]] chooser& choices() const noexcept { return *choices_; }

private:
  class model {
  public:
    model() = default;
    model(model const&) = delete;
    model& operator=(model const&) = delete;
    virtual ~model() = default;

    virtual chooser& choices() noexcept = 0;
    virtual std::string_view name() const = 0;
    virtual void begin(std::uint64_t seed) = 0;
    virtual void end() = 0;
    virtual std::string describe() const = 0;
  };

  template<strategy S>
  class model_of;

  std::unique_ptr<model> model_;
  chooser* choices_;
};

/// Each strategy takes what concerns it.
struct strategy_options {
  choice_rates rates{};                  ///< random_walk
  quarry::pct::options pct{};            ///< pct
  choice_record recorded{};              ///< replay
  std::span<std::uint8_t const> bytes{}; ///< bytes; borrowed
};

/// By name: "swarm", "random_walk", "pct", "replay", "bytes" or "boring".
///
/// Errors   std::errc::invalid_argument – no such name, or an option that its constructor refuses
[[nodiscard]] result<any_strategy> make_strategy(std::string_view name, strategy_options o = {});

// Implementation

template<strategy S>
class any_strategy::model_of final : public model {
public:
  template<class... Arguments>
  explicit model_of(Arguments&&... arguments) : strategy_(std::forward<Arguments>(arguments)...) {}

  chooser& choices() noexcept override { return strategy_; }
  std::string_view name() const override { return strategy_.name(); }
  void begin(std::uint64_t seed) override { strategy_.begin(seed); }
  void end() override { strategy_.end(); }
  std::string describe() const override { return strategy_.describe(); }

private:
  S strategy_;
};

} // namespace quarry
