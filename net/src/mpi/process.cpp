// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include "../awake_time.hpp"
#include "../named_pes.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/mpi.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace quarry::net {
namespace {

/// The job's terms, each way between any two processes of a network that begins.
class greeting {
public:
  greeting(MPI_Comm world, job const& j)
      : self_(j.self.id), mine_(j.terms.substr(0, job::most_terms)),
        theirs_(std::size_t{j.pe_count} * job::most_terms),
        requests_(std::size_t{2} * j.pe_count, MPI_REQUEST_NULL) {
    constexpr int hello = 1;
    for (std::uint32_t i = 0; i < j.pe_count; ++i) {
      if (i == self_)
        continue;
      auto const other = static_cast<int>(i);
      note(MPI_Irecv(terms_of(i), job::most_terms, MPI_CHAR, other, hello, world, &receipt(i)));
      note(MPI_Isend(mine_.data(), static_cast<int>(mine_.size()), MPI_CHAR, other, hello, world,
                     &dispatch(i)));
    }
  }

  [[nodiscard]] bool is_over() {
    int all = 0;
    note(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all,
                     MPI_STATUSES_IGNORE));
    return all != 0 || failure_ != MPI_SUCCESS;
  }
  [[nodiscard]] int failure() const { return failure_; }

  /// Once it is over: who was started otherwise, and how; or nothing.
  [[nodiscard]] std::string difference() {
    for (std::uint32_t i = 0; i < pe_count(); ++i) {
      std::string_view const theirs(terms_of(i), job::most_terms);
      if (auto const [there, here] = first_difference(theirs.substr(0, theirs.find('\0')), mine_);
          i != self_ && there != here)
        return fmt::format("{} was started with '{}', {} with '{}'", to_string(pe{i}), there,
                           to_string(pe{self_}), here);
    }
    return "";
  }

  /// Who has not come; gives up.
  [[nodiscard]] std::string missing() {
    return named_pes(pe_count(), [this](std::uint32_t i) {
      int has_come = 0;
      if (i == self_ || MPI_Test(&receipt(i), &has_come, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
          has_come)
        return false;
      MPI_Cancel(&receipt(i));
      MPI_Request_free(&receipt(i));
      return true;
    });
  }

private:
  [[nodiscard]] std::size_t pe_count() const { return requests_.size() / 2; }
  MPI_Request& receipt(std::uint32_t i) { return requests_[std::size_t{2} * i]; }
  MPI_Request& dispatch(std::uint32_t i) { return requests_[std::size_t{2} * i + 1]; }
  char* terms_of(std::uint32_t i) { return &theirs_[std::size_t{i} * job::most_terms]; }
  void note(int code) { failure_ = failure_ == MPI_SUCCESS ? code : failure_; }

  /// The first lines that differ.
  static std::pair<std::string_view, std::string_view> first_difference(std::string_view a,
                                                                        std::string_view b) {
    auto const take_line = [](std::string_view& text) {
      auto const line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      return line;
    };
    while (!a.empty() || !b.empty())
      if (auto const [x, y] = std::pair(take_line(a), take_line(b)); x != y)
        return {x, y};
    return {};
  }

  std::uint32_t self_;
  std::string mine_;
  std::vector<char> theirs_; ///< zeros behind each
  std::vector<MPI_Request> requests_;
  int failure_ = MPI_SUCCESS;
};

} // namespace

result<void> checked(int code, char const* doing) {
  if (code == MPI_SUCCESS)
    return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return make_error(net_errc::peer_lost,
                    fmt::format("mpi: {}: {}", doing,
                                std::string_view(text.data(), static_cast<std::size_t>(length))));
}

result<mpi_process*> mpi_process::start(std::chrono::milliseconds timeout) {
  static std::mutex mutex;
  static mpi_process here;
  std::lock_guard const lock(mutex);
  here.timeout_ = timeout;
  if (!here.has_begun_ && !here.broken_)
    if (auto const begun = here.begin(); !begun)
      here.broken_ = begun.error();
  if (here.broken_)
    return *here.broken_;
  return &here;
}

result<void> mpi_process::begin() {
  int is_started = 0;
  int level = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_started);
  if (is_started != 0) {
    MPI_Query_thread(&level);
  } else {
    if (!mpi::is_launched())
      return make_error(
          net_errc::bad_environment,
          "mpi: this process was not started as part of an MPI job; start it with mpirun, "
          "for example: mpirun -n 4 --bind-to none --oversubscribe PROGRAM");
    if (auto const done =
            checked(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init");
        !done)
      return done;
    is_ours_ = true;
  }
  has_begun_ = true;
  if (level < MPI_THREAD_SERIALIZED)
    return make_error(net_errc::bad_environment,
                      "mpi: MPI was started for one thread alone; it must be MPI_THREAD_SERIALIZED "
                      "or MPI_THREAD_MULTIPLE");
  if (auto const done = checked(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup"); !done)
    return done;
  MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
  int number = 0;
  MPI_Comm_rank(world_, &number);
  rank_ = static_cast<std::uint32_t>(number);
  MPI_Comm_size(world_, &number);
  size_ = static_cast<std::uint32_t>(number);
  return {};
}

result<void> mpi_process::greet(job const& j) {
  greeting hello(world_, j);
  awake_time wait_for_all(j.timeout);
  while (!hello.is_over()) {
    if (wait_for_all.is_over())
      return make_error(net_errc::timeout, fmt::format("mpi: {} did not come within {} ms",
                                                       hello.missing(), j.timeout.count()));
    std::this_thread::yield();
  }
  if (auto const wrong = hello.difference(); hello.failure() == MPI_SUCCESS && !wrong.empty())
    return make_error(net_errc::mismatched_job, "mpi: " + wrong);
  return checked(hello.failure(), "the greeting");
}

result<MPI_Comm> mpi_process::meet(job const& j) {
  // MPI's own ways to make a communicator wait without an end: see first that all are there.
  if (auto const met = greet(j); !met) {
    broken_ = met.error(); // a late greeting would be taken for one of the next network
    return met.error();
  }
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  std::array<std::array<int, 3>, 1> range{{{0, static_cast<int>(j.pe_count) - 1, 1}}};
  int code = MPI_Comm_group(world_, &all);
  if (code == MPI_SUCCESS)
    code = MPI_Group_range_incl(all, 1, reinterpret_cast<int(*)[3]>(range.data()), &members);
  if (code == MPI_SUCCESS)
    code = MPI_Comm_create_group(world_, members, 0, &made);
  if (members != MPI_GROUP_NULL)
    MPI_Group_free(&members);
  if (all != MPI_GROUP_NULL)
    MPI_Group_free(&all);
  if (auto const done = checked(code, "MPI_Comm_create_group"); !done)
    return done.error();
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

mpi_process::~mpi_process() {
  int is_over = 0;
  if (!is_ours_ || MPI_Finalized(&is_over) != MPI_SUCCESS || is_over != 0)
    return;
  // MPI_Finalize would wait without an end for a process that hangs.
  MPI_Request leaving = MPI_REQUEST_NULL;
  if (world_ != MPI_COMM_NULL && MPI_Ibarrier(world_, &leaving) == MPI_SUCCESS) {
    awake_time wait_for_all(timeout_);
    int have_left = 0;
    while (MPI_Test(&leaving, &have_left, MPI_STATUS_IGNORE) == MPI_SUCCESS && have_left == 0 &&
           !wait_for_all.is_over())
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (have_left == 0) {
      std::fputs("mpi: not all processes leave the job in time; it is aborted\n", stderr);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Finalize();
}

} // namespace quarry::net
