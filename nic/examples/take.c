/* Takes a word and puts another in its place: a read of it, and a write to it, posted together.
 *
 *   together  the write may overtake the read, which then returns what was written
 *   fenced    IBV_SEND_FENCE: the write waits until the read has completed */
#include "verbs.h"

enum { PLACE, TAKEN = 8, SOURCE = 16 };

int main(int count, char **arguments) {
  start(count, arguments, "together|fenced");
  int flags = is(arguments, "fenced") ? IBV_SEND_FENCE : 0;
  struct ibv_qp *qp = connection();
  unsigned long wrong = 0, rounds = 0;
  while (!is_over()) {
    words[SOURCE] = ++rounds;
    post(qp, IBV_WR_RDMA_READ, &words[TAKEN], &words[PLACE], 8, 0);
    post(qp, IBV_WR_RDMA_WRITE, &words[SOURCE], &words[PLACE], 8, flags);
    await(qp, 2);
    wrong += words[TAKEN] != rounds - 1;
  }
  return report(wrong, rounds, "took the word that came after");
}
