// A process gets a word of another one, puts another word, and calls MPI_Win_flush_local, which completes both
// at their origin. MPICH over UCX (seen in 4.0.2) returns while the get is under way: its word is still the old
// one (docs/findings.md). Exit code 0 if all gets were complete, else 1.
//
//   mpicc -Wall -Wextra flush-local.c -o flush-local && mpirun -n 2 ./flush-local
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

#define RUNS 1000
#define LINE 64

enum { GOT, REMOTE, SOURCE, TARGET };  // words of the window, each in a cache line of its own

int main(int argc, char **argv) {
  int rank, old = 0;
  char *memory;
  MPI_Win window;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(4 * LINE, LINE, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  for (int run = 0; run < RUNS; run++) {
    volatile uint64_t *got = (volatile uint64_t *)(memory + GOT * LINE);

    *got = 0;
    *(uint64_t *)(memory + REMOTE * LINE) = 1;
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Get(memory + GOT * LINE, 8, MPI_BYTE, 1, REMOTE, 8, MPI_BYTE, window);
      MPI_Put(memory + SOURCE * LINE, 8, MPI_BYTE, 1, TARGET, 8, MPI_BYTE, window);
      MPI_Win_flush_local(1, window);
      if (*got != 1) old++;
    }
    MPI_Win_flush_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%d of %d gets were not complete\n", old, RUNS);
  MPI_Bcast(&old, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return old != 0;
}
