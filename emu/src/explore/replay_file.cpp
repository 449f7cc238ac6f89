// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/replay_file.hpp>
#include <quarry/fnv_hash.hpp>
#include <quarry/read_text.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <string_view>

namespace quarry {
namespace {

constexpr std::string_view first_line = "quarry-replay 3";
constexpr std::size_t most_bytes = std::size_t{256} << 20; ///< many times the longest record

error bad(std::size_t line, std::string_view what) {
  return {std::make_error_code(std::errc::invalid_argument),
          fmt::format("replay file, line {}: {}", line, what)};
}

/// Of what stands below it: an edit, or a missing end, would be another execution.
std::string checksum_line(std::string_view below) {
  return fmt::format("checksum: {:#018x}", fnv_hash(below));
}

/// What stands below the checksum, if that is right.
result<std::string_view> intact(std::string_view text) {
  auto const take_line = [&text] {
    auto const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
  };
  auto const first = take_line();
  if (first.starts_with("\xef\xbb\xbf") || first.ends_with('\r'))
    return bad(1,
               "a byte-order mark, or lines that end in CR LF: the file was converted to another "
               "system's text; it is to be copied as it is");
  if (first != first_line)
    return bad(1, fmt::format("expected \"{}\"", first_line));
  auto const said = take_line();
  if (auto const is = checksum_line(text); said != is)
    return bad(2, fmt::format("the file was edited or cut short: what follows has the {}", is));
  return text;
}

/// The whole text is one.
bool read_number(std::string_view text, int base, std::uint64_t& into) {
  char const* const last = text.data() + text.size();
  auto const r = std::from_chars(text.data(), last, into, base);
  return r.ec == std::errc() && r.ptr == last;
}

/// Which accesses count as ordered.
std::string_view races_of(replay_file const& f) {
  return !f.detects_races ? "off" : f.direct_lint ? "direct" : "indirect";
}

error unreadable(std::string_view why) {
  return {std::make_error_code(std::errc::io_error), fmt::format("cannot be read: {}", why)};
}

/// What is in a file or comes out of a pipe; of a device there may be no end.
result<std::string> text_of(std::string const& file) {
  std::error_code code;
  auto const kind = std::filesystem::status(file, code).type();
  if (code)
    return unreadable(code.message());
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::fifo)
    return unreadable("it is neither a file nor a pipe");
  auto const text = read_text(file, most_bytes);
  return text ? text : unreadable(text.error().what);
}

int find_build_id(dl_phdr_info* object, std::size_t, void* into) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    auto const& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    auto const* at = reinterpret_cast<unsigned char const*>(object->dlpi_addr + header.p_vaddr);
    auto const* const end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      auto const padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
      auto const* const name = at + sizeof note;
      auto const* const id = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
        for (std::size_t k = 0; k < note.n_descsz; ++k)
          *static_cast<std::string*>(into) += fmt::format("{:02x}", id[k]);
      at = id + padded(note.n_descsz);
    }
  }
  return 1; // only the first object: the program itself
}

/// Null, or what would be allowed there.
char const* set(replay_file& file, std::string_view key, std::string const& value) {
  if (key == "name")
    file.name = value;
  else if (key == "build")
    file.build = value;
  else if (key == "kind")
    file.kind = value;
  else if (key == "where")
    file.where = value;
  else if (key == "races") {
    file.detects_races = value != "off";
    file.direct_lint = value == "direct";
    return value == races_of(file) ? nullptr : "\"races: \" and indirect, direct or off";
  } else if (key == "decisions")
    return read_number(value, 10, file.most_decisions) ? nullptr
                                                       : "how many decisions an execution may take";
  else if (key == "seed") {
    auto const digits = std::string_view(value).substr(value.starts_with("0x") ? 2 : 0);
    return read_number(digits, 16, file.seed) ? nullptr
                                              : "a seed in hexadecimal, like 0x000000000000002a";
  }
  return nullptr;
}

} // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(&find_build_id, &id);
  return id.empty() ? "unknown" : id;
}

std::string replay_file::one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r')
      c = ' ';
  return text;
}

std::string replay_file::to_text() const {
  std::string const content = fmt::format(
      "name: {}\nbuild: {}\nseed: {:#018x}\nraces: {}\ndecisions: {}\nkind: {}\nwhere: {}\n"
      "choices:\n{}\n",
      one_line(name), one_line(build), seed, races_of(*this), most_decisions, one_line(kind),
      one_line(where), choices.to_text());
  return fmt::format("{}\n{}\n{}", first_line, checksum_line(content), content);
}

result<replay_file> replay_file::from_text(std::string const& text) {
  auto const below = intact(text);
  if (!below)
    return below.error();
  std::string_view const lines = *below;
  replay_file file;
  std::size_t number = 2; // of the line
  std::size_t at = 0;
  for (std::string_view const key :
       {"name", "build", "seed", "races", "decisions", "kind", "where", "choices"}) {
    if (at >= lines.size())
      return bad(number, "the file is cut short");
    ++number;
    std::size_t const end = std::min(lines.find('\n', at), lines.size());
    std::string_view const line = lines.substr(at, end - at);
    at = std::min(end + 1, lines.size());
    if (!line.starts_with(fmt::format("{}: ", key)) && line != fmt::format("{}:", key))
      return bad(number, fmt::format("expected \"{}: …\"", key));
    std::string const value(line.substr(std::min(key.size() + 2, line.size())));
    if (char const* const expected = set(file, key, value))
      return bad(number, fmt::format("expected {}", expected));
  }
  // Lines are counted from the beginning of the file.
  auto choices = choice_record::from_text(std::string(number, '\n').append(lines.substr(at)));
  if (!choices)
    return error{choices.error().code, fmt::format("replay file, {}", choices.error().what)};
  file.choices = std::move(*choices);
  return file;
}

result<void> replay_file::write(std::string const& file) const {
  if (std::size_t const count = choices.choices().size(); count > choice_record::most_listed)
    return error{std::make_error_code(std::errc::file_too_large),
                 fmt::format("{}: {} choices were made up to there; a replay file lists {} at most",
                             file, count, choice_record::most_listed)};
  errno = 0;
  std::ofstream out(file, std::ios::binary);
  out << to_text();
  if (out.flush())
    return {};
  std::error_code const why(errno != 0 ? errno : EIO, std::generic_category());
  if (std::error_code none; out.is_open() && std::filesystem::is_regular_file(file, none))
    std::filesystem::remove(file, none); // a full disk leaves a part of it
  return error{why, fmt::format("{}: cannot be written: {}", file, why.message())};
}

result<replay_file> replay_file::read(std::string const& file) {
  auto const text = text_of(file);
  if (!text)
    return error{text.error().code, fmt::format("{}: {}", file, text.error().what)};
  auto parsed = from_text(*text);
  if (!parsed)
    return error{parsed.error().code, fmt::format("{}: {}", file, parsed.error().what)};
  return parsed;
}

} // namespace quarry
