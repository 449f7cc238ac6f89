// SPDX-License-Identifier: Apache-2.0
// What is a service, and what one looks like behind a virtual call.
#include "lone_actor.hpp"

#include <quarry/emu/service.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

using native_core = basic_core<native_memory>;
using interleaving_core = basic_core<interleaving_memory>;

/// Notes who asked what; has work until it has been polled `rounds` times.
struct noting {
  int rounds = 2;
  std::string asked{};
  void const* core = nullptr;

  task<bool> poll(native_core& self) { return round("n", self); }
  task<bool> poll(interleaving_core& self) { return round("i", self); }
  bool has_work(native_core& self) { return look("N", self); }
  bool has_work(interleaving_core& self) { return look("I", self); }
  char const* name() const { return "noting"; }

private:
  template<class Core>
  task<bool> round(char const* by, Core& self) {
    asked += by;
    core = &self;
    co_return rounds-- > 0;
  }
  template<class Core>
  bool look(char const* by, Core& self) {
    asked += by;
    core = &self;
    return rounds > 0;
  }
};

struct sleeping : noting {
  bool sleeps = false;
  bool may_sleep() const { return sleeps; }
};

struct throwing : noting {
  template<class Core>
  task<bool> poll(Core&) {
    throw std::runtime_error("no more room");
  }
};

struct for_native_only {
  task<bool> poll(native_core&) { co_return false; }
  bool has_work(native_core&) { return false; }
  std::string name() const { return "native"; }
};
struct without_name {
  template<class Core>
  task<bool> poll(Core&) {
    co_return false;
  }
  template<class Core>
  bool has_work(Core&) {
    return false;
  }
};
struct polls_at_once : without_name {
  template<class Core>
  bool poll(Core&) {
    return false;
  }
  std::string name() const { return "at once"; }
};
struct cannot_look {
  template<class Core>
  task<bool> poll(Core&) {
    co_return false;
  }
  std::string name() const { return "blind"; }
};

static_assert(service<noting> && service<sleeping> && service<throwing>);
static_assert(service_on<for_native_only, native_core> && !service<for_native_only>);
static_assert(!service<without_name> && !service<polls_at_once> && !service<cannot_look>);
static_assert(!std::is_copy_constructible_v<service_model<noting>>);

} // namespace

TEST_SUITE("emu.service") {
  TEST_CASE("a round is the service's own, on the core that it is given, whatever its memory") {
    noting s;
    service_model model(s);
    any_service& any = model;
    native_core native({});
    interleaving_core interleaving({});
    CHECK(run_alone(any.poll(native)));
    CHECK(s.core == &native);
    CHECK(run_alone(any.poll(interleaving)));
    CHECK(s.core == &interleaving);
    CHECK_FALSE(run_alone(any.poll(native)));
    CHECK(s.asked == "nin");
    CHECK(s.rounds == -1); // it was borrowed, not copied
  }

  TEST_CASE("to look for work is no round") {
    noting s{.rounds = 1};
    service_model model(s);
    any_service& any = model;
    native_core native({});
    interleaving_core interleaving({});
    CHECK(any.has_work(native));
    CHECK(s.core == &native);
    CHECK(any.has_work(interleaving));
    CHECK(s.core == &interleaving);
    CHECK(run_alone(any.poll(native)));
    CHECK_FALSE(any.has_work(native));
    CHECK_FALSE(any.has_work(interleaving));
    CHECK(s.asked == "NInNI");
  }

  TEST_CASE("who does not say that it may sleep never does; who does is asked each time") {
    noting awake;
    service_model plain(awake);
    CHECK_FALSE(static_cast<any_service&>(plain).may_sleep());
    sleeping s;
    service_model model(s);
    any_service& any = model;
    CHECK_FALSE(any.may_sleep());
    s.sleeps = true;
    CHECK(any.may_sleep());
  }

  TEST_CASE("its name is there as a string, whatever it says it in") {
    noting s;
    service_model model(s);
    CHECK(static_cast<any_service&>(model).name() == "noting");
  }

  TEST_CASE(
      "what a round throws comes out of it, and the service lives on when the model is gone") {
    throwing s;
    {
      auto const model = std::make_unique<service_model<throwing>>(s);
      native_core native({});
      CHECK_THROWS_WITH_AS(static_cast<void>(run_alone(model->poll(native))), "no more room",
                           std::runtime_error);
    }
    CHECK(s.name() == "noting");
  }
}
