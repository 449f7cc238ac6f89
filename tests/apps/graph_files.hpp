// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

/// A fresh folder for the files of one test case, removed with all that is in it.
class temporary_folder {
public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "quarry-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

  [[nodiscard]] std::filesystem::path write(std::string const& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

  [[nodiscard]] std::filesystem::path write_gzip(std::string const& name,
                                                 std::string_view text) const {
    auto const file = ::gzopen((path_ / name).c_str(), "wb");
    ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    ::gzclose_w(file);
    return path_ / name;
  }

  [[nodiscard]] static std::string read(std::filesystem::path const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

private:
  std::filesystem::path path_;
};
