// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "forwarding_port.hpp"

#include <string_view>

namespace quarry_test {

/// Has no room, the first so many times, for a message in whose body these words are.
class reluctant_port final : public forwarding_port {
public:
  reluctant_port(std::unique_ptr<transport_port> real, int times, std::string_view words)
      : forwarding_port(std::move(real)), times_(times), words_(words) {}

  [[nodiscard]] quarry::result<bool> try_send(pe target, std::span<std::byte const> head,
                                              std::span<std::byte const> body) override {
    std::string_view const text(reinterpret_cast<char const*>(body.data()), body.size());
    if (text.find(words_) != std::string_view::npos && times_-- > 0)
      return false;
    return forwarding_port::try_send(target, head, body);
  }

private:
  int times_; // of whoever is inside
  std::string_view words_;
};

} // namespace quarry_test
