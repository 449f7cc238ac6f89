// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"
#include "engine_of.hpp"
#include "refusals.hpp"
#include "team_work.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/job.hpp>
#include <quarry/net/shmem/node.hpp>

#include <fmt/core.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace quarry::net::shmem {
namespace {

constexpr std::size_t most_heap_bytes = std::size_t{1} << 46;
constexpr std::size_t most_team_bytes = std::size_t{1} << 30;

void check(node::options const& o, std::uint32_t pes) {
  auto const refuse = [](std::string const& text) {
    throw std::invalid_argument("shmem: " + text);
  };
  if (o.heap_bytes == 0 || o.heap_bytes > most_heap_bytes)
    refuse(fmt::format("a heap of {} bytes; allowed are 1 to {}", o.heap_bytes, most_heap_bytes));
  if (auto const why = refusal_of_timeout(o.timeout.value_or(job{}.timeout)); !why.empty())
    refuse(why);
  if (o.most_teams == 0 || o.most_teams > 64)
    refuse(fmt::format("{} teams; allowed are 1 to 64", o.most_teams));
  std::size_t const least = std::size_t{pes} * 64 < 256 ? 256 : std::size_t{pes} * 64;
  if (o.team_bytes < least || o.team_bytes > most_team_bytes)
    refuse(fmt::format("{} bytes for a team's messages; allowed are, with {} pes, {} to {}",
                       o.team_bytes, pes, least, most_team_bytes));
}

result<std::unique_ptr<engine>> started(executor& scheduler, emu::allocations* known,
                                        std::unique_ptr<transport_port> transport,
                                        node::options const& o, std::source_location where) {
  if (transport == nullptr)
    throw std::invalid_argument("shmem: no transport; has it been moved from?");
  check(o, transport->pe_count());
  auto e = make_engine(scheduler, known, std::move(transport), o, where);
  auto world = std::make_shared<team_state>();
  *world = {.count = e->pe_count(), .index = e->self().id};
  e->world = std::move(world);
  e->free_teams =
      (o.most_teams == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << o.most_teams) - 1) & ~1ULL;
  if (auto const met = e->meet(where); !met)
    return met.error();
  return e;
}

} // namespace

std::unique_ptr<engine> make_engine(executor& scheduler, emu::allocations* known,
                                    std::unique_ptr<transport_port> transport,
                                    node::options const& o, std::source_location where) {
  if (scheduler.decides())
    return std::make_unique<engine_of<emu::interleaving_memory>>(scheduler, known,
                                                                 std::move(transport), o, where);
  return std::make_unique<engine_of<emu::native_memory>>(scheduler, known, std::move(transport), o,
                                                         where);
}

node::node(std::unique_ptr<engine> e) noexcept
    : engine_(std::move(e)), choices_(std::make_unique<std::atomic<std::uint64_t>>(0)),
      default_(*engine_, engine_->user_context), world_(*engine_, engine_->world) {}
node::node(node&&) noexcept = default;
node::~node() = default;

result<node> node::start(emu::agent_core& agent, std::unique_ptr<transport_port> transport,
                         options const& o, std::source_location where) {
  auto e = started(agent.scheduler(), &agent.known(), std::move(transport), o, where);
  if (!e)
    return e.error();
  return node(std::move(*e));
}

result<node> node::start(executor& scheduler, std::unique_ptr<transport_port> transport,
                         options const& o, std::source_location where) {
  auto e = started(scheduler, nullptr, std::move(transport), o, where);
  if (!e)
    return e.error();
  return node(std::move(*e));
}

pe node::self() const noexcept {
  return engine_->self();
}
std::uint32_t node::pe_count() const noexcept {
  return engine_->pe_count();
}
shmem_orders const& node::orders() const noexcept {
  return engine_->options().orders;
}

// The heap

result<std::byte*> node::malloc_bytes(std::size_t count, std::size_t each,
                                      std::source_location where) {
  team_work work(*engine_, *engine_->world, {"malloc", where});
  // All have come: who was slower than others has given back what it should have.
  if (auto const met =
          work.meet(collective::malloc, {{"elements", count}, {"bytes of each", each}});
      !met)
    return met.error();
  return take(1, count, each, "malloc");
}

