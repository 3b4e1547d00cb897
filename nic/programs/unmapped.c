/* Memory that is unmapped or protected before it is deregistered, or whose file becomes shorter: a NIC has its pages
 * pinned, and the program goes on. Faults of the program itself still end it, and so do signals that are sent. */
#define _GNU_SOURCE
#include "../examples/verbs.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH (1 << 16)

enum ways { UNMAP, PROTECT, SHORTEN };

/* The NIC reads and writes 64 KB that are gone. What it reads is zero. */
static void access_what_is_gone(enum ways how) {
  int file = how == SHORTEN ? memfd_create("memory", 0) : -1;
  check(how != SHORTEN || (file >= 0 && !ftruncate(file, LENGTH)), "memfd_create");
  int flags = how == SHORTEN ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void *gone = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, flags, file, 0);
  struct ibv_mr *own = ibv_reg_mr(domain, gone, LENGTH, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  check(gone != MAP_FAILED && own, "ibv_reg_mr");
  struct ibv_qp *qp = connection();
  words[0] = 42;
  switch (how) {
  case UNMAP: check(!munmap(gone, LENGTH), "munmap"); break;
  case PROTECT: check(!mprotect(gone, LENGTH, PROT_NONE), "mprotect"); break;
  case SHORTEN: check(!ftruncate(file, 0), "ftruncate");
  }
  /* From it, and into it. */
  struct ibv_sge from = { .addr = (unsigned long) gone, .length = 4096, .lkey = own->lkey };
  struct ibv_sge here = { .addr = (unsigned long) words, .length = 4096, .lkey = region->lkey };
  struct ibv_send_wr *bad, write = { .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
    .wr.rdma = { .remote_addr = (unsigned long) words, .rkey = region->rkey } };
  check(!ibv_post_send(qp, &write, &bad), "ibv_post_send");
  for (int page = 0; page < LENGTH / 4096; page++) {
    struct ibv_send_wr into = { .sg_list = &here, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
      .wr.rdma = { .remote_addr = (unsigned long) gone + page * 4096, .rkey = own->rkey } };
    check(!ibv_post_send(qp, &into, &bad), "ibv_post_send");
  }
  await(qp, 1 + LENGTH / 4096);
  /* It may become visible after its completion. */
  for (int wait = 0; wait < 1000 && words[0]; wait++) usleep(1000);
  check(words[0] == 0, "what was read");
  check(!ibv_dereg_mr(own), "ibv_dereg_mr");
  if (file >= 0) close(file);
}

static sigjmp_buf back;

static void own_handler(int signal) { siglongjmp(back, signal); }

/* What ends a child that accesses a page that is not there, or that sends itself the signal. 100 more: its handler
 * was called. */
static int fault(int is_sent) {
  int status;
  volatile char *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(gone != MAP_FAILED && !munmap((void *) gone, 4096), "munmap");
  pid_t child = fork();
  if (!child) {
    if (sigsetjmp(back, 1)) _exit(SIGSEGV + 100);
    if (is_sent) raise(SIGSEGV);
    else *gone = 1;
    _exit(0);
  }
  check(child > 0 && waitpid(child, &status, 0) == child, "fork");
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int count, char **arguments) {
  int is_handled = count > 1 && is(arguments, "handled");
  if (is_handled) signal(SIGSEGV, own_handler);
  start(count, arguments, "plain|handled");
  access_what_is_gone(UNMAP);
  /* A handler of the program would be called: it may want to know. */
  if (!is_handled) access_what_is_gone(PROTECT);
  access_what_is_gone(SHORTEN);
  int expected = is_handled ? SIGSEGV + 100 : SIGSEGV;
  check(fault(0) == expected && fault(1) == expected, "a fault of the program's own");
  /* A program that goes on after a fault of its own. */
  if (is_handled && !sigsetjmp(back, 1)) raise(SIGSEGV);
  access_what_is_gone(UNMAP);
  return 0;
}
