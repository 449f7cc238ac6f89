// SPDX-License-Identifier: Apache-2.0
// The bytes of a loopback connection, from both sides: as declared, and as they really leave.
#include "raw_peer.hpp"
#include "transport_contract.hpp"

#include <quarry/net/loopback.hpp>
#include <quarry/net/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

using namespace quarry::net;
using namespace std::chrono_literals;

namespace {

template<class T>
T object_from(std::span<std::byte const> bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  REQUIRE(bytes.size() == sizeof(T));
  T object;
  std::memcpy(&object, bytes.data(), sizeof object);
  return object;
}

std::vector<std::byte> bytes_of(std::string const& text) {
  auto const bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Sends `message` from a real end; the next frame that a raw peer reads: header, padded payload.
std::pair<wire::frame_header, std::vector<std::byte>> sent_as(loopback& end, raw::peer& peer,
                                                              std::string const& message) {
  auto const bytes = bytes_of(message);
  REQUIRE(end.try_send(pe{1}, std::span(bytes).first(bytes.size() / 2),
                       std::span(bytes).subspan(bytes.size() / 2))
              .value());
  CHECK_FALSE(
      contract::poll_until(end, [](auto...) {}, [&] { return end.is_flushed(); }).has_value());
  auto const header = object_from<wire::frame_header>(peer.read(sizeof(wire::frame_header)));
  return {header, peer.read(wire::padded(header.length))};
}

} // namespace

TEST_SUITE("net.wire") {
  TEST_CASE("greeting and frame header are laid out as version 4 has them") {
    CHECK(wire::version == 4); // whoever changes the layout changes this
    CHECK(std::memcmp(&wire::magic, "QRRY", 4) == 0);
    CHECK(offsetof(wire::greeting, version) == 4);
    CHECK(offsetof(wire::greeting, token_high) == 8);
    CHECK(offsetof(wire::greeting, token_low) == 16);
    CHECK(offsetof(wire::greeting, pe) == 24);
    CHECK(offsetof(wire::greeting, pe_count) == 28);
    CHECK(offsetof(wire::greeting, terms) == 32);
    CHECK(offsetof(wire::frame_header, length) == 4);
    CHECK(offsetof(wire::frame_header, sequence) == 8);
    CHECK(offsetof(wire::frame_header, check) == 12);
  }

  TEST_CASE("refusals are no pe and no version that anybody has") {
    CHECK(wire::refused_token != wire::refused_pe);
    CHECK(wire::refused_terms != wire::refused_pe);
    CHECK(wire::refused_terms != wire::refused_token);
    for (std::uint32_t const refused : {wire::refused_token, wire::refused_pe, wire::refused_terms})
      CHECK(refused > 65'536);
  }

  TEST_CASE("payloads are padded to whole 8 bytes, and to no more than that") {
    for (std::size_t n = 0; n < 100; ++n) {
      CHECK(wire::padded(n) % 8 == 0);
      CHECK(wire::padded(n) >= n);
      CHECK(wire::padded(n) < n + 8);
    }
    CHECK(wire::padded(max_message_bytes) == max_message_bytes);
  }

  TEST_CASE("the check notices a flipped bit wherever it is, and exchanged fields") {
    auto const good = raw::header(wire::frame_kind::message, 1000, 17);
    for (std::size_t bit = 0; bit < 8 * offsetof(wire::frame_header, check); ++bit) {
      CAPTURE(bit);
      unsigned char bytes[sizeof good];
      std::memcpy(bytes, &good, sizeof good);
      bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << bit % 8));
      wire::frame_header bad;
      std::memcpy(&bad, bytes, sizeof bad);
      CHECK(wire::check_of(bad) != good.check);
    }
    CHECK(wire::check_of({good.kind, good.sequence, good.length, 0}) != good.check);
    CHECK(wire::check_of({}) != 0); // silence is no frame
  }

  TEST_CASE("an end greets with its job's token, frames what it sends, and says goodbye") {
    raw::two_jobs pair;
    auto peer = raw::peer::connect(pair.port());
    peer.send_object(raw::greeting_of(pair.real(), 1));
    auto const end = loopback::open(pair.real()).value();
    auto const greeting = object_from<wire::greeting>(peer.read(sizeof(wire::greeting)));
    auto const expected = raw::greeting_of(pair.real(), 0);
    CHECK(std::memcmp(&greeting, &expected, sizeof greeting) == 0);

    std::uint32_t sequence = 0;
    std::uint64_t wire_bytes = end->wire_bytes();
    for (std::string const& message :
         {std::string("five!"), std::string(), std::string(4096, 'x'), std::string("eight by")}) {
      auto const [header, payload] = sent_as(*end, peer, message);
      CHECK(header.kind == wire::frame_kind::message);
      CHECK(header.length == message.size());
      CHECK(header.sequence == sequence++);
      CHECK(header.check == wire::check_of(header));
      REQUIRE(payload.size() == wire::padded(message.size()));
      if (!message.empty()) // memcmp() takes no null pointer
        CHECK(std::memcmp(payload.data(), message.data(), message.size()) == 0);
      wire_bytes += sizeof header + payload.size();
      CHECK(end->wire_bytes() == wire_bytes);
    }

    peer.send_object(raw::header(wire::frame_kind::goodbye, 0, 0));
    CHECK(end->finish().has_value());
    auto const bye = object_from<wire::frame_header>(peer.read(sizeof(wire::frame_header)));
    CHECK(bye.kind == wire::frame_kind::goodbye);
    CHECK(bye.length == 0);
    CHECK(bye.sequence == sequence);
    CHECK(bye.check == wire::check_of(bye));
  }
}
