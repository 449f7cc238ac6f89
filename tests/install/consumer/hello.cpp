// SPDX-License-Identifier: Apache-2.0
#include <quarry/quarry.hpp>

#include <cstdio>

quarry::task<int> half() {
  co_return 21;
}

quarry::task<int> answer() {
  auto const [a, b] = co_await quarry::when_all(half(), half());
  co_return a + b;
}

int main() {
  quarry::native_scheduler scheduler;
  quarry::strand strand(scheduler, "hello");
  std::printf("%d\n", quarry::sync_wait(strand, answer()));
}
