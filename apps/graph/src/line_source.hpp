// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::graph {

/// The lines of a text file, plain or compressed with gzip, over one buffer of 1 MiB.
class line_source {
public:
  [[nodiscard]] static result<line_source> open(std::filesystem::path const& path);

  /// Moves on to the next line and hands it out without its LF or CR LF; it is valid until the next
  /// call. False at the end of the file, and after a failure: then failure() says which.
  [[nodiscard]] bool next(std::string_view& line);
  [[nodiscard]] std::optional<error> const& failure() const { return failure_; }

  /// The number of the line handed out last, from 1; 0 before the first.
  [[nodiscard]] std::uint64_t line_number() const { return line_number_; }
  [[nodiscard]] std::string const& name() const { return name_; }

private:
  struct closer {
    void operator()(gzFile file) const { ::gzclose_r(file); }
  };

  line_source(gzFile file, std::string name);
  void refill();
  void fail_reading();

  std::unique_ptr<gzFile_s, closer> file_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0; ///< the unread part of the buffer
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::uint64_t line_number_ = 0;
  std::optional<error> failure_;
};

} // namespace quarry::graph
