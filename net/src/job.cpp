// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/job.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <random>
#include <string_view>
#include <tuple>

namespace quarry::net {
namespace {

error bad_variable(char const* name, std::string_view value, std::string_view allowed) {
  return make_error(net_errc::bad_environment,
                    fmt::format("{}=\"{}\" is not allowed: it must be {}", name, value, allowed));
}

result<std::string_view> required(char const* name, std::string_view allowed) {
  if (char const* value = std::getenv(name))
    return std::string_view{value};
  return make_error(
      net_errc::bad_environment,
      fmt::format("{} is not set: it must be {} (`quarry launch` sets it)", name, allowed));
}

/// The whole of `text` as a number in [low, high], or nothing.
std::optional<std::uint64_t> number(std::string_view text, std::uint64_t low, std::uint64_t high,
                                    int base = 10) {
  std::uint64_t value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    return std::nullopt;
  return value;
}

result<std::uint64_t> number_variable(char const* name, std::uint64_t low, std::uint64_t high) {
  auto const allowed = fmt::format("a number from {} to {}", low, high);
  auto const text = required(name, allowed);
  if (!text)
    return text.error();
  if (auto const value = number(*text, low, high))
    return *value;
  return bad_variable(name, *text, allowed);
}

result<job_token> token_variable() {
  constexpr auto name = "QUARRY_TOKEN", allowed = "32 hexadecimal digits";
  auto const text = required(name, allowed);
  if (!text)
    return text.error();
  if (text->size() == 32) {
    auto const high = number(text->substr(0, 16), 0, UINT64_MAX, 16);
    auto const low = number(text->substr(16), 0, UINT64_MAX, 16);
    if (high && low)
      return job_token{*high, *low};
  }
  return bad_variable(name, *text, allowed);
}

bool is_dotted_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    auto const end = part < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos || !number(text.substr(0, end), 0, 255))
      return false;
    text.remove_prefix(part < 3 ? end + 1 : end);
  }
  return true;
}

std::optional<endpoint> parse_endpoint(std::string_view text) {
  auto const colon = text.find(':');
  if (colon == std::string_view::npos || !is_dotted_ipv4(text.substr(0, colon)))
    return std::nullopt;
  auto const port = number(text.substr(colon + 1), 1, 65535);
  if (!port)
    return std::nullopt;
  return endpoint{std::string{text.substr(0, colon)}, static_cast<std::uint16_t>(*port)};
}

result<std::vector<endpoint>> addresses_variable(std::uint64_t pe_count) {
  constexpr auto name = "QUARRY_ADDRESSES";
  auto const allowed = fmt::format(
      "{} (QUARRY_SIZE) comma-separated address:port, such as 127.0.0.1:5001", pe_count);
  auto const text = required(name, allowed);
  if (!text)
    return text.error();
  std::vector<endpoint> endpoints;
  for (std::size_t at = 0; at <= text->size();) {
    auto const end = std::min(text->find(',', at), text->size());
    auto parsed = parse_endpoint(text->substr(at, end - at));
    if (!parsed)
      return bad_variable(name, *text, allowed);
    endpoints.push_back(*std::move(parsed));
    at = end + 1;
  }
  if (endpoints.size() != pe_count)
    return bad_variable(name, *text, allowed);
  auto const place = [](endpoint const& e) { return std::tie(e.address, e.port); };
  auto sorted = endpoints;
  std::ranges::sort(sorted, {}, place);
  if (std::ranges::adjacent_find(sorted, {}, place) != sorted.end())
    return bad_variable(name, *text, allowed + ", no two the same");
  return endpoints;
}

} // namespace

job_token job_token::random() {
  std::random_device source; // getrandom or rdrand: never a pseudo-random engine with libstdc++
  auto const word = [&] { return std::uint64_t{source()} << 32 | source(); };
  auto const high = word();
  return {high, word()};
}

std::string to_string(job_token const& token) {
  return fmt::format("{:016x}{:016x}", token.high, token.low);
}

std::string refusal_of_timeout(std::chrono::milliseconds timeout) {
  if (timeout > std::chrono::milliseconds::zero() && timeout <= max_job_timeout)
    return {};
  return fmt::format("a timeout of {} ms; allowed are 1 to {}", timeout.count(),
                     max_job_timeout.count());
}

bool is_launched() noexcept {
  constexpr std::array names{"QUARRY_RANK", "QUARRY_SIZE", "QUARRY_TOKEN", "QUARRY_ADDRESSES"};
  return std::ranges::any_of(names, [](auto name) { return std::getenv(name) != nullptr; });
}

result<job> job_from_environment() {
  auto const size = number_variable("QUARRY_SIZE", 1, max_pe_count);
  if (!size)
    return size.error();
  auto const rank = number_variable("QUARRY_RANK", 0, *size - 1);
  if (!rank)
    return rank.error();
  auto const token = token_variable();
  if (!token)
    return token.error();
  auto endpoints = addresses_variable(*size);
  if (!endpoints)
    return endpoints.error();

  job j{.self = pe{static_cast<std::uint32_t>(*rank)},
        .pe_count = static_cast<std::uint32_t>(*size),
        .token = *token,
        .endpoints = *std::move(endpoints)};
  if (std::getenv("QUARRY_TIMEOUT_MS")) {
    auto const timeout = number_variable("QUARRY_TIMEOUT_MS", 1,
                                         static_cast<std::uint64_t>(max_job_timeout.count()));
    if (!timeout)
      return timeout.error();
    j.timeout = std::chrono::milliseconds{*timeout};
  }
  if (std::getenv("QUARRY_LISTEN_FD")) {
    auto const fd = number_variable("QUARRY_LISTEN_FD", 0, INT32_MAX);
    if (!fd)
      return fd.error();
    j.listen_fd = static_cast<int>(*fd);
  }
  return j;
}

std::vector<std::string> environment_of(job const& j) {
  std::string addresses;
  for (auto const& at : j.endpoints)
    addresses += fmt::format("{}{}:{}", addresses.empty() ? "" : ",", at.address, at.port);
  std::vector<std::string> lines{
      fmt::format("QUARRY_RANK={}", j.self.id),
      fmt::format("QUARRY_SIZE={}", j.pe_count),
      fmt::format("QUARRY_TOKEN={}", to_string(j.token)),
      fmt::format("QUARRY_ADDRESSES={}", addresses),
      fmt::format("QUARRY_TIMEOUT_MS={}", j.timeout.count()),
  };
  if (j.listen_fd >= 0)
    lines.push_back(fmt::format("QUARRY_LISTEN_FD={}", j.listen_fd));
  return lines;
}

} // namespace quarry::net
