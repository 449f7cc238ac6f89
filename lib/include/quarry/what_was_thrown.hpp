// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>

#include <exception>
#include <string>

namespace quarry {

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

/// The same of what somebody has kept.
inline std::string what_was_thrown(std::exception_ptr const& kept) {
  try {
    std::rethrow_exception(kept);
  } catch (...) {
    return what_was_thrown();
  }
}

} // namespace quarry
