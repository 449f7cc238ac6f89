// SPDX-License-Identifier: Apache-2.0
#include "failure_folder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quarry {
namespace {

constexpr std::size_t number_width = 21; // any number's, with a blank

[[noreturn]] void fail(std::string const& what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

std::string file_name(std::string name) {
  auto const is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-=+").find(c) != std::string_view::npos;
  };
  for (char& c : name)
    if (!is_plain(c))
      c = '-';
  return name.substr(0, 200);
}

/// Whether the file is there, and not of this failure.
bool is_of_another(std::string const& path, replay_file const& failure) {
  if (std::error_code none; !std::filesystem::exists(path, none))
    return false;
  auto const there = replay_file::read(path);
  return !there || there->name != replay_file::one_line(failure.name) ||
         there->kind != failure.kind || there->where != replay_file::one_line(failure.where) ||
         there->choices != failure.choices;
}

/// The first of these that is nobody else's: for the replay file of a failure, which has been kept
/// as `own` before, if that is not empty. What was kept of another one stays. One that this process
/// has named before is another failure's, too: names of explorations may look alike, and those
/// without a name are called by their line.
std::string path_for(std::string const& stem, replay_file const& failure,
                     std::string const& own = {}) {
  static auto& mutex = *new std::mutex; // explorations may end while the process does
  static auto& used = *new std::set<std::string>;
  std::lock_guard const lock(mutex);
  auto const is_taken = [&](std::string const& path) {
    return path != own && (used.contains(path) || is_of_another(path, failure));
  };
  std::string path = fmt::format("{}-{:x}.replay", stem, failure.seed);
  for (unsigned n = 2; is_taken(path); ++n)
    path = fmt::format("{}-{:x}-{}.replay", stem, failure.seed, n);
  used.insert(path);
  return path;
}

/// In the folder, which is made if need be.
std::unique_ptr<exploration_mark> make_mark(std::string const& folder, std::string const& stem) {
  constexpr int attempts = 100; // another exploration that ends may remove the folder in between
  for (int i = 1;; ++i) {
    std::error_code made;
    std::filesystem::create_directories(folder, made);
    if (made)
      fail("cannot make the folder " + folder, made.value());
    try {
      return std::make_unique<exploration_mark>(stem);
    } catch (std::system_error const& e) {
      if (e.code() != std::errc::no_such_file_or_directory || i == attempts)
        throw;
    }
  }
}

} // namespace

failure_folder::failure_folder(kept_in place, std::string const& name, std::uint64_t first_seed,
                               unsigned jobs)
    : place_(std::move(place)) {
  if (place_.folder.empty())
    return;
  try {
    stem_ = fmt::format("{}/{}", place_.folder, file_name(name));
    mark_beginning(name, first_seed, jobs);
  } catch (std::system_error const& e) {
    if (!place_.is_by_default)
      throw;
    why_not_ = e.what();
    stem_.clear();
    running_.reset();
  }
}

void failure_folder::mark_beginning(std::string const& name, std::uint64_t first_seed,
                                    unsigned jobs) {
  running_ = make_mark(place_.folder, stem_);
  int const file = running_->file();
  std::string text = fmt::format(
      "quarry-running 1\nname: {}\nseed: {:#x}\nexecution:", name.substr(0, 1000), first_seed);
  std::size_t const at = text.size();
  for (unsigned job = 0; job < jobs; ++job)
    text += std::string(number_width, ' ') + "\n";
  // With its blocks: where the disk is full, a write through the mapping would be a signal.
  if (int const error = ::posix_fallocate(file, 0, static_cast<off_t>(text.size())); error != 0)
    fail(running_->path(), error);
  void* const mapped = ::mmap(nullptr, text.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED)
    fail(running_->path());
  mark_ = static_cast<char*>(mapped);
  mark_bytes_ = text.size();
  numbers_ = mark_ + at;
  std::memcpy(mark_, text.data(), text.size());
}

failure_folder::~failure_folder() {
  if (mark_ != nullptr)
    ::munmap(mark_, mark_bytes_);
  running_.reset();
  if (place_.is_by_default && !stem_.empty())
    ::rmdir(place_.folder.c_str()); // not if anything is in it: a failure, another one's mark
}

std::string failure_folder::left_behind() const {
  return running_ ? running_->left_behind() : "";
}

void failure_folder::begin(unsigned job, std::uint64_t execution) noexcept {
  if (numbers_ == nullptr)
    return;
  char* at = numbers_ + std::size_t{job} * (number_width + 1) + number_width;
  do
    *--at = static_cast<char>('0' + execution % 10);
  while ((execution /= 10) != 0);
}

std::string failure_folder::save(replay_file const& failure) {
  return stem_.empty() ? "" : write(failure, path_for(stem_, failure));
}

std::string failure_folder::save_instead(std::string const& saved, replay_file const& failure) {
  if (saved.empty())
    return "";
  std::string const beside = write(failure, saved + ".new");
  if (beside.empty())
    return saved;
  std::string const path = path_for(stem_, failure, saved);
  std::filesystem::rename(beside, path);
  if (path != saved) // it was kept already
    std::filesystem::remove(saved);
  return path;
}

std::string failure_folder::write(replay_file const& failure, std::string const& path) {
  auto const written = failure.write(path);
  if (written)
    return path;
  if (!place_.is_by_default)
    throw std::system_error(written.error().code,
                            fmt::format("{}; what is not kept is {} at {}, seed {:#x}",
                                        written.error().what, failure.kind, failure.where,
                                        failure.seed));
  why_not_ = written.error().what;
  return "";
}

} // namespace quarry
