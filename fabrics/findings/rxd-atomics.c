// Two endpoints of libfabric in one process, and fetch-and-adds from one to the other, one after the other. Over
// ofi_rxd (seen in 1.17), the second one ends the program in a segmentation fault (docs/findings.md).
//
//   cc -Wall -Wextra rxd-atomics.c -o rxd-atomics -lfabric && ./rxd-atomics 'udp;ofi_rxd'
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATOMICS 1000

static struct fi_info *info;
static struct fid_domain *domain;

struct end {
  struct fid_ep *ep;
  struct fid_cq *cq;
  struct fid_av *av;
  fi_addr_t peer;
};

static void check(const char *what, ssize_t result) {
  if (result >= 0) return;
  fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-result));
  exit(2);
}

static void open_end(struct end *end) {
  struct fi_cq_attr cq = {.size = 64, .format = FI_CQ_FORMAT_CONTEXT};
  struct fi_av_attr av = {.type = FI_AV_TABLE, .count = 1};

  check("fi_cq_open", fi_cq_open(domain, &cq, &end->cq, NULL));
  check("fi_av_open", fi_av_open(domain, &av, &end->av, NULL));
  check("fi_endpoint", fi_endpoint(domain, info, &end->ep, NULL));
  check("fi_ep_bind", fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
  check("fi_ep_bind", fi_ep_bind(end->ep, &end->av->fid, 0));
  check("fi_enable", fi_enable(end->ep));
}

static void meet(struct end *end, struct end *peer) {
  char name[256];
  size_t length = sizeof name;

  check("fi_getname", fi_getname(&peer->ep->fid, name, &length));
  check("fi_av_insert", fi_av_insert(end->av, name, 1, &end->peer, 0, NULL) - 1);
}

int main(int argc, char **argv) {
  static uint64_t words[8];
  struct fid_fabric *fabric;
  struct fid_mr *mr;
  struct fi_context2 context;
  struct end from, to;
  struct fi_info *hints = fi_allocinfo();
  uint64_t one = 1, base;
  ssize_t result;
  void *done;

  hints->caps = FI_RMA | FI_ATOMIC;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->fabric_attr->prov_name = strdup(argc > 1 ? argv[1] : "udp;ofi_rxd");
  check("fi_getinfo", fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &info));
  check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
  check("fi_domain", fi_domain(fabric, info, &domain, NULL));
  open_end(&from);
  open_end(&to);
  meet(&from, &to);
  meet(&to, &from);
  check("fi_mr_reg", fi_mr_reg(domain, words, sizeof words, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr, NULL));
  base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)words : 0;

  for (int i = 0; i < ATOMICS; i++) {
    do {
      result = fi_fetch_atomic(from.ep, &one, 1, NULL, &words[4], NULL, from.peer, base, fi_mr_key(mr), FI_UINT64, FI_SUM, &context);
      fi_cq_read(from.cq, NULL, 0);
      fi_cq_read(to.cq, NULL, 0);
    } while (result == -FI_EAGAIN);
    check("fi_fetch_atomic", result);
    do {
      fi_cq_read(to.cq, NULL, 0);
      result = fi_cq_read(from.cq, &done, 1);
    } while (result == -FI_EAGAIN);
    check("fi_cq_read", result);
  }
  printf("%s: %d atomics, the word is %llu\n", info->fabric_attr->prov_name, ATOMICS, (unsigned long long)words[0]);
  return words[0] == ATOMICS ? 0 : 1;
}
