/* Copies a word from one server to another: a read into a buffer, and a write from that buffer, posted
 * together.
 *
 *   together  the write may send what the buffer held before the read
 *   fenced    IBV_SEND_FENCE: the write waits until the read has completed */
#include "verbs.h"

enum { FROM, TO = 8, BUFFER = 16, READ = 24 };

int main(int count, char **arguments) {
  start(count, arguments, "together|fenced");
  int flags = is(arguments, "fenced") ? IBV_SEND_FENCE : 0;
  struct ibv_qp *qp = connection();
  unsigned long wrong = 0, rounds = 0;
  while (!is_over()) {
    words[FROM] = ++rounds;
    post(qp, IBV_WR_RDMA_READ, &words[BUFFER], &words[FROM], 8, 0);
    post(qp, IBV_WR_RDMA_WRITE, &words[BUFFER], &words[TO], 8, flags);
    await(qp, 2);
    post(qp, IBV_WR_RDMA_READ, &words[READ], &words[TO], 8, 0);
    await(qp, 1);
    wrong += words[TO] != rounds;
  }
  return report(wrong, rounds, "copied an old word");
}
