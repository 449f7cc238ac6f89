// SPDX-License-Identifier: Apache-2.0
// What every model of quarry::net::transport promises when a pe leaves in order before others do.
#pragma once

#include "transport_contract.hpp"

namespace contract {

/// As pe 0, which hears a word of pe 1 and then of its finish(): sends to it until it is told so.
inline std::string is_told_of_finish(transport_port& end) {
  std::vector<std::byte> const bytes(65'536);
  std::vector<received> came;
  auto const deadline = clock::now() + bound;
  auto sent = end.try_send(pe{1}, bytes, {});
  for (; sent; sent = end.try_send(pe{1}, bytes, {})) {
    if (auto const polled = end.poll(into(came)); !polled)
      return polled.error().what;
    if (clock::now() > deadline)
      return "a pe that has finished is sent to for ever";
  }
  if (came.size() != 1)
    return "it was said before the last word";
  for (int again = 0; again < 3; ++again) {
    if (sent || !is_loss_of(sent.error(), pe{1}) ||
        !sent.error().what.ends_with("has left the job"))
      return "try_send() says something else";
    if (!end.has_room(pe{1}))
      return "who waits for its room waits for ever";
    sent = end.try_send(pe{1}, {}, {});
  }
  return "";
}

inline void finishes_alone(maker const& make) {
  SUBCASE("who sends to a pe that has finished is told so, and goes on with the others") {
    ends all = make(3);
    all_well(in_threads(all, [](transport_port& end) -> std::string {
      std::vector<received> came;
      std::byte const word{42};
      if (end.self() == pe{1})
        return end.try_send(pe{0}, {&word, 1}, {}).value() ? finish(end) : "there was no room";
      if (end.self() == pe{0}) {
        if (auto wrong = is_told_of_finish(end); !wrong.empty())
          return wrong;
        for (std::uint32_t const target : {0U, 2U})
          if (!end.try_send(pe{target}, {&word, 1}, {}).value())
            return "there was no room for the others";
      }
      if (auto const failed = poll_until(end, into(came), [&] { return came.size() == 1; }))
        return failed->what;
      return finish(end);
    }));
  }
  SUBCASE("what has come to who finishes, and was not delivered, never is") {
    ends all = make(2);
    std::byte const word{42};
    for (std::size_t id : {0U, 1U})
      CHECK(at(all, id, [&](transport_port& end) {
              bool const taken = end.try_send(pe{0}, {&word, 1}, {}).value() &&
                                 end.try_send(pe{0}, {&word, 1}, {}).value();
              return taken ? "" : "there was no room";
            }) == "");
    all_well(in_threads(all, finish));
    CHECK(at(all, 0, [](transport_port& end) -> std::string {
            std::vector<received> came;
            if (end.has_input())
              return "there is something to deliver";
            auto const polled = end.poll(into(came));
            return polled && came.empty() ? "" : "something is delivered";
          }) == "");
  }
}

} // namespace contract
