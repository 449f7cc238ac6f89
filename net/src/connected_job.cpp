// SPDX-License-Identifier: Apache-2.0
#include "connected_job.hpp"

#include "awake_time.hpp"
#include "named_pes.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/transport.hpp>

#include <fmt/core.h>

#include <utility>

namespace quarry::net {

connected_job::connected_job(job j) : who_(std::move(j)) {}
connected_job::~connected_job() = default;

void connected_job::give_up(error why, pe culprit) {
  if (broken_)
    return;
  broken_ = std::move(why);
  culprit_ = culprit;
}

std::optional<result<bool>> connected_job::sent_without_peer(pe target,
                                                             std::span<std::byte const> head,
                                                             std::span<std::byte const> body) {
  std::size_t const bytes = head.size() + body.size();
  if (target.id >= who_.pe_count)
    return make_error(net_errc::no_such_pe, fmt::format("{} does not exist; there are {}",
                                                        to_string(target), who_.pe_count));
  if (bytes > max_message_bytes)
    return make_error(net_errc::oversized_message,
                      fmt::format("a message of {} bytes for {}; at most {}", bytes,
                                  to_string(target), max_message_bytes));
  if (broken_)
    return *broken_;
  if (is_finishing_)
    return make_error(net_errc::already_finished,
                      fmt::format("{} sends after it has finished", to_string(who_.self)));
  if (target != who_.self)
    return std::nullopt;
  constexpr std::size_t most_to_self = 64;
  if (to_self_.size() == most_to_self)
    return false;
  auto& message = to_self_.emplace_back(head.begin(), head.end());
  message.insert(message.end(), body.begin(), body.end());
  return true;
}

result<std::size_t> connected_job::poll(sink const& deliver) {
  if (broken_)
    return *broken_;
  std::size_t got = 0;
  // What is sent to oneself meanwhile comes next time: a message that sends the next is no hang.
  for (std::size_t const there = to_self_.size(); got < there && !to_self_.empty(); ++got) {
    std::vector<std::byte> const message = std::move(to_self_.front());
    to_self_.pop_front();
    deliver(who_.self, message);
  }
  got += advance_all(deliver);
  if (broken_)
    return *broken_;
  return got;
}

result<void> connected_job::finish(char const* name) {
  if (broken_)
    return *broken_;
  if (has_finished_)
    return {};
  awake_time wait_for_all(who_.timeout);
  if (!std::exchange(is_finishing_, true))
    say_goodbye();
  for (;;) {
    auto const got = poll([](pe, std::span<std::byte const>) {});
    if (!got)
      return got.error();
    auto const missing =
        named_pes(who_.pe_count, [this](std::uint32_t i) { return is_other(i) && !has_left(i); });
    if (missing.empty() && is_flushed())
      break;
    if (wait_for_all.is_over())
      return make_error(net_errc::timeout, fmt::format("{}: {} did not say goodbye within {} ms",
                                                       name, missing, who_.timeout.count()));
    if (*got == 0)
      wait(std::chrono::milliseconds(1));
  }
  has_finished_ = true;
  return {};
}

} // namespace quarry::net
