/* Sends records with a tag behind the data, in one write. A thread polls the tag, then reads the record.
 *
 *   one  it takes the record when the tag is there: a NIC may write the words in another order (with
 *        `litmus nic --tear`)
 *   two  the tag goes in a write of its own, behind the data on the same queue pair */
#include "verbs.h"

enum { LENGTH = 8, RECORD = 0, SOURCE = 16, SEEN = 32 };
static unsigned long wrong, rounds;

static void *reader(void *unused) {
  for (unsigned long round = 1;; round++) {
    while (words[RECORD + LENGTH - 1] < round) { }
    if (words[RECORD + LENGTH - 1] != round) return unused;
    int differs = 0;
    for (int i = 0; i < LENGTH - 1; i++) differs |= words[RECORD + i] != round;
    wrong += differs;
    words[SEEN] = round;
  }
}

int main(int count, char **arguments) {
  start(count, arguments, "one|two");
  int in_first = is(arguments, "one") ? LENGTH : LENGTH - 1;
  struct ibv_qp *qp = connection();
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  while (!is_over()) {
    rounds++;
    for (int i = 0; i < LENGTH; i++) words[SOURCE + i] = rounds;
    post(qp, IBV_WR_RDMA_WRITE, &words[SOURCE], &words[RECORD], 8 * in_first, 0);
    if (in_first < LENGTH) post(qp, IBV_WR_RDMA_WRITE, &words[SOURCE], &words[RECORD + LENGTH - 1], 8, 0);
    await(qp, in_first < LENGTH ? 2 : 1);
    while (words[SEEN] != rounds) { }
  }
  words[RECORD + LENGTH - 1] = -1ul;
  pthread_join(thread, NULL);
  return report(wrong, rounds, "read a record that was not there");
}
