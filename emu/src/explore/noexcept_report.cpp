// SPDX-License-Identifier: Apache-2.0
#include "noexcept_report.hpp"

#include "explored_memory.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace quarry {
namespace {

std::terminate_handler what_it_was =
    nullptr; // NOLINT(*-non-const-global-variables): as the handler

bool is_abandoned() {
  try {
    if (auto const thrown = std::current_exception())
      std::rethrow_exception(thrown);
  } catch (abandoned const&) {
    return true;
  } catch (...) {
    return false;
  }
  return false;
}

[[noreturn]] void say() {
  if (emu::explored_memory const* const memory = emu::explored_memory::running();
      memory != nullptr && is_abandoned()) {
    fmt::print(stderr,
               "quarry: an execution was given up, and {}\ncould not be unwound: it stands in a "
               "noexcept function. Operations and waits throw quarry::abandoned\nthen: noexcept "
               "must go where they are.\n",
               memory->who_runs());
    std::fflush(stderr);
  }
  if (what_it_was != nullptr)
    what_it_was();
  std::abort();
}

} // namespace

void report_abandoned_in_noexcept() {
  static bool const is_installed = [] {
    what_it_was = std::set_terminate(&say);
    return true;
  }();
  static_cast<void>(is_installed);
}

} // namespace quarry
