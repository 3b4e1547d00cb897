/* What the examples share. Both ends of each connection are in one process, on the first device; so the
 * examples need no exchange of addresses, and a thread can look at the memory that the NIC writes.
 *
 * Each example takes the name of one of its variants, and for how many seconds it runs (2 without). It exits
 * with 1 if it found an error, and with 2 if a call failed. */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef _Atomic unsigned long word;

/* Registered memory, zero at the start. Examples name their words by where they are: `&words[0]`. */
static word *words;
static struct ibv_context *context;
static struct ibv_pd *domain;
static struct ibv_mr *region;
static time_t end;

static void check(int is_fine, const char *what) {
  if (!is_fine) { perror(what); exit(2); }
}

static inline int is_over(void) { return time(NULL) >= end; }

/* Whether the variant is `name`. */
static inline int is(char **arguments, const char *name) { return !strcmp(arguments[1], name); }

/* Opens the first device, and registers memory. `variants`: their names, with `|` between them. */
static void start(int count, char **arguments, const char *variants) {
  char name[64], all[256];
  snprintf(all, sizeof all, "|%s|", variants);
  snprintf(name, sizeof name, "|%s|", count > 1 ? arguments[1] : "");
  if (count < 2 || count > 3 || !strstr(all, name)) {
    fprintf(stderr, "usage: %s %s [SECONDS]\n", arguments[0], variants);
    exit(64);
  }
  struct ibv_device **devices = ibv_get_device_list(NULL);
  check(devices && devices[0], "no RDMA device");
  context = ibv_open_device(devices[0]);
  check(context != NULL, "ibv_open_device");
  domain = ibv_alloc_pd(context);
  words = aligned_alloc(4096, 4096);
  check(domain && words, "ibv_alloc_pd");
  memset(words, 0, 4096);
  region = ibv_reg_mr(domain, words, 4096,
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  check(region != NULL, "ibv_reg_mr");
  end = time(NULL) + (count > 2 ? atoi(arguments[2]) : 2);
}

static struct ibv_qp *make(struct ibv_cq *cq) {
  struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
    .cap = { .max_send_wr = 64, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1,
    .max_inline_data = 64 } };
  struct ibv_qp *qp = ibv_create_qp(domain, &init);
  check(qp != NULL, "ibv_create_qp");
  return qp;
}

static void join(struct ibv_qp *qp, struct ibv_qp *peer) {
  struct ibv_port_attr port;
  union ibv_gid gid;
  check(!ibv_query_port(context, 1, &port) && !ibv_query_gid(context, 1, 0, &gid), "port");
  struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };
  check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
    IBV_QP_ACCESS_FLAGS), "INIT");
  attr = (struct ibv_qp_attr) { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
    .dest_qp_num = peer->qp_num, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
    .ah_attr = { .dlid = port.lid, .port_num = 1, .is_global = !port.lid,
    .grh = { .dgid = gid, .hop_limit = 1 } } };
  check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "RTR");
  attr = (struct ibv_qp_attr) { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
    .max_rd_atomic = 4 };
  check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

/* A new connection: both ends, with this completion queue. */
static void connect_both(struct ibv_cq *cq, struct ibv_qp **qp, struct ibv_qp **peer) {
  *qp = make(cq);
  *peer = make(cq);
  join(*qp, *peer);
  join(*peer, *qp);
}

/* A new connection: the queue pair to post to. Its completion queue is its own. */
static inline struct ibv_qp *connection(void) {
  struct ibv_cq *cq = ibv_create_cq(context, 128, NULL, NULL, 0);
  check(cq != NULL, "ibv_create_cq");
  struct ibv_qp *qp, *peer;
  connect_both(cq, &qp, &peer);
  return qp;
}

static void post_request(struct ibv_qp *qp, struct ibv_send_wr wr, word *here, unsigned bytes) {
  struct ibv_sge sge = { .addr = (unsigned long) here, .length = bytes, .lkey = region->lkey };
  struct ibv_send_wr *bad;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  check(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

/* Posts a write of `here` to `there`, or a read of `there` into `here`, of some bytes. */
static inline void post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, word *here, word *there,
    unsigned bytes, int flags) {
  struct ibv_send_wr wr = { .opcode = opcode, .send_flags = flags,
    .wr.rdma = { .remote_addr = (unsigned long) there, .rkey = region->rkey } };
  post_request(qp, wr, here, bytes);
}

/* Posts a compare-and-swap or fetch-and-add of `there`; its old value goes to `here`. */
static inline void post_atomic(struct ibv_qp *qp, enum ibv_wr_opcode opcode, word *here, word *there,
    unsigned long compare_add, unsigned long swap) {
  struct ibv_send_wr wr = { .opcode = opcode, .wr.atomic = { .remote_addr = (unsigned long) there,
    .rkey = region->rkey, .compare_add = compare_add, .swap = swap } };
  post_request(qp, wr, here, 8);
}

/* Waits for the completions of `count` requests of a queue pair. */
static inline void await(struct ibv_qp *qp, int count) {
  struct ibv_wc wc;
  while (count > 0) {
    int found = ibv_poll_cq(qp->send_cq, 1, &wc);
    check(found >= 0 && (!found || wc.status == IBV_WC_SUCCESS), "completion");
    count -= found;
  }
}

/* Says what was found. The exit code of the example. */
static inline int report(unsigned long wrong, unsigned long rounds, const char *what) {
  printf("%lu of %lu rounds %s\n", wrong, rounds, what);
  return wrong > 0;
}
