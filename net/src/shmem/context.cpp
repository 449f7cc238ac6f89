// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"
#include "refusals.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/shmem/context.hpp>

#include <fmt/core.h>

namespace quarry::net::shmem {
namespace {

/// A signal or an atomic's word.
result<void> check_word(std::uint64_t offset, unsigned bytes, char const* name) {
  if (offset % bytes == 0)
    return {};
  return make_error(net_errc::misaligned,
                    fmt::format("shmem: {} of {} bytes at offset {}, which is not a multiple of it",
                                name, bytes, offset));
}

result<void> check_signal(signal_op how, std::uint64_t offset, char const* name) {
  if (!exists(how))
    return error{std::make_error_code(std::errc::invalid_argument), "shmem: " + why_not(how, name)};
  return check_word(offset, sizeof(std::uint64_t), name);
}

} // namespace

result<symmetric_address> context::address_of(void const* local, char const* operation) const {
  auto const offset = engine_->offset_of(local, 0, operation);
  if (!offset)
    return offset.error();
  return symmetric_address{*offset};
}

// Blocking

result<void> context::put_bytes(void* dest, std::span<std::byte const> source, pe target,
                                executor::wait_site const& call) {
  engine_->begin_on_host(emu::operation_kind::remote, call.where);
  auto const offset = engine_->offset_of(dest, source.size(), call.what);
  if (!offset)
    return offset.error();
  if (auto const ok = engine_->check(target, *offset, source.size(), call.what); !ok)
    return ok;
  auto const sent = engine_->put(*state_, *offset, source, target, call.what, call.where);
  if (!sent)
    return sent.error();
  return {};
}

result<void> context::get_bytes(std::span<std::byte> dest, void const* source, pe target,
                                executor::wait_site const& call) {
  engine_->complete_before(emu::operation_kind::remote, call.where);
  auto const offset = engine_->offset_of(source, dest.size(), call.what);
  if (!offset)
    return offset.error();
  if (auto const ok = engine_->check(target, *offset, dest.size(), call.what); !ok)
    return ok;
  auto const asked = engine_->get(*state_, dest, *offset, target, call.where);
  if (!asked)
    return asked.error();
  return engine_->wait_for(*state_, *asked, {call.what, call.where, target});
}

result<void> context::put_signal_bytes(void* dest, std::span<std::byte const> source,
                                       std::uint64_t* signal, std::uint64_t value, signal_op how,
                                       pe target, std::source_location where) {
  engine_->begin_on_host(emu::operation_kind::remote, where);
  auto const offset = engine_->offset_of(dest, source.size(), "put_signal");
  if (!offset)
    return offset.error();
  auto const word = engine_->offset_of(signal, sizeof *signal, "put_signal");
  if (!word)
    return word.error();
  if (auto const ok = engine_->check(target, *offset, source.size(), "put_signal"); !ok)
    return ok;
  if (auto const ok = check_signal(how, *word, "put_signal"); !ok)
    return ok;
  auto const sent =
      engine_->put_signal(*state_, *offset, source, *word, value, how, target, "put_signal", where);
  if (!sent)
    return sent.error();
  return {};
}

result<std::uint64_t> context::atomic_word_op(atomic_op op, void const* at, std::uint64_t operand,
                                              std::uint64_t comparand, pe target, unsigned bytes,
                                              std::source_location where) {
  engine_->begin_on_host(emu::operation_kind::remote, where);
  auto const offset = engine_->offset_of(at, bytes, "atomic");
  if (!offset)
    return offset.error();
  if (auto const ok = check_word(*offset, bytes, "atomic"); !ok)
    return ok.error();
  if (auto const ok = engine_->check(target, *offset, bytes, "atomic"); !ok)
    return ok.error();
  std::uint64_t fetched = 0;
  auto const asked = engine_->atomic(*state_, {op, bytes, *offset, operand, comparand}, &fetched,
                                     target, "atomic", where);
  if (!asked)
    return asked.error();
  if (auto const came = engine_->wait_for(*state_, *asked, {"atomic", where, target}); !came)
    return came.error();
  return fetched;
}

result<void> context::atomic_word_silently(atomic_op op, void* at, std::uint64_t operand, pe target,
                                           unsigned bytes, std::source_location where) {
  engine_->begin_on_host(emu::operation_kind::remote, where);
  auto const offset = engine_->offset_of(at, bytes, "atomic");
  if (!offset)
    return offset.error();
  if (auto const ok = engine_->check(target, *offset, bytes, "atomic"); !ok)
    return ok;
  if (auto const ok = check_word(*offset, bytes, "atomic"); !ok)
    return ok;
  auto const sent =
      engine_->atomic(*state_, {op, bytes, *offset, operand, 0}, nullptr, target, "atomic", where);
  if (!sent)
    return sent.error();
  return {};
}

result<void> context::quiet(std::source_location where) {
  engine_->take_from_host();
  return engine_->quiet(*state_, {"quiet", where});
}

// Never blocking

void context::fence() {
  engine_->take_from_host();
  engine_->fence(*state_);
}

result<ticket> context::put_nbi(symmetric_address dest, std::span<std::byte const> source,
                                pe target, std::source_location where) {
  if (auto const ok = engine_->check(target, dest.offset, source.size(), "put_nbi"); !ok)
    return ok.error();
  return engine_->put(*state_, dest.offset, source, target, nullptr, where);
}

result<ticket> context::get_nbi(std::span<std::byte> dest, symmetric_address source, pe target,
                                std::source_location where) {
  if (auto const ok = engine_->check(target, source.offset, dest.size(), "get_nbi"); !ok)
    return ok.error();
  return engine_->get(*state_, dest, source.offset, target, where);
}

result<ticket> context::put_signal_nbi(symmetric_address dest, std::span<std::byte const> source,
                                       symmetric_address signal, std::uint64_t value, signal_op how,
                                       pe target, std::source_location where) {
  if (auto const ok = engine_->check(target, dest.offset, source.size(), "put_signal_nbi"); !ok)
    return ok.error();
  if (auto const ok = engine_->check(target, signal.offset, 8, "put_signal_nbi"); !ok)
    return ok.error();
  if (auto const ok = check_signal(how, signal.offset, "put_signal_nbi"); !ok)
    return ok.error();
  return engine_->put_signal(*state_, dest.offset, source, signal.offset, value, how, target,
                             nullptr, where);
}

result<ticket> context::atomic_nbi(atomic_op op, symmetric_address dest, std::uint64_t operand,
                                   std::uint64_t comparand, std::uint64_t* fetched, pe target,
                                   unsigned bytes, std::source_location where) {
  if (static_cast<int>(op) >= atomic_op_count || (bytes != 4 && bytes != 8))
    return error{std::make_error_code(std::errc::invalid_argument),
                 fmt::format("shmem: atomic_nbi: operation {} of {} bytes; allowed are those of "
                             "atomic_op, of 4 or 8",
                             static_cast<int>(op), bytes)};
  if (auto const ok = engine_->check(target, dest.offset, bytes, "atomic_nbi"); !ok)
    return ok.error();
  if (auto const ok = check_word(dest.offset, bytes, "atomic_nbi"); !ok)
    return ok.error();
  return engine_->atomic(*state_, {op, bytes, dest.offset, operand, comparand}, fetched, target,
                         nullptr, where);
}

bool context::is_done(ticket const& t) {
  return engine_->is_done(*state_, t);
}
bool context::is_quiet() {
  return engine_->is_quiet(*state_);
}
void context::see_answers() const {
  engine_->see_answers();
}

} // namespace quarry::net::shmem
