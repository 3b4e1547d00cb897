/* Calls functions of libibverbs at random, many of them wrongly, and checks what the manual pages say: errors,
 * completions, events, and which memory may change. Two processes do so, and are each other's peers; the
 * second one dies again and again, in the middle of things, and another takes its place.
 *
 *     fuzz SEED CALLS      so many calls of the first process
 *
 * Handles are always good: with a bad one, the real library would crash, too. The seed fixes calls and
 * arguments, but not when the NIC's threads run. So a run is repeated only nearly. */
#include "base.h"
#include "objects.h"
#include "pairs.h"
#include "work.h"
#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

/* There with address sanitizer only. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated(void) {
  return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() :
    mallinfo2().uordblks;
}

static unsigned descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  unsigned count = 0;
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

static void ask(void) {
  struct ibv_device_attr attr;
  struct ibv_device_attr_ex more;
  struct ibv_gid_entry entries[8];
  uint16_t key;
  int index = (int) wild();
  call("ibv_query_device");
  expect_code(ibv_query_device(context, &attr), 0);
  call("ibv_query_device_ex");
  expect_code(ibv_query_device_ex(context, NULL, &more), 0);
  call("ibv_query_pkey");
  expect(!ibv_query_pkey(context, 1, index, &key) == !index, "another answer");
  call("ibv_query_gid_ex");
  expect(!ibv_query_gid_ex(context, 1, (uint32_t) index, entries, 0) == !index, "another answer");
  call("ibv_query_gid_table");
  expect(ibv_query_gid_table(context, entries, 8, 0) == 2, "another answer");
  call("ibv_wc_status_str and others");
  expect(ibv_wc_status_str((enum ibv_wc_status) index) && ibv_event_type_str((enum ibv_event_type) index) &&
    ibv_node_type_str((enum ibv_node_type) index) && ibv_port_state_str((enum ibv_port_state) index),
      "no text");
  call("ibv_rate_to_mbps and others");
  (void) ibv_rate_to_mbps(mbps_to_ibv_rate(index));
  (void) ibv_rate_to_mult(mult_to_ibv_rate(index));
  call("what is not supported");
  for (unsigned pd = 0; pd < PDS; pd++) {
    if (!domains[pd].pd) continue;
    struct ibv_alloc_dm_attr dm = { .length = 64 };
    errno = 0;
    expect(!ibv_alloc_mw(domains[pd].pd, IBV_MW_TYPE_1) && errno == EOPNOTSUPP, "memory windows");
    expect(!ibv_alloc_dm(context, &dm) && errno == EOPNOTSUPP, "device memory");
  }
}

static void step(void) {
  unsigned what = below(1000);
  if (what < 20) make_domain();
  else if (what < 22) end_domain(below(PDS));
  else if (what < 26) make_address();
  else if (what < 27) end_address(below(PDS), below(2));
  else if (what < 60) make_region();
  else if (what < 62) change_region();
  else if (what < 65) end_region(below(SLOTS));
  else if (what < 85) make_channel();
  else if (what < 87) end_channel(below(CHANNELS));
  else if (what < 105) make_queue();
  else if (what < 108) end_queue(below(CQS));
  else if (what < 112) resize_queue();
  else if (what < 150) arm_queue();
  else if (what < 170) take_event();
  else if (what < 185) take_async_event();
  else if (what < 195) make_shared();
  else if (what < 200) change_shared();
  else if (what < 202) end_shared(below(SRQS));
  else if (what < 240) make_pair();
  else if (what < 244) end_pair(below(PAIRS));
  else if (what < 350) change_pair();
  else if (what < 355) ask();
  else if (what < 600) post_sends();
  else if (what < 700) build_sends();
  else if (what < 800) post_receives();
  else if (what < 990) poll(below(CQS));
  else for (unsigned left = below(100); left > 0; left--) poll(below(CQS));
}

static void begin(void) {
  int count;
  at.doing = "ibv_open_device";
  struct ibv_device **devices = ibv_get_device_list(&count);
  expect(devices && count > 0, "no devices");
  context = ibv_open_device(devices[below((unsigned) count)]);
  expect(context != NULL, "it failed");
  do_not_wait(context->async_fd);
  ibv_free_device_list(devices);
  struct ibv_port_attr port;
  call("ibv_query_port");
  expect_code(ibv_query_port(context, 1, &port), 0);
  told[at.worker].lid = port.lid;
}

/* Destroys everything; users first, so every call must succeed. */
static void end(void) {
  for (unsigned pair = 0; pair < PAIRS; pair++) end_pair(pair);
  for (unsigned one = 0; one < SRQS; one++) end_shared(one);
  for (unsigned queue = 0; queue < CQS; queue++) poll(queue), end_queue(queue);
  for (unsigned channel = 0; channel < CHANNELS; channel++) end_channel(channel);
  for (unsigned region = 0; region < SLOTS; region++) end_region(region), turn_slot(region);
  for (unsigned pd = 0; pd < PDS; pd++) end_address(pd, 0), end_address(pd, 1), end_domain(pd);
  take_async_event();
  call("ibv_close_device");
  expect_code(ibv_close_device(context), 0);
}

