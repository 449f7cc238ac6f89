// SPDX-License-Identifier: Apache-2.0
#include <quarry/actor.hpp>

namespace quarry {

actor::~actor() = default;

} // namespace quarry
