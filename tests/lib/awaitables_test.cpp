// SPDX-License-Identifier: Apache-2.0
#include <quarry/quarry.hpp>
#include <doctest/doctest.h>
using namespace quarry;
TEST_SUITE("lib.awaitables") {
TEST_CASE("x") {
  native_scheduler s; strand a(s,"a"), b(s,"b"); event e; int x=0;
  auto w=[](event& e,int& x)->task<int>{ co_await e.wait(); x=1; co_return 5; };
  auto t=[](event& e)->task<>{ co_await yield(); e.set(); };
  b.spawn(t(e),"setter");
  CHECK(sync_wait(a,w(e,x))==5);
}
}
