// SPDX-License-Identifier: Apache-2.0
// What most tests include, compiled once for those of an executable (cpp_pch): half of what a small
// test takes to compile. A file still includes what it uses: it must compile with -Db_pch=false.
// No header here has a guard: g++ takes it for a main file.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
