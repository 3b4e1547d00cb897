#define _GNU_SOURCE
#include <infiniband/verbs.h>

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINE 64			/* bytes: each word has a cache line of its own */
#define BATCH 1024		/* instances of the test between two resets of the memory */
#define DEPTH 64		/* requests under way per queue pair */
#define PATIENCE 10		/* seconds until waiting for the NIC or another thread is an error */
#define LOOP_PATIENCE 1		/* seconds until an instance that loops is given up */

/* A link is a pair of connected queue pairs. The first end is a thread's and initiates; the second is at the node it
 * leads to. First come those of the test, then one per thread and node for the start barrier. */
#define LINKS (QUEUE_PAIRS + THREADS * NODES)
static int node_of_link(int link);

/* The memory of a node, in lines: what the barriers need, then the words of all instances. */
#define ROUNDS 16				/* start barriers of a thread whose writes may be under way */
#define ARRIVAL 0				/* per thread, the start barriers that it has reached */
#define ROUND (ARRIVAL + THREADS)		/* per thread, what it writes there */
#define FLUSHED (ROUND + THREADS * ROUNDS)	/* per thread, where it reads into at the end of a batch, */
#define FLUSH (FLUSHED + THREADS)		/* and from */
#define FIRST_WORD (FLUSH + 1)
#define MEMORY_LINES (FIRST_WORD + BATCH * WORDS)

/* ---- What statements do ------------------------------------------------------------------------------------- */

enum status { FINISHED, ASSUMED_FALSE, BLOCKED, GIVEN_UP };

#define UNUSED __attribute__((unused))	/* not every test needs it */

/* The initiating end of a connection. Requests of one connection complete in the order in which they were posted,
 * so two numbers say which are under way. Only its thread uses it. */
struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	uint64_t posted, completed;	/* requests since the beginning */
	uint64_t signaled;		/* how many were posted up to the last signaled one */
	uint64_t stands_for[DEPTH];	/* for how many the completion of each of the last stands */
	uint64_t counted, polled;	/* how many Polls may take, and how many they took or no longer may */
	uint64_t recent[DEPTH];		/* how many were posted up to each of the last of those */
	enum { SIGNALED, UNSIGNALED, UNSIGNALED_BUT_AWAITED } kind;	/* of the next request */
	int fence;			/* the next request carries IBV_SEND_FENCE */
} __attribute__((aligned(LINE)));

/* What a node tells the others. */
struct contact {
	uint32_t magic, node;
	uint64_t program;		/* PROGRAM: all must run the same one */
	uint64_t address;		/* of the node's memory */
	uint32_t key;
	uint32_t mtu;			/* enum ibv_mtu */
	uint32_t gid_type;
	uint32_t psn;			/* the first packet sequence number of its queue pairs */
	uint16_t lid, is_global;
	uint32_t reads_out, reads_in;	/* READs and atomics under way that it can begin and serve per queue pair */
	uint8_t gid[16];
	uint32_t first[LINKS], second[LINKS];	/* queue pair numbers of the two ends, if they are here */
};

struct node {
	int number;			/* from 0; messages count from 1 */
	int listener, sockets[NODES];	/* TCP: node 0 has one to each other, the others have one to node 0 */
	const char *host, *port;	/* of node 0 */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *region;
	char *memory;
	int gid_index;
	struct contact contacts[NODES];
	struct end ends[LINKS];
	struct ibv_qp *second[LINKS];	/* the ends that initiate nothing */
};

struct thread {
	struct node *node;
	int number;			/* from 0 */
	unsigned instance;		/* which words it works on */
	unsigned instances;		/* how many there are in this batch */
	uint64_t round;			/* start barriers so far */
	uint64_t random, delay;		/* ns */
	uint64_t looping, loops;	/* since when, how often in this instance */
	unsigned given_up;
	uint64_t ids[WORK_IDS + 1][QUEUE_PAIRS + 1];	/* per work id: ends[].posted after its last request, or 0 */
	uint64_t (*rows)[OBSERVED + 1];	/* per instance: observed values, then the status */
	uint64_t *row;			/* this instance's */
};

/* What the test says of the outcomes. */
enum claim_kind { ALLOWED, FORBIDDEN, REQUIRED };
static const char *const kind_names[] = { "Allowed", "Forbidden", "Required" };

struct claim {
	enum claim_kind kind;
	const char *text;
	int (*holds)(const uint64_t *values);
};

static __thread int this_node = -1;
static int cpus_are_few, verbose;
static struct { uint64_t iterations, seed, per_round, delay; } settings = { 10000, 0, PER_ROUND, 1000 };

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
	exit(2);
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

