// SPDX-License-Identifier: Apache-2.0
// ping_pong_mpi BYTES TIMES: two ranks send a message to and fro; rank 0 prints the seconds that
// one way took. Exit status 1: another message came than was sent.
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3 || ranks != 2) {
    std::fputs("usage: ping_pong_mpi BYTES TIMES, on two ranks\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int const bytes = std::atoi(argv[1]);
  int const times = std::atoi(argv[2]);
  std::vector<char> message(static_cast<std::size_t>(bytes));
  bool is_right = true;
  auto const send = [&] { MPI_Send(message.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD); };
  auto const receive = [&] {
    MPI_Recv(message.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  auto const round = [&](int i) {
    if (rank == 0) {
      message.back() = static_cast<char>(i);
      send();
      message.back() = 0;
      receive();
      is_right = is_right && message.back() == static_cast<char>(i);
    } else {
      receive();
      send();
    }
  };
  for (int i = 0; i < 1 + times / 10; ++i)
    round(i);
  MPI_Barrier(MPI_COMM_WORLD);
  double const begun = MPI_Wtime();
  for (int i = 0; i < times; ++i)
    round(i);
  double const seconds = (MPI_Wtime() - begun) / times / 2;
  if (rank == 0)
    std::printf("%.9f\n", seconds);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
