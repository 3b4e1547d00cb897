/* Random numbers, failures, and the memory that is registered. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How many objects of each kind a worker has at most. */
enum { PDS = 3, SLOTS = 16, CHANNELS = 2, CQS = 4, SRQS = 2, PAIRS = 8 };

/* What one worker tells the other: numbers of queue pairs, and remote keys. What a worker that is gone has
 * told stays. */
struct told {
  volatile uint32_t pairs[PAIRS], lid, keys[SLOTS], domains[PAIRS], domains_of_keys[SLOTS];
  volatile uint64_t addresses[SLOTS];
};

/* Where a worker is. The same seed, worker, generation and step give the same call, if the program's objects
 * are the same. */
static struct { uint64_t seed, worker, generation, step, calls; const char *doing; } at;
static struct told *told;
static uint64_t random_state;

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static uint64_t random_word(void) { return mix(random_state += 0x9e3779b97f4a7c15); }
static unsigned below(unsigned limit) { return (unsigned) (((random_word() >> 32) * limit) >> 32); }
static int chance(unsigned percent) { return below(100) < percent; }

/* Random numbers depend on the step only, not on how many were drawn before. */
static void begin_step(void) {
  at.step++;
  random_state = mix(mix(mix(at.seed + 1) + at.worker) + at.generation) + mix(at.step);
}

/* A number that programs get wrong: small, huge, negative, or any. */
static uint32_t wild(void) {
  static const uint32_t usual[] = { 0, 1, 2, 3, 7, 8, 31, 32, 255, 0x7fffffff, 0x80000000, 0xffffffff };
  return chance(70) ? usual[below(sizeof usual / sizeof *usual)] : (uint32_t) random_word();
}

/* A key that no region ever has. */
static uint32_t bad_key(void) { return 0xffffff00 | below(256); }

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *what, ...) {
  va_list rest;
  va_start(rest, what);
  fprintf(stderr, "fuzz: seed %lu, worker %lu, generation %lu, step %lu, %s: ", at.seed, at.worker,
    at.generation,
    at.step, at.doing);
  vfprintf(stderr, what, rest);
  fprintf(stderr, "\n");
  va_end(rest);
  abort();
}

/* Announces the next call. */
static void call(const char *name) {
  at.calls++;
  at.doing = name;
}

static void expect(int is_fine, const char *what) {
  if (!is_fine) fail("%s", what);
}

/* A function's error number must be this one. */
static void expect_code(int code, int wanted) {
  if (code != wanted) fail("expected %s, found %s", strerror(wanted), strerror(code));
}

/* Memory: each slot has at most one region, which covers a part of it. Everything else keeps its pattern.
 * There is no memory before the first slot and after the last. */
enum { SLOT = 16384 };
static unsigned char *memory;

struct region {
  struct ibv_mr *mr;
  unsigned from, to, pd;
  unsigned char pattern;
  int is_written;
};
static struct region regions[SLOTS];

static unsigned char *slot(unsigned index) { return memory + (size_t) index * SLOT; }

static void prepare_memory(void) {
  size_t page = 4096, length = (size_t) SLOTS * SLOT;
  unsigned char *all = mmap(NULL, length + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  at.doing = "mmap";
  expect(all != MAP_FAILED && !mprotect(all + page, length, PROT_READ | PROT_WRITE), "no memory");
  memory = all + page;
}

static void check_range(unsigned index, unsigned from, unsigned to) {
  const unsigned char *bytes = slot(index);
  for (unsigned byte = from; byte < to; byte++) {
    if (bytes[byte] != regions[index].pattern) fail("byte %u of slot %u was written", byte, index);
  }
}

/* Checks what may not have changed since the last call, and fills the slot anew. */
static void turn_slot(unsigned index) {
  struct region *region = &regions[index];
  unsigned from = region->is_written ? region->from : 0, to = region->is_written ? region->to : 0;
  check_range(index, 0, from);
  check_range(index, to, SLOT);
  region->pattern = (unsigned char) random_word();
  region->is_written = 0;
  memset(slot(index), region->pattern, SLOT);
}

/* Makes reads of a descriptor fail if there is nothing. */
static void do_not_wait(int fd) {
  int flags = fcntl(fd, F_GETFL);
  expect(flags >= 0 && !fcntl(fd, F_SETFL, flags | O_NONBLOCK), "fcntl");
}
