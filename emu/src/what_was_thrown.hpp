// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>

#include <exception>
#include <string>

namespace quarry::emu {

/// In a `catch (...)`: "threw: …" with what the exception says. `abandoned` is none to be caught:
/// it goes on.
inline std::string what_was_thrown() {
  try {
    throw;
  } catch (abandoned const&) {
    throw;
  } catch (std::exception const& e) {
    return std::string("threw: ") + e.what();
  } catch (...) {
    return "threw something that is no std::exception";
  }
}

} // namespace quarry::emu
