/* A device that is opened before `fork`, and by the child again: the child must have a NIC of its own. It writes to
 * its parent, and then to nobody, since the parent destroys its queue pair. */
#include "../examples/verbs.h"
#include <sys/wait.h>
#include <unistd.h>

static void tell(int to, unsigned number) {
  check(write(to, &number, sizeof number) == sizeof number, "write");
}

static unsigned hear(int from) {
  unsigned number;
  check(read(from, &number, sizeof number) == sizeof number, "read");
  return number;
}

static struct ibv_qp *queue_pair(void) {
  struct ibv_cq *cq = ibv_create_cq(context, 128, NULL, NULL, 0);
  check(cq != NULL, "ibv_create_cq");
  return make(cq);
}

static int child(int from, int to) {
  struct ibv_mr theirs = *region;
  word *there = words;
  char *own[] = { "fork", "child" };
  start(2, own, "child");
  struct ibv_qp *qp = queue_pair(), peer = { .qp_num = hear(from) };
  join(qp, &peer);
  tell(to, qp->qp_num);
  hear(from);
  words[1] = 42;
  struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
    .wr.rdma = { .remote_addr = (unsigned long) there, .rkey = theirs.rkey } };
  post_request(qp, wr, &words[1], 8);
  await(qp, 1);
  tell(to, 0);
  hear(from);
  post_request(qp, wr, &words[1], 8);
  struct ibv_wc wc;
  int found;
  while (!(found = ibv_poll_cq(qp->send_cq, 1, &wc))) {}
  check(found == 1 && wc.status == IBV_WC_RETRY_EXC_ERR, "a peer that is gone");
  return 0;
}

int main(void) {
  char *own[] = { "fork", "parent" };
  int down[2], up[2], status;
  start(2, own, "parent");
  check(!pipe(down) && !pipe(up), "pipe");
  pid_t process = fork();
  if (!process) return child(down[0], up[1]);
  struct ibv_qp *qp = queue_pair(), peer = { 0 };
  tell(down[1], qp->qp_num);
  peer.qp_num = hear(up[0]);
  join(qp, &peer);
  tell(down[1], 0);
  hear(up[0]);
  while (!is_over() && words[0] != 42) {}
  check(words[0] == 42, "the write of the child");
  check(!ibv_destroy_qp(qp), "ibv_destroy_qp");
  tell(down[1], 0);
  check(waitpid(process, &status, 0) == process && !status, "the child");
  return 0;
}