static int is_operation(unsigned opcode) { return opcode < 7 || opcode == FLUSH || opcode == ATOMIC_WRITE; }

/* The first worker opens a device and closes it ten times. What it holds in between must not grow. */
static void work(uint64_t calls, int dies) {
  enum { PARTS = 10, BASE = 3 };
  size_t bytes = 0;
  unsigned files = 0, parts = dies ? 1 : PARTS;
  prepare_memory();
  for (unsigned part = 0; part < parts; part++) {
    alarm(300);
    begin_step();
    begin();
    while (at.calls < calls * (part + 1) / parts) {
      begin_step();
      step();
    }
    begin_step();
    if (dies && chance(70)) kill(getpid(), SIGKILL);
    end();
    if (part == BASE) bytes = allocated(), files = descriptors();
    if (!dies) fprintf(stderr, "fuzz: %lu calls, %zu KB, %u files\n", at.calls, allocated() >> 10,
      descriptors());
  }
  at.doing = "the end";
  if (dies) return;
  fprintf(stderr, "fuzz: %lu receives (%lu datagrams), %lu events; of each operation:", received,
    datagrams, events);
  for (unsigned one = 0; one < 16; one++) if (is_operation(one)) fprintf(stderr, " %lu", succeeded[one]);
  fprintf(stderr, "; of each status:");
  for (unsigned one = 0; one <= IBV_WC_RNR_RETRY_EXC_ERR; one++) fprintf(stderr, " %lu", failures[one]);
  fprintf(stderr, "\n");
  expect(calls < 100000 || datagrams > 0, "no datagram came");
  for (unsigned one = 0; one < 16; one++) expect(calls < 100000 || succeeded[one] > 0 || !is_operation(one),
    "an operation never succeeded");
  if (allocated() > bytes + (4 << 20)) fail("memory grew from %zu to %zu bytes", bytes, allocated());
  if (descriptors() > files + 8) fail("open files grew from %u to %u", files, descriptors());
}

static pid_t start(unsigned worker, uint64_t generation, uint64_t calls) {
  pid_t child = fork();
  if (child) return child;
  at.worker = worker, at.generation = generation;
  begin_step();
  work(worker ? 1000 + below(30000) : calls, worker == 1);
  exit(0);
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: fuzz SEED CALLS\n");
    return 64;
  }
  at.seed = strtoull(arguments[1], NULL, 0);
  told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t first = start(0, 0, strtoull(arguments[2], NULL, 0)), second = start(1, 0, 0);
  for (uint64_t generation = 1;; generation++) {
    int status;
    pid_t ended = wait(&status);
    int is_fine = (WIFEXITED(status) && !WEXITSTATUS(status)) || (ended == second && WIFSIGNALED(status) &&
      WTERMSIG(status) == SIGKILL);
    if (!is_fine || ended == first) {
      kill(ended == first ? second : first, SIGKILL);
      if (!is_fine) fprintf(stderr, "fuzz: process %s: status 0x%x\n", ended == first ? "0" : "1", status);
      return is_fine ? 0 : 1;
    }
    second = start(1, generation, 0);
  }
}