result<std::byte*> node::calloc_bytes(std::size_t count, std::size_t each,
                                      std::source_location where) {
  team_work work(*engine_, *engine_->world, {"calloc", where});
  if (auto const met =
          work.meet(collective::calloc, {{"elements", count}, {"bytes of each", each}});
      !met)
    return met.error();
  auto block = take(1, count, each, "calloc");
  if (!block)
    return block; // on all pes: their heaps are alike
  if (engine_->decides()) {
    std::vector<std::byte> const zeros(count * each);
    engine_->store_here(*block, zeros.data(), zeros.size(), where);
  } else {
    std::memset(*block, 0, count * each);
  }
  // Nobody puts anything there before it is zero.
  if (auto const met =
          work.meet(collective::calloc, {{"elements", count}, {"bytes of each", each}});
      !met)
    return met.error();
  return block;
}

result<std::byte*> node::align_bytes(std::size_t alignment, std::size_t count, std::size_t each,
                                     std::source_location where) {
  if (!std::has_single_bit(alignment) || alignment > most_alignment)
    return error{std::make_error_code(std::errc::invalid_argument),
                 fmt::format("shmem: align at multiples of {}; allowed are powers of two up to {}",
                             alignment, most_alignment)};
  team_work work(*engine_, *engine_->world, {"align", where});
  if (auto const met =
          work.meet(collective::align,
                    {{"alignment", alignment}, {"elements", count}, {"bytes of each", each}});
      !met)
    return met.error();
  return take(alignment, count, each, "align");
}

result<std::byte*> node::take(std::size_t alignment, std::size_t count, std::size_t each,
                              char const* operation) {
  bool const is_huge = count > most_heap_bytes / each;
  auto const place = is_huge ? std::nullopt : engine_->user_heap.take(count * each, alignment);
  if (!place)
    return make_error(net_errc::heap_exhausted,
                      fmt::format("shmem: {}: {} x {} bytes asked for; of {} the largest free "
                                  "piece has {}",
                                  operation, count, each, engine_->memory().user_bytes,
                                  engine_->user_heap.largest_free()));
  return engine_->memory().at(*place);
}

result<void> node::free(void* block, std::source_location where) {
  if (block == nullptr)
    return {};
  auto const offset = engine_->offset_of(block, 0, "free");
  if (!offset)
    return offset.error();
  if (!engine_->user_heap.has(*offset))
    return make_error(net_errc::outside_heap,
                      fmt::format("shmem: free: malloc() has not given offset {}, or it was given "
                                  "back already",
                                  *offset));
  // Nothing of this pe's comes to the block when somebody else has it.
  if (auto const q = engine_->quiet(*engine_->user_context, {"free", where}); !q)
    return q;
  team_work work(*engine_, *engine_->world, {"free", where});
  if (auto const met = work.meet(collective::free, {{"memory at", *offset}}); !met)
    return met;
  engine_->user_heap.give_back(*offset);
  return {};
}

void const* node::pointer_to(void const* local, pe target) const noexcept {
  auto const offset = engine_->offset_of(local, 0, "ptr");
  if (!offset || target.id >= engine_->pe_count())
    return nullptr;
  if (target == engine_->self())
    return local;
  region* const there = engine_->direct(target);
  return there == nullptr ? nullptr : there->at(*offset);
}

result<symmetric_address> node::address_of(void const* local, std::size_t bytes) const {
  auto const offset = engine_->offset_of(local, bytes, "address_of");
  if (!offset)
    return offset.error();
  return symmetric_address{*offset};
}

std::byte* node::local(symmetric_address at) const noexcept {
  return at.offset <= engine_->memory().user_bytes ? engine_->memory().at(at.offset) : nullptr;
}

// Contexts, waiting

result<context> node::make_context() {
  if (engine_->has_failed())
    return engine_->failed("make_context");
  return context(*engine_, engine_->make_context());
}

result<void> node::wait_word(void const* at, unsigned bytes, erased_condition is,
                             executor::wait_site const& call) {
  if (auto const known = check_exists(is.how, call.what); !known)
    return known;
  if (auto const ok = check_place(at, bytes, bytes, call.what); !ok)
    return ok;
  return engine_->wait_word(at, bytes, is.is_met, is.condition, {call.what, call.where});
}

result<std::vector<std::size_t>> node::wait_words(void const* first, std::size_t count,
                                                  unsigned bytes, std::span<bool const> skip,
                                                  erased_condition is,
                                                  executor::wait_site const& call) {
  if (auto const ok = check_words(first, count, bytes, skip, is.how, call.what); !ok)
    return ok.error();
  return engine_->wait_words(static_cast<std::byte const*>(first), count, bytes, skip, is.is_met,
                             is.condition, {call.what, call.where});
}

