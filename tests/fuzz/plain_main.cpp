// SPDX-License-Identifier: Apache-2.0
// What libFuzzer's main does, as far as it goes without libFuzzer: runs the files and folders that
// it is given, and with -runs=N random inputs. Without either it reads one input from standard
// input, for AFL++.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming): the names are libFuzzer's
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
// NOLINTEND(readability-identifier-naming)

namespace {

using input = std::vector<std::uint8_t>;

input read_all(std::istream& from) {
  std::string const text{std::istreambuf_iterator<char>(from), {}};
  return {text.begin(), text.end()};
}

void run(input const& bytes) {
  static_cast<void>(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()));
}

/// Gives the number of files.
std::size_t run_files(std::filesystem::path const& path) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(path))
    for (auto const& entry : std::filesystem::directory_iterator(path))
      files.push_back(entry.path());
  else
    files.push_back(path);
  std::sort(files.begin(), files.end());
  for (auto const& file : files) {
    std::ifstream content(file, std::ios::binary);
    if (!content)
      throw std::filesystem::filesystem_error("cannot read", file,
                                              std::error_code(errno, std::generic_category()));
    run(read_all(content));
  }
  return files.size();
}

/// Bytes of which some share is boring, drawn anew for every input.
void run_random(std::uint64_t count) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < count; ++i) {
    input bytes(random() % 512);
    auto const interesting = random() % 64 + 1; // of 64
    for (auto& b : bytes)
      b = random() % 64 < interesting ? static_cast<std::uint8_t>(random()) : 0;
    run(bytes);
  }
}

} // namespace

int main(int argc, char** argv) try {
  LLVMFuzzerInitialize(&argc, &argv);
  std::uint64_t runs = 0;
  std::size_t paths = 0, files = 0;
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    if (word.starts_with("-runs="))
      std::from_chars(word.data() + 6, word.data() + word.size(), runs);
    if (word.starts_with("-"))
      continue;
    ++paths;
    files += run_files(word);
  }
  if (paths == 0 && runs == 0) {
    run(read_all(std::cin));
    ++files;
  }
  run_random(runs);
  std::fprintf(stderr, "%zu files and %llu random inputs: no failure\n", files,
               static_cast<unsigned long long>(runs));
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
