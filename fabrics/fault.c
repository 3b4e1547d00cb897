// A library for LD_PRELOAD: libfabric with a fault. Of two writes that an endpoint posts one after the other, the
// first one is sometimes handed to the provider after the second one. It shows that `litmus run --backend ofi`
// notices a provider that breaks FI_ORDER_WAW.
//
//   cc -shared -fPIC -O2 -Wall -Wextra -Werror fault.c -o fault.so
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ENDPOINTS 4096
/// How long a write is held back, if no other one follows.
#define HELD_NS 20000

/// An endpoint, and the write that it holds back.
struct end {
  struct fid_ep *ep;
  struct fi_ops_rma rma;
  const struct fi_ops_rma *real;
  int is_held;
  int is_overtaken;
  long since;
  struct fi_msg_rma msg;
  struct iovec iov;
  struct fi_rma_iov rma_iov;
  void *desc;
  uint64_t flags;
};

static struct end ends[ENDPOINTS];
static int known;
static unsigned chosen;
static unsigned long swapped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct fi_ops_fabric fabric_ops;
static const struct fi_ops_fabric *real_fabric;
static struct fi_ops_domain domain_ops;
static const struct fi_ops_domain *real_domain;
static struct fi_ops_cq cq_ops;
static const struct fi_ops_cq *real_cq;

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void release(struct end *end) {
  if (end->is_held && end->real->writemsg(end->ep, &end->msg, end->flags) != -FI_EAGAIN) end->is_held = 0;
}

static ssize_t writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags) {
  pthread_mutex_lock(&lock);
  struct end *end = ends;
  while (end < ends + known && end->ep != ep) end++;
  if (end == ends + known) abort();  // only endpoints that are known have this function
  ssize_t result = 0;
  if (!end->is_held && !(flags & (FI_INJECT | FI_FENCE)) && rand_r(&chosen) % 4 == 0) {
    end->msg = *msg;
    end->iov = *msg->msg_iov;
    end->rma_iov = *msg->rma_iov;
    end->desc = msg->desc ? *msg->desc : NULL;
    end->msg.msg_iov = &end->iov;
    end->msg.rma_iov = &end->rma_iov;
    end->msg.desc = &end->desc;
    end->flags = flags;
    end->since = now();
    end->is_held = 1;
    end->is_overtaken = 0;
  } else {
    result = end->real->writemsg(ep, msg, flags);
    if (!result && end->is_held && !end->is_overtaken) swapped++;
    if (!result && end->is_held) end->is_overtaken = 1;
    if (!result) release(end);
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static ssize_t cq_read(struct fid_cq *cq, void *entries, size_t count) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < known; i++)
    if (ends[i].is_held && now() - ends[i].since > HELD_NS) release(&ends[i]);
  pthread_mutex_unlock(&lock);
  return real_cq->read(cq, entries, count);
}

static int endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context) {
  int result = real_domain->endpoint(domain, info, ep, context);
  pthread_mutex_lock(&lock);
  // An endpoint that is closed may leave its address to another one.
  struct end *end = ends;
  while (!result && end < ends + known && end->ep != *ep) end++;
  if (!result && end < ends + ENDPOINTS) {
    if (end == ends + known) known++;
    *end = (struct end){.ep = *ep, .rma = *(*ep)->rma, .real = (*ep)->rma};
    end->rma.writemsg = writemsg;
    (*ep)->rma = &end->rma;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context) {
  int result = real_domain->cq_open(domain, attr, cq, context);
  if (!result) {
    real_cq = (*cq)->ops;
    cq_ops = *real_cq;
    cq_ops.read = cq_read;
    (*cq)->ops = &cq_ops;
  }
  return result;
}

static int domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context) {
  int result = real_fabric->domain(fabric, info, domain, context);
  if (!result) {
    real_domain = (*domain)->ops;
    domain_ops = *real_domain;
    domain_ops.endpoint = endpoint;
    domain_ops.cq_open = cq_open;
    (*domain)->ops = &domain_ops;
  }
  return result;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context) {
  static int (*real)(struct fi_fabric_attr *, struct fid_fabric **, void *);
  if (!real) {
    void *library = dlopen("libfabric.so.1", RTLD_NOW);
    *(void **)&real = library ? dlvsym(library, "fi_fabric", "FABRIC_1.1") : NULL;
    if (!real) return -FI_ENOSYS;
  }
  int result = real(attr, fabric, context);
  if (!result) {
    real_fabric = (*fabric)->ops;
    fabric_ops = *real_fabric;
    fabric_ops.domain = domain;
    (*fabric)->ops = &fabric_ops;
  }
  return result;
}

__attribute__((destructor)) static void at_end(void) {
  if (swapped) fprintf(stderr, "fault: %lu writes after their successor\n", swapped);
}