/* Stands in every waiting loop. Whether to go on waiting. */
static int patience(uint64_t *turns, uint64_t *start, uint64_t seconds)
{
	if (cpus_are_few)
		sched_yield();
	if (++*turns % 256)
		return 1;
	if (!*start)
		*start = nanoseconds();
	return nanoseconds() - *start < seconds * 1000000000;
}

/* A random time before a statement. Each instance has its own bound, often 0. Where CPUs are few, only another thread
 * that runs instead makes a difference. */
static void delay(struct thread *t)
{
	uint64_t end;

	if (!t->delay)
		return;
	if (cpus_are_few && next_random(t) >> 63)
		sched_yield();
	end = nanoseconds() + next_random(t) % t->delay;
	while (nanoseconds() < end)
		;
}

/* Where a word of an instance is, counted from the beginning of its node's memory. */
static uint64_t word_offset(unsigned instance, int word)
{
	return (FIRST_WORD + (uint64_t)instance * WORDS + (unsigned)word) * LINE;
}

static uint64_t *word_at(struct thread *t, int word)
{
	return (uint64_t *)(t->node->memory + word_offset(t->instance, word));
}

/* -- the CPU: single instructions (mov, lock cmpxchg, lock xadd, mfence), in the order of the program -- */

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

UNUSED static uint64_t cpu_cas(struct thread *t, int word, uint64_t expected, uint64_t desired)
{
	delay(t);
	__atomic_compare_exchange_n(word_at(t, word), &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return expected;
}

UNUSED static uint64_t cpu_faa(struct thread *t, int word, uint64_t addend)
{
	delay(t);
	return __atomic_fetch_add(word_at(t, word), addend, __ATOMIC_SEQ_CST);
}

UNUSED static uint64_t cpu_exchange(struct thread *t, int word, uint64_t value)
{
	delay(t);
	return __atomic_exchange_n(word_at(t, word), value, __ATOMIC_SEQ_CST);
}

UNUSED static void cpu_fence(struct thread *t)
{
	delay(t);
#ifdef __x86_64__
	__asm__ volatile ("mfence" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* -- the NIC: it reads the words of a put itself, unless the put is inline -- */

/* Takes completions from the queue, if there are any. */
static void reap(struct thread *t, int link)
{
	struct end *end = &t->node->ends[link];
	struct ibv_wc done[16];
	int count = ibv_poll_cq(end->cq, 16, done);

	if (count < 0)
		fail("ibv_poll_cq for thread %d to node %d failed", t->number + 1, node_of_link(link) + 1);
	for (int i = 0; i < count; i++)
		if (done[i].status != IBV_WC_SUCCESS)
			fail("request %" PRIu64 " of thread %d to node %d failed: %s (vendor error %#x)", done[i].wr_id,
			     t->number + 1, node_of_link(link) + 1, ibv_wc_status_str(done[i].status),
			     done[i].vendor_err);
	/* Counted, since some devices complete requests out of order. A completion also stands for the unsignaled
	 * requests before its own. */
	for (int i = 0; i < count; i++)
		end->completed += end->stands_for[done[i].wr_id % DEPTH];
}

/* Waits until that many requests have completed. */
static void await(struct thread *t, int link, uint64_t completed)
{
	uint64_t turns = 0, start = 0;

	while (t->node->ends[link].completed < completed) {
		reap(t, link);
		if (!patience(&turns, &start, PATIENCE))
			fail("thread %d has waited %d s for a completion from node %d", t->number + 1, PATIENCE,
			     node_of_link(link) + 1);
	}
}

/* Hands a request to the NIC, from and to places that are given as offsets in the nodes' memory. */
static void post(struct thread *t, int link, enum ibv_wr_opcode opcode, uint64_t local, uint64_t remote,
		 uint64_t compare_add, uint64_t swap, unsigned flags)
{
	struct end *end = &t->node->ends[link];
	const struct contact *target = &t->node->contacts[node_of_link(link)];
	struct ibv_sge sge = {
		.addr = (uintptr_t)t->node->memory + local, .length = 8, .lkey = t->node->region->lkey,
	};
	/* Requests without a completion fill the queue, and nothing would say that there is space again. */
	int signaled = end->kind != UNSIGNALED || end->posted + 1 - end->signaled >= DEPTH / 2;
	struct ibv_send_wr *bad, request = {
		.wr_id = end->posted, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = (signaled ? IBV_SEND_SIGNALED : 0) | flags | (end->fence ? IBV_SEND_FENCE : 0),
	};

	if (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_READ) {
		request.wr.rdma.remote_addr = target->address + remote;
		request.wr.rdma.rkey = target->key;
	} else {
		request.wr.atomic.remote_addr = target->address + remote;
		request.wr.atomic.rkey = target->key;
		request.wr.atomic.compare_add = compare_add;
		request.wr.atomic.swap = swap;
	}
	if (end->posted >= DEPTH)
		await(t, link, end->posted - DEPTH + 1);
	if (signaled) {
		end->stands_for[end->posted % DEPTH] = end->posted + 1 - end->signaled;
		end->signaled = end->posted + 1;
	}
	errno = ibv_post_send(end->qp, &request, &bad);
	if (errno)
		fail("ibv_post_send by thread %d to node %d: %m", t->number + 1, node_of_link(link) + 1);
	end->posted++;
	if (end->kind == SIGNALED)
		end->recent[end->counted++ % DEPTH] = end->posted;
	end->kind = SIGNALED;
	end->fence = 0;
}

/* The next request has no completion of its own. Where its word is used again, its completion is awaited. */
UNUSED static void unsignaled(struct thread *t, int link, int is_awaited)
{
	t->node->ends[link].kind = is_awaited ? UNSIGNALED_BUT_AWAITED : UNSIGNALED;
}

UNUSED static void rdma_write(struct thread *t, int link, int local, int remote)
{
	delay(t);
	post(t, link, IBV_WR_RDMA_WRITE, word_offset(t->instance, local), word_offset(t->instance, remote), 0, 0, 0);
}

/* The CPU copies the value into the request, so the NIC reads no word. */
UNUSED static void rdma_write_inline(struct thread *t, int link, int local, int remote)
{
	delay(t);
	post(t, link, IBV_WR_RDMA_WRITE, word_offset(t->instance, local), word_offset(t->instance, remote), 0, 0,
	     IBV_SEND_INLINE);
}

UNUSED static void rdma_read(struct thread *t, int link, int local, int remote)
{
	delay(t);
	post(t, link, IBV_WR_RDMA_READ, word_offset(t->instance, local), word_offset(t->instance, remote), 0, 0, 0);
}

UNUSED static void rdma_cas(struct thread *t, int link, int local, int remote, uint64_t expected, uint64_t desired)
{
	delay(t);
	post(t, link, IBV_WR_ATOMIC_CMP_AND_SWP, word_offset(t->instance, local), word_offset(t->instance, remote),
	     expected, desired, 0);
}

UNUSED static void rdma_faa(struct thread *t, int link, int local, int remote, uint64_t addend)
{
	delay(t);
	post(t, link, IBV_WR_ATOMIC_FETCH_AND_ADD, word_offset(t->instance, local),
	     word_offset(t->instance, remote), addend, 0, 0);
}

/* The value that the next request puts, in a word that only it uses. */
UNUSED static void set_source(struct thread *t, int word, uint64_t value)
{
	__atomic_store_n(word_at(t, word), value, __ATOMIC_RELAXED);
	COMPILER_BARRIER();
}

/* In loops, such values have several words that are used in turn: a word that the NIC may still have to read must not
 * be overwritten, or else it would look like a weak outcome. */
struct turn { unsigned next; uint64_t posted[COPIES]; };

UNUSED static int next_copy(struct thread *t, int link, struct turn *turn)
{
	unsigned copy = turn->next++ % COPIES;

	await(t, link, turn->posted[copy]);
	turn->posted[copy] = t->node->ends[link].posted + 1;
	return (int)copy;
}

/* Rfence: the next request waits until the NIC has the responses to all earlier READs and atomics. */
UNUSED static void remote_fence(struct thread *t, int link)
{
	delay(t);
	t->node->ends[link].fence = 1;
}

/* Poll: waits for the oldest signaled request of this instance that is not polled. Without any, it would wait
 * forever. Of the last DEPTH, those before have completed: no more are under way at once. */
UNUSED static int poll_one(struct thread *t, int link)
{
	struct end *end = &t->node->ends[link];

	delay(t);
	if (end->polled == end->counted)
		return 0;
	if (end->counted - end->polled <= DEPTH)
		await(t, link, end->recent[end->polled % DEPTH]);
	end->polled++;
	return 1;
}

/* The request posted last has this work id. */
UNUSED static void has_id(struct thread *t, int link, int id)
{
	t->ids[id][link] = t->node->ends[link].posted;
}

/* Wait: all requests with this work id, on any queue pair, have completed. */
UNUSED static void wait_for_id(struct thread *t, int id)
{
	delay(t);
	for (int link = 0; link < QUEUE_PAIRS; link++)
		await(t, link, t->ids[id][link]);
}

/* At the end of each turn of a loop. */
UNUSED static int goes_on(struct thread *t)
{
	return patience(&t->loops, &t->looping, LOOP_PATIENCE);
}
