// SPDX-License-Identifier: Apache-2.0
#pragma once

// Coroutines, and their joining
#include <quarry/nursery.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/task.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/when_all.hpp>

// Waiting for each other
#include <quarry/barrier.hpp>
#include <quarry/event.hpp>
#include <quarry/latch.hpp>
#include <quarry/misuse.hpp>
#include <quarry/mutex.hpp>
#include <quarry/semaphore.hpp>
#include <quarry/yield.hpp>

// Who runs, and where it is serial
#include <quarry/actor.hpp>
#include <quarry/strand.hpp>

// What decides what happens next
#include <quarry/choices.hpp>
#include <quarry/exhaustive.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>

// Choices of explored executions: where they come from, records of them, failures made small
#include <quarry/boring.hpp>
#include <quarry/bytes.hpp>
#include <quarry/choice_record.hpp>
#include <quarry/choice_tree.hpp>
#include <quarry/dpor_search.hpp>
#include <quarry/footprint.hpp>
#include <quarry/hashed_search.hpp>
#include <quarry/pct.hpp>
#include <quarry/preemption_count.hpp>
#include <quarry/random_walk.hpp>
#include <quarry/replay.hpp>
#include <quarry/shrink.hpp>
#include <quarry/strategy.hpp>
#include <quarry/swarm.hpp>
#include <quarry/trace_fingerprint.hpp>

// What went wrong
#include <quarry/assert.hpp>
#include <quarry/report.hpp>
#include <quarry/result.hpp>
#include <quarry/sanitizers.hpp>
#include <quarry/sigquit.hpp>
#include <quarry/what_was_thrown.hpp>

// To build awaitables and schedulers from
#include <quarry/actor_list.hpp>
#include <quarry/brief_lock.hpp>
#include <quarry/debug_root.hpp>
#include <quarry/fiber.hpp>
#include <quarry/fnv_hash.hpp>
#include <quarry/frame_pool.hpp>
#include <quarry/in_quotes.hpp>
#include <quarry/memory_limits.hpp>
#include <quarry/random_bits.hpp>
#include <quarry/read_text.hpp>
#include <quarry/spin_lock.hpp>
#include <quarry/wait_queue.hpp>
