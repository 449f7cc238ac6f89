// SPDX-License-Identifier: Apache-2.0
#include "exploration_mark.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quarry {
namespace {

/// The first of STEM.ENDING, STEM.2.ENDING, … that is not used.
template<class Predicate>
std::string first_unused(std::string const& stem, char const* ending, Predicate const& is_used) {
  std::string path = fmt::format("{}.{}", stem, ending);
  for (unsigned number = 2; is_used(path); ++number)
    path = fmt::format("{}.{}.{}", stem, number, ending);
  return path;
}

} // namespace

exploration_mark::descriptor::~descriptor() {
  if (number >= 0)
    ::close(number);
}

exploration_mark::exploration_mark(std::string const& stem) : stem_(stem) {
  path_ = first_unused(stem, "running", [this](std::string const& path) { return is_taken(path); });
}

exploration_mark::~exploration_mark() {
  ::unlink(path_.c_str()); // before it is unlocked
}

bool exploration_mark::is_taken(std::string const& path) {
  for (;;) {
    file_.number = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_.number < 0)
      throw std::system_error(errno, std::generic_category(), "cannot make " + path);
    state const found = look(path);
    if (found == state::ours)
      return false;
    ::close(std::exchange(file_.number, -1));
    if (found == state::anothers)
      return true;
  }
}

exploration_mark::state exploration_mark::look(std::string const& path) {
  // Where files cannot be locked, nobody can be known to live.
  if (::flock(file_.number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return state::anothers;
  struct stat open_file{};
  struct stat named_file{};
  if (::fstat(file_.number, &open_file) != 0 || ::stat(path.c_str(), &named_file) != 0 ||
      open_file.st_dev != named_file.st_dev || open_file.st_ino != named_file.st_ino)
    return state::gone; // removed or renamed since we opened it
  if (open_file.st_size == 0)
    return state::ours;
  left_behind_ = first_unused(
      stem_, "died", [](std::string const& died) { return std::filesystem::exists(died); });
  std::filesystem::rename(path, left_behind_);
  return state::gone;
}

} // namespace quarry
