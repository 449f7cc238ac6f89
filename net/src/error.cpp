// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/error.hpp>

#include <utility>

namespace quarry::net {
namespace {

char const* sentence(net_errc code) noexcept {
  switch (code) {
  case net_errc::peer_lost:
    return "a processing element was lost";
  case net_errc::timeout:
    return "the job's timeout has passed";
  case net_errc::port_in_use:
    return "the port is in use";
  case net_errc::bad_token:
    return "the job's token is not the one expected";
  case net_errc::bad_handshake:
    return "the handshake is not one of this job";
  case net_errc::version_mismatch:
    return "the protocol version is another one";
  case net_errc::bad_frame:
    return "a peer sent a malformed frame";
  case net_errc::oversized_frame:
    return "a peer sent a frame longer than the limit";
  case net_errc::oversized_message:
    return "the message is longer than the limit";
  case net_errc::no_such_pe:
    return "the processing element is not part of the job";
  case net_errc::already_finished:
    return "this processing element has already finished";
  case net_errc::forbidden_address:
    return "the address is not 127.0.0.1";
  case net_errc::outside_heap:
    return "the address range is outside the symmetric heap";
  case net_errc::misaligned:
    return "the address is misaligned";
  case net_errc::heap_exhausted:
    return "the symmetric heap is exhausted";
  case net_errc::mismatched_job:
    return "the processing elements have different options or handlers";
  case net_errc::mismatched_collective:
    return "who should be in one collective is in different ones";
  case net_errc::failed_handler:
    return "a message handler threw";
  case net_errc::bad_environment:
    return "an environment variable has a value that is not allowed";
  }
  return "an unknown error";
}

class category final : public std::error_category {
public:
  char const* name() const noexcept override { return "quarry.net"; }
  std::string message(int code) const override { return sentence(static_cast<net_errc>(code)); }
};

} // namespace

std::error_category const& net_category() noexcept {
  static category const instance;
  return instance;
}

std::error_code make_error_code(net_errc code) noexcept {
  return {static_cast<int>(code), net_category()};
}

error make_error(net_errc code, std::string what) {
  return {make_error_code(code), std::move(what)};
}

} // namespace quarry::net
