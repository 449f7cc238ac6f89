// SPDX-License-Identifier: Apache-2.0
// Whoever wants the value says that there may be none.
#include <quarry/result.hpp>

quarry::result<int> read_number();

int number() {
#ifdef CONTROL
  return read_number().value();
#else
  return read_number();
#endif
}
