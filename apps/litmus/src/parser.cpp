// SPDX-License-Identifier: Apache-2.0
#include "condition_parser.hpp"
#include "dialect.hpp"
#include "text_file.hpp"

#include <quarry/litmus/parse.hpp>

#include <fmt/format.h>

#include <initializer_list>
#include <limits>
#include <system_error>
#include <utility>
#include <variant>

namespace quarry::litmus {
namespace {

/// A file from its first word to its last. What the languages spell alike is read here.
class parser {
public:
  parser(std::string_view content, std::string const& file)
      : content_(content), tokens_(content, file), names_(made_, tokens_) {
    made_.file = file;
  }

  test read() {
    read_header();
    read_declarations();
    read_threads();
    while (!at_end_of_program())
      read_row();
    names_.finish_programs();
    read_observed();
    if (tokens_.accept("filter")) {
      made_.filter = read_condition(tokens_, names_);
      tokens_.accept(";");
    }
    if (made_.filter && tokens_.peek().what == token::kind::end) {
      made_.unsupported.emplace_back("no final condition: it asks for data races");
      return std::move(made_);
    }
    made_.final = read_final_condition(tokens_, names_);
    tokens_.accept(";");
    if (tokens_.peek().what != token::kind::end)
      tokens_.fail("/\\ or \\/ or the end of the file");
    return std::move(made_);
  }

private:
  void read_header() {
    token const& language = tokens_.peek();
    if (language.is("PTX") || language.is("ptx"))
      dialect_ = make_ptx_dialect();
    else if (language.is("VULKAN") || language.is("Vulkan") || language.is("vulkan"))
      dialect_ = make_vulkan_dialect();
    else
      tokens_.fail("PTX or VULKAN");
    auto const from = static_cast<std::size_t>(language.text.data() - content_.data());
    auto const line = content_.substr(from, content_.find_first_of("\r\n", from) - from);
    auto const name = line.find_first_not_of(" \t", language.text.size());
    if (name != line.npos)
      made_.name = line.substr(name, line.find_last_not_of(" \t") + 1 - name);
    tokens_.next();
    // Words and quotations that say what the test is about.
    while (!tokens_.at("{") && tokens_.peek().what != token::kind::end)
      tokens_.next();
  }

  /// Runs `read`; if that is unsupported, notes it and skips what is left up to one of `closing`.
  template<class Read>
  void note_unsupported(Read read, std::initializer_list<std::string_view> closing) {
    auto const line = tokens_.peek().line;
    try {
      read();
    } catch (unsupported_feature const& missing) {
      made_.unsupported.push_back(fmt::format("line {}: {}", line, missing.name));
      auto const is_closing = [&] {
        for (auto const symbol : closing)
          if (tokens_.at(symbol))
            return true;
        return tokens_.peek().what == token::kind::end;
      };
      while (!is_closing())
        tokens_.next();
    }
  }

  void read_declarations() {
    tokens_.expect("{", "and the initial values");
    while (!tokens_.at("}")) {
      if (tokens_.accept(";"))
        continue;
      note_unsupported([&] { read_declaration(); }, {";", "}"});
      if (!tokens_.at("}"))
        tokens_.expect(";", "or '}' after a declaration");
    }
    tokens_.next();
    tokens_.accept(";");
    if (!tokens_.at("{"))
      return;
    note_unsupported([] { throw unsupported_feature{"system-synchronizes-with (ssw)"}; }, {"}"});
    if (tokens_.accept("}"))
      tokens_.accept(";");
  }

  void read_declaration() {
    token const& first = tokens_.next();
    if (tokens_.accept(":")) {
      token const& name = tokens_.word("a register, such as r0");
      expect_number_after(name);
      names_.declare_register(first, name, tokens_.number("the initial value"));
    } else if (first.what != token::kind::word) {
      tokens_.fail_at(first, "a location, or P0: and a register");
    } else if (!dialect_->read_alias(tokens_, names_, first)) {
      names_.declare(first); // in any case, so that its uses are no errors
      expect_number_after(first);
      names_.initialise(tokens_.number("the initial value"));
    }
  }

  void expect_number_after(token const& name) {
    tokens_.expect("=", "and an initial value");
    if (tokens_.at("&") || tokens_.peek().what == token::kind::word)
      throw unsupported_feature{fmt::format("the address of a location in {}", name.text)};
  }

  void read_threads() {
    do {
      token const& name = tokens_.word("a thread, such as P0");
      tokens_.expect("@", "and where the thread runs");
      names_.declare_thread(name, dialect_->read_placement(tokens_));
    } while (tokens_.accept("|"));
    tokens_.expect(";", "or '|' after a thread");
    names_.finish_threads();
  }

