// A process gets a word of each of two others, and calls MPI_Win_flush_local for the second one alone. Open
// MPI's osc pt2pt (seen in 4.1.4) never returns (docs/findings.md).
//
//   mpicc -Wall -Wextra flush-local-hang.c -o hang && mpirun -n 3 --mca osc pt2pt ./hang
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank;
  uint64_t *memory, got[2] = {0, 0};
  MPI_Win window;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  *memory = 1;
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Get(&got[0], 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, window);
    MPI_Get(&got[1], 8, MPI_BYTE, 2, 0, 8, MPI_BYTE, window);
    MPI_Win_flush_local(2, window);
    printf("got %d\n", (int)got[1]);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
}
