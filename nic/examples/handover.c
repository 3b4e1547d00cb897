/* Hands data over with a flag: one thread writes both by RDMA, another waits for the flag and reads the data.
 *
 *   handover apart    the flag goes over another queue pair than the data: it may be seen first
 *   handover waited   it goes when the data's completion is there: still, it may be seen first
 *   handover flushed  it goes when a read of the data has completed, too: the read waits for the write
 *   handover along    both go over one queue pair, which keeps writes in their order
 *
 * Both sides are in one process, on the first device. Exits with 1 if data was not there. */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2000 };
static struct { _Atomic unsigned long data, flag, source[2], read, seen; } *words;
static unsigned long stale;

static void check(int is_fine, const char *what) {
  if (!is_fine) { perror(what); exit(2); }
}

static struct ibv_qp *make(struct ibv_pd *pd, struct ibv_cq *cq) {
  struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
    .cap = { .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
  struct ibv_qp *qp = ibv_create_qp(pd, &init);
  check(qp != NULL, "ibv_create_qp");
  return qp;
}

static void join(struct ibv_qp *qp, struct ibv_qp *peer) {
  struct ibv_port_attr port;
  union ibv_gid gid;
  check(!ibv_query_port(qp->context, 1, &port) && !ibv_query_gid(qp->context, 1, 0, &gid), "port");
  struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
  check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
  attr = (struct ibv_qp_attr) { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num, .max_dest_rd_atomic = 1,
    .ah_attr = { .dlid = port.lid, .port_num = 1, .is_global = !port.lid, .grh = { .dgid = gid, .hop_limit = 1 } } };
  check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "RTR");
  attr = (struct ibv_qp_attr) { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1 };
  check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

static void post(struct ibv_qp *qp, struct ibv_mr *mr, enum ibv_wr_opcode opcode, _Atomic unsigned long *here,
    _Atomic unsigned long *there) {
  struct ibv_sge sge = { .addr = (unsigned long) here, .length = 8, .lkey = mr->lkey };
  struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
    .wr.rdma = { .remote_addr = (unsigned long) there, .rkey = mr->rkey } }, *bad;
  check(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

static void wait_for(struct ibv_cq *cq, int count) {
  struct ibv_wc wc;
  while (count > 0) {
    int found = ibv_poll_cq(cq, 1, &wc);
    check(found >= 0 && (!found || wc.status == IBV_WC_SUCCESS), "completion");
    count -= found;
  }
}

static void *reader(void *unused) {
  for (unsigned long round = 1; round <= ROUNDS; round++) {
    while (words->flag != round) { }
    if (words->data != round && stale++ == 0) printf("round %lu: the flag is here, the data is not\n", round);
    words->seen = round;
  }
  return unused;
}

int main(int count, char **arguments) {
  int is_along = count == 2 && !strcmp(arguments[1], "along");
  int is_waited = count == 2 && !strcmp(arguments[1], "waited");
  int is_flushed = count == 2 && !strcmp(arguments[1], "flushed");
  if (!is_along && !is_waited && !is_flushed && (count != 2 || strcmp(arguments[1], "apart"))) {
    fprintf(stderr, "usage: %s apart|waited|flushed|along\n", arguments[0]);
    return 64;
  }
  struct ibv_device **devices = ibv_get_device_list(NULL);
  check(devices && devices[0], "no RDMA device");
  struct ibv_context *context = ibv_open_device(devices[0]);
  check(context != NULL, "ibv_open_device");
  struct ibv_pd *pd = ibv_alloc_pd(context);
  struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  words = aligned_alloc(4096, 4096);
  memset(words, 0, 4096);
  struct ibv_mr *mr = ibv_reg_mr(pd, words, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
    IBV_ACCESS_REMOTE_READ);
  check(pd && cq && mr, "resources");
  struct ibv_qp *pairs[4] = { make(pd, cq), make(pd, cq), make(pd, cq), make(pd, cq) };
  for (int i = 0; i < 4; i++) join(pairs[i], pairs[i ^ 1]);
  struct ibv_qp *for_data = pairs[0], *for_flag = pairs[is_along ? 0 : 2];
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  for (unsigned long round = 1; round <= ROUNDS; round++) {
    words->source[0] = words->source[1] = round;
    post(for_data, mr, IBV_WR_RDMA_WRITE, &words->source[0], &words->data);
    if (is_waited || is_flushed) wait_for(cq, 1);
    if (is_flushed) {
      post(for_data, mr, IBV_WR_RDMA_READ, &words->read, &words->data);
      wait_for(cq, 1);
    }
    post(for_flag, mr, IBV_WR_RDMA_WRITE, &words->source[1], &words->flag);
    wait_for(cq, is_waited || is_flushed ? 1 : 2);
    while (words->seen != round) { }
  }
  pthread_join(thread, NULL);
  printf("%lu of %d rounds read data that was not there\n", stale, ROUNDS);
  return stale > 0;
}
