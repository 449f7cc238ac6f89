// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who takes part, and what the others may touch
#include <quarry/net/shmem/node.hpp>

// One-sided operations
#include <quarry/net/shmem/context.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/net/shmem/words.hpp>

// What all do together
#include <quarry/net/shmem/team.hpp>

// How it is ordered
#include <quarry/net/shmem/orders.hpp>
