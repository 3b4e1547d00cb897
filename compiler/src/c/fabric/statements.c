#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE 64			/* bytes: each word has a cache line of its own */
#define BATCH 256		/* instances of the test between two resets of the memory */
#define SPREAD 64		/* times the delay: how far apart threads start a round */
#define LOOP_PATIENCE 1		/* seconds until an instance that loops is given up */

/* ---- What statements do ------------------------------------------------------------------------------------- */

enum status { FINISHED, ASSUMED_FALSE, BLOCKED, GIVEN_UP };

#define UNUSED __attribute__((unused))	/* not every test needs it */

struct thread {
	int number;			/* from 0 */
	unsigned instance;		/* which words it works on */
	uint64_t random, delay;		/* ns */
	uint64_t looping, loops;	/* since when, how often in this instance */
	unsigned given_up;
	uint64_t issued[NODES], polled[NODES];	/* operations towards a node, and Polls of them */
	unsigned char ids[WORK_IDS + 1][NODES];	/* whether an operation with that work id went to the node */
	uint64_t *row;			/* this instance's observed values, then its status */
};

/* What the test says of the outcomes. */
enum claim_kind { ALLOWED, FORBIDDEN, REQUIRED };
static const char *const kind_names[] = { "Allowed", "Forbidden", "Required" };

struct claim {
	enum claim_kind kind;
	const char *text;
	int (*holds)(const uint64_t *values);
};

static int this_node = -1;		/* from 0 */
static char *memory;			/* of this node: the words of all instances */
static int cpus_are_few;
static struct { uint64_t iterations, seed, per_round, delay; } settings = { 10000, 0, PER_ROUND, 1000 };

static void stop_all(int code) __attribute__((noreturn));
static void make_progress(void);

/* Exit code 2: something is wrong that is not the memory model. */
__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	char text[500];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	fflush(stdout);
	if (this_node >= 0)
		fprintf(stderr, "%s: node %d: %s\n", TEST, this_node + 1, text);
	else
		fprintf(stderr, "%s: %s\n", TEST, text);
	stop_all(2);
}

static uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t next_random(struct thread *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

/* A time in which others may do something, and in which what they do to this process's memory may be done. */
static void pause_for(uint64_t time)
{
	uint64_t end = nanoseconds() + time;

	do {
		make_progress();
		if (cpus_are_few)
			sched_yield();
	} while (nanoseconds() < end);
}

/* A random time before a statement. Each instance has its own bound, often 0. */
static void delay(struct thread *t)
{
	if (t->delay)
		pause_for(next_random(t) % t->delay);
}

/* At the end of each turn of a loop. */
UNUSED static int goes_on(struct thread *t)
{
	make_progress();
	if (++t->loops % 256)
		return 1;
	if (!t->looping)
		t->looping = nanoseconds();
	return nanoseconds() - t->looping < LOOP_PATIENCE * 1000000000ull;
}

/* The number of a word of this instance: the same at every node. */
static uint64_t place(struct thread *t, int word)
{
	return (uint64_t)t->instance * WORDS + (unsigned)word;
}

static uint64_t *word_at(struct thread *t, int word)
{
	return (uint64_t *)(memory + place(t, word) * LINE);
}

/* -- the CPU: single instructions, in the order of the program -- */

#define COMPILER_BARRIER() __asm__ volatile ("" ::: "memory")

UNUSED static uint64_t cpu_read(struct thread *t, int word)
{
	uint64_t value;

	delay(t);
	COMPILER_BARRIER();
	value = __atomic_load_n(word_at(t, word), __ATOMIC_RELAXED);
	COMPILER_BARRIER();
	return value;
}

UNUSED static void cpu_write(struct thread *t, int word, uint64_t value)
{
	delay(t);
	COMPILER_BARRIER();
	__atomic_store_n(word_at(t, word), value, __ATOMIC_RELAXED);
	COMPILER_BARRIER();
}

/* The value that the next put sends, in a word that only it uses. */
UNUSED static void set_source(struct thread *t, int word, uint64_t value)
{
	__atomic_store_n(word_at(t, word), value, __ATOMIC_RELAXED);
	COMPILER_BARRIER();
}

/* The operation that was called last has this work id. */
UNUSED static void has_id(struct thread *t, int node, int id)
{
	t->ids[id][node] = 1;
}

