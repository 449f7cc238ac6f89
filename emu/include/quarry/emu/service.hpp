// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/core.hpp>
#include <quarry/emu/memory.hpp>
#include <quarry/task.hpp>

#include <concepts>
#include <string>

namespace quarry::emu {

template<class S, class Core>
concept service_on = requires(S& s, Core& self) {
  { s.poll(self) } -> std::same_as<task<bool>>;
  { s.has_work(self) } -> std::same_as<bool>;
  { s.name() } -> std::convertible_to<std::string>;
};

/// Something that the cores of a command processor do over and over, one core at a time: take
/// packets, serve a ring, aggregate.
///
/// poll() does one bounded round of its work and says whether there was any; it may wait for
/// memory, but never for long: the core's other services wait meanwhile. has_work() only looks,
/// has no effects, and does not throw. Both are given the core on which they run and are the same
/// for every memory model. A service for which nothing can turn up without
/// command_processor::wake() may have `bool may_sleep()`: while it says so it is not polled. What
/// poll() throws ends the process; in an execution that is explored it is what has gone wrong
/// there.
///
/// Source   design §6; thesis §4.1 (the aggregator), ComP-Net §4.1 (the network service)
template<class S>
concept service =
    service_on<S, basic_core<native_memory>> && service_on<S, basic_core<interleaving_memory>>;

/// Any service, behind a virtual call a round.
class any_service {
public:
  any_service() = default;
  any_service(any_service const&) = delete;
  any_service& operator=(any_service const&) = delete;
  virtual ~any_service() = default;
  virtual task<bool> poll(basic_core<native_memory>& self) = 0;
  virtual task<bool> poll(basic_core<interleaving_memory>& self) = 0;
  [[nodiscard]] virtual bool has_work(basic_core<native_memory>& self) = 0;
  [[nodiscard]] virtual bool has_work(basic_core<interleaving_memory>& self) = 0;
  [[nodiscard]] virtual bool may_sleep() = 0;
  [[nodiscard]] virtual std::string name() = 0;
};

/// Borrows the service.
template<service S>
class service_model final : public any_service {
public:
  explicit service_model(S& s) noexcept : service_(s) {}
  task<bool> poll(basic_core<native_memory>& self) override { return service_.poll(self); }
  task<bool> poll(basic_core<interleaving_memory>& self) override { return service_.poll(self); }
  bool has_work(basic_core<native_memory>& self) override { return service_.has_work(self); }
  bool has_work(basic_core<interleaving_memory>& self) override { return service_.has_work(self); }
  bool may_sleep() override {
    if constexpr (requires { service_.may_sleep(); })
      return service_.may_sleep();
    else
      return false;
  }
  std::string name() override { return std::string(service_.name()); }

private:
  S& service_;
};

} // namespace quarry::emu
