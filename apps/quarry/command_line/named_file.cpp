// SPDX-License-Identifier: Apache-2.0
#include "named_file.hpp"

#include "checked_option.hpp"

#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <system_error>

namespace quarry::command {
namespace {

namespace fs = std::filesystem;

/// A file that is there, or the folder and the name of one that will be made.
struct identity {
  dev_t device;
  ino_t inode;
  std::string name; ///< in that folder
  bool operator==(identity const&) const = default;
};

/// Where a file is made that is opened as `file`: a link may lead to what is not there yet.
fs::path end_of_links(fs::path file) {
  constexpr int most_links = 40; // as the kernel has it
  std::error_code none;
  for (int i = 0; i < most_links && fs::is_symlink(file, none); ++i)
    file = file.parent_path() / fs::read_symlink(file, none);
  return file;
}

/// Nothing: it holds nothing, or cannot be made.
std::optional<identity> identity_of(std::string const& file) {
  if (file.empty())
    return std::nullopt;
  struct stat info{};
  if (::stat(file.c_str(), &info) == 0)
    return S_ISREG(info.st_mode) ? std::optional(identity{info.st_dev, info.st_ino, ""})
                                 : std::nullopt;
  auto const made = end_of_links(file);
  auto const folder = made.has_parent_path() ? made.parent_path() : fs::path(".");
  if (::stat(folder.c_str(), &info) != 0)
    return std::nullopt;
  return identity{info.st_dev, info.st_ino, made.filename().string()};
}

} // namespace

named_file standard_output_file() {
  return {"standard output", "/proc/self/fd/1"};
}

void keep_apart(named_file const& one, std::vector<named_file> const& others) {
  auto const it = identity_of(one.file);
  if (!it)
    return;
  for (auto const& other : others)
    if (identity_of(other.file) == it)
      refuse(one.option, one.file + " is the file of " + other.option);
}

} // namespace quarry::command
