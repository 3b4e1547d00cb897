/* Writes numbers to slots, one request each.
 *
 *   early   the buffer gets the next number at once: the NIC may read it late, and send the next number
 *   waited  it does so when the request has completed
 *   inline  the NIC takes the number from the request: the buffer is free when the call returns */
#include "verbs.h"

enum { SOURCE, SLOTS = 8, COUNT = 16 };

int main(int count, char **arguments) {
  start(count, arguments, "early|waited|inline");
  int is_waited = is(arguments, "waited"), flags = is(arguments, "inline") ? IBV_SEND_INLINE : 0;
  struct ibv_qp *qp = connection();
  unsigned long wrong = 0, rounds = 0;
  for (; !is_over(); rounds++) {
    int differs = 0;
    for (int i = 0; i < COUNT; i++) {
      words[SOURCE] = rounds * COUNT + i;
      post(qp, IBV_WR_RDMA_WRITE, &words[SOURCE], &words[SLOTS + i], 8, flags);
      if (is_waited) await(qp, 1);
    }
    if (!is_waited) await(qp, COUNT);
    /* A read waits for the writes of its queue pair: now they are visible. */
    post(qp, IBV_WR_RDMA_READ, &words[SLOTS + COUNT], &words[SLOTS], 8, 0);
    await(qp, 1);
    for (int i = 0; i < COUNT; i++) differs |= words[SLOTS + i] != rounds * COUNT + i;
    wrong += differs;
  }
  return report(wrong, rounds, "wrote another number than posted");
}