result<std::vector<std::size_t>> node::test_words(void const* first, std::size_t count,
                                                  unsigned bytes, std::span<bool const> skip,
                                                  erased_condition is,
                                                  executor::wait_site const& call) {
  if (auto const ok = check_words(first, count, bytes, skip, is.how, call.what); !ok)
    return ok.error();
  std::vector<std::size_t> met;
  for (std::size_t i = 0; i < count; ++i)
    if (skip.empty() || !skip[i])
      if (is.is_met(engine_->read_word(static_cast<std::byte const*>(first) + i * bytes, bytes,
                                       call.where),
                    is.condition))
        met.push_back(i);
  emu::bring_to_host(); // what came before what it has seen
  return met;
}

std::optional<std::size_t> node::any_of(std::vector<std::size_t> const& met) {
  if (met.empty())
    return std::nullopt;
  // Not in turns: who goes to and fro between two arrays would get the same ones for ever.
  std::uint64_t h = choices_->fetch_add(1, std::memory_order_relaxed) * 0x9e3779b97f4a7c15;
  h ^= h >> 32;
  return met[h % met.size()];
}

result<void> node::check_words(void const* first, std::size_t count, unsigned bytes,
                               std::span<bool const> skip, comparison how, char const* operation) {
  if (auto const known = check_exists(how, operation); !known)
    return known;
  if (auto const fits = check_skip(count, skip, operation); !fits)
    return fits;
  if (count == 0 && !engine_->has_failed())
    return {}; // an empty span is nowhere
  return check_place(first, bytes_of(count, bytes), bytes, operation);
}

result<void> node::check_exists(comparison c, char const* operation) {
  if (exists(c))
    return {};
  return error{std::make_error_code(std::errc::invalid_argument),
               "shmem: " + why_not(c, operation)};
}

result<void> node::check_skip(std::size_t count, std::span<bool const> skip,
                              char const* operation) {
  if (!skip.empty() && skip.size() != count)
    return error{std::make_error_code(std::errc::invalid_argument),
                 fmt::format("shmem: {}: {} words, but {} marks which to skip", operation, count,
                             skip.size())};
  return {};
}

result<std::uint64_t> node::read_word(void const* at, unsigned bytes,
                                      executor::wait_site const& call) {
  if (auto const ok = check_place(at, bytes, bytes, call.what); !ok)
    return ok.error();
  std::uint64_t const word = engine_->read_word(at, bytes, call.where);
  emu::bring_to_host(); // what came before what it has seen
  return word;
}

result<void> node::check_place(void const* at, std::size_t bytes, unsigned each,
                               char const* operation) {
  if (engine_->has_failed())
    return engine_->failed(operation);
  auto const offset = engine_->offset_of(at, bytes, operation);
  if (!offset)
    return offset.error();
  return engine::check_aligned(*offset, each, operation);
}

// All together

result<void> node::barrier_all(std::source_location where) {
  if (auto const q = engine_->quiet(*engine_->user_context, {"barrier_all", where}); !q)
    return q;
  return team_work(*engine_, *engine_->world, {"barrier_all", where}).meet(collective::barrier);
}

result<void> node::sync_all(std::source_location where) {
  return team_work(*engine_, *engine_->world, {"sync_all", where}).meet(collective::sync);
}

bool node::progress() {
  return engine_->progress();
}

bool node::idle(std::chrono::nanoseconds at_most) {
  return engine_->idle(at_most);
}
bool node::is_all_direct() const noexcept {
  return engine_->is_all_direct();
}

std::uint64_t node::watch(std::string_view what, std::optional<pe> on,
                          std::chrono::nanoseconds waited) {
  return engine_->watch(what, on, waited);
}

void node::fail(error why) {
  engine_->fail(std::move(why), engine::told::everybody);
}

std::optional<error> node::failure() const {
  return engine_->failure();
}

result<void> node::finish(std::source_location where) {
  engine_->begin_to_leave();
  if (auto const q = engine_->quiet_all({"finish", where}); !q)
    return q;
  team_work work(*engine_, *engine_->world, {"finish", where});
  if (auto const met = work.meet(collective::finish); !met)
    return met;
  return engine_->finish(where);
}

} // namespace quarry::net::shmem