  [[nodiscard]] bool at_end_of_program() const {
    for (std::string_view const word : {"exists", "forall", "filter", "locations", "not", "~"})
      if (tokens_.at(word))
        return true;
    return tokens_.peek().what == token::kind::end;
  }

  void read_row() {
    for (std::size_t column = 0; column < names_.thread_count(); ++column) {
      names_.enter(column);
      if (column > 0)
        tokens_.expect("|", fmt::format("and the instruction of the {}. of {} threads", column + 1,
                                        names_.thread_count()));
      if (!tokens_.at("|") && !tokens_.at(";"))
        note_unsupported([&] { read_cell(); }, {"|", ";"});
    }
    tokens_.expect(";", "after a row of instructions");
  }

  void read_cell() {
    if (tokens_.peek_second().is(":")) {
      names_.define_label(tokens_.next());
      tokens_.next();
      return;
    }
    mnemonic name(tokens_);
    if (!read_shared_instruction(name))
      dialect_->read_instruction(name, tokens_, names_);
  }

  bool read_shared_instruction(mnemonic& name) {
    static constexpr std::array<std::pair<std::string_view, comparison>, 6> branches{
        {{"beq", comparison::equal},
         {"bne", comparison::not_equal},
         {"blt", comparison::less},
         {"ble", comparison::less_or_equal},
         {"bgt", comparison::greater},
         {"bge", comparison::greater_or_equal}}};
    if (!name.at_end())
      return false;
    if (name.first() == "goto") {
      names_.add_branch({comparison::equal, 0, 0, 0}, tokens_.word("a label"));
      return true;
    }
    for (auto const& [word, how] : branches)
      if (name.first() == word) {
        read_branch(how);
        return true;
      }
    for (auto const& [word, operation] : arithmetic_names)
      if (name.first() == word) {
        read_compute(operation);
        return true;
      }
    return false;
  }

  void read_branch(comparison how) {
    auto const left = names_.read_operand();
    expect_comma(tokens_);
    auto const right = names_.read_operand();
    expect_comma(tokens_);
    names_.add_branch({how, left, right, 0}, tokens_.word("a label"));
  }

  void read_compute(arithmetic operation) {
    auto const into = names_.read_register();
    expect_comma(tokens_);
    auto const left = names_.read_operand();
    expect_comma(tokens_);
    names_.add(compute{into, operation, left, names_.read_operand()});
  }

  /// `locations [x; P0:r0;]`: what an outcome shows beside what the condition names.
  void read_observed() {
    if (!tokens_.accept("locations"))
      return;
    tokens_.expect("[", "and variables");
    while (!tokens_.accept("]")) {
      static_cast<void>(names_.read_variable()); // it is observed now
      if (!tokens_.at("]"))
        tokens_.expect(";", "or ']' after a variable");
    }
  }

  std::string_view content_;
  test made_;
  lexer tokens_;
  builder names_;
  std::unique_ptr<dialect> dialect_;
};

} // namespace

std::uint32_t read_place(lexer& tokens, std::string_view what) {
  auto const most = std::numeric_limits<std::uint32_t>::max();
  token const& read = tokens.peek();
  auto const number = tokens.number(what);
  if (number < 0 || number > most)
    tokens.fail_with(read.line, fmt::format("read {}, expected {}, 0 to {}", number, what, most));
  return static_cast<std::uint32_t>(number);
}

void expect_comma(lexer& tokens) {
  tokens.expect(",", "and another operand");
}

barrier read_barrier(lexer& tokens, builder& names, barrier_group of) {
  bool const is_of_subgroup = of == barrier_group::subgroup;
  barrier read{.instance = names.read_barrier_instance(is_of_subgroup),
               .is_of_subgroup = is_of_subgroup};
  if (tokens.accept(","))
    read.id = names.read_operand();
  if (tokens.accept(",")) {
    token const& quorum = tokens.peek();
    read.quorum = names.read_operand();
    if (auto const* n = std::get_if<value>(&*read.quorum); n != nullptr && *n < 1)
      tokens.fail_with(quorum.line, fmt::format("read {}, expected a quorum of at least 1", *n));
  }
  return read;
}

result<test> parse(std::string_view content, std::string const& file) {
  try {
    return parser(content, file).read();
  } catch (syntax_error const& e) {
    return error{std::make_error_code(std::errc::bad_message), e.what()};
  }
}

result<test> read_test(std::filesystem::path const& file) {
  auto const content = read_text(file, a_test);
  return content ? parse(*content, file.string()) : content.error();
}

} // namespace quarry::litmus
