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
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINE 64			/* bytes: a cache line. Each word has its own, but those of an array share theirs */
#define BATCH 1024		/* instances of the test between two resets of the memory */
#define DEPTH 64		/* requests under way per queue pair */
#define RECEIVES_AT_ONCE (RECEIVES > DEPTH ? RECEIVES : DEPTH)	/* that are posted and not complete */
#define PATIENCE 10		/* seconds until waiting for the NIC or another thread is an error */
#define LOOP_PATIENCE 1		/* seconds until an instance that loops, or waits for messages, is given up */
#define SECOND 1000000000ull	/* ns */

/* A link is a pair of connected queue pairs. The first end is a thread's and initiates; the second is at the node it
 * leads to. First come those of the test, then one per thread and node for the start barrier. */
#define LINKS (QUEUE_PAIRS + THREADS * NODES)
static int node_of_link(int link), thread_of_link(int link);

/* Whether a link is of the test, and not of the start barrier. */
static int is_of_test(int link)
{
	return link >= 0 && link < QUEUE_PAIRS;
}

/* The memory of a node, in lines: what the barriers need, then the words of all instances. */
#define ROUNDS 16				/* start barriers of a thread whose writes may be under way */
#define ARRIVAL 0				/* per thread, the start barriers that it has reached */
#define ROUND (ARRIVAL + THREADS)		/* per thread, what it writes there */
#define FLUSHED (ROUND + THREADS * ROUNDS)	/* per thread, where it reads into at the end of a batch, */
#define FLUSH (FLUSHED + THREADS)		/* and from */
#define FIRST_WORD (FLUSH + 1)
#define INSTANCE_LINES ((WORDS + 7) / 8)
#define MEMORY_LINES (FIRST_WORD + BATCH * INSTANCE_LINES)

/* ---- What statements do ------------------------------------------------------------------------------------- */

enum status { FINISHED, ASSUMED_FALSE, BLOCKED, GIVEN_UP };

#define UNUSED __attribute__((unused))	/* not every test needs it */

/* Completions that Polls may take: how many there are, how many they took or no longer may, and how many requests were
 * posted up to each of the last of them. On a queue pair that threads share, those of an instance of this batch. */
struct polls { uint64_t counted, polled, recent[DEPTH], batch; };

/* The initiating end of a connection. Most devices complete its requests in the order in which they were posted. Only
 * its thread uses it, unless threads share it. */
struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	uint64_t posted, completed;	/* requests since the beginning */
	uint64_t signaled;		/* how many were posted up to the last signaled one */
	uint64_t stands_for[DEPTH];	/* for how many the completion of each of the last stands */
	uint64_t first;			/* how many have completed before the first that has not */
	unsigned char is_done[DEPTH];	/* whether those from there on have completed */
	struct polls polls;
#if SHARED
	pthread_mutex_t lock;
	struct polls *of_instance;	/* if threads share it */
#endif
	int fence;			/* the next request carries IBV_SEND_FENCE */
	unsigned sent;			/* messages of this instance */
} __attribute__((aligned(LINE)));

/* The receiving end, if receives are posted there. Only the thread that posts and polls them uses it. */
struct inbox {
	uint64_t posted, completed;	/* receives since the beginning */
	uint64_t earlier;		/* how many of them were posted before this instance */
	unsigned came, polled;		/* how many of this instance's have completed, and were polled */
	struct { int is_empty, has_immediate; uint32_t immediate; } arrived[RECEIVES + 1];
};

/* A queue pair of the test: whose it is (if threads share it, the first one's), and where it leads; the thread there
 * that posts receives, how many for an instance, and their buffers. */
struct queue_pair { int thread, node, is_shared, receiver; unsigned receives; int buffers[RECEIVES + 1]; };
static const struct queue_pair queue_pairs[QUEUE_PAIRS + 1];

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
	struct inbox inboxes[QUEUE_PAIRS + 1];
};

struct thread {
	struct node *node;
	int number;			/* from 0 */
	unsigned instance;		/* which words it works on */
	unsigned instances;		/* how many there are in this batch */
	uint64_t round;			/* start barriers so far */
	uint64_t random, delay;		/* ns */
	uint64_t looping, loops;	/* since when, how often in this instance */
	uint64_t given_up;		/* instances */
	uint64_t batch;			/* its number */
	enum { SIGNALED, UNSIGNALED, UNSIGNALED_BUT_AWAITED } kind;	/* of the next request */
	uint64_t posted;		/* ends[].posted after the last request */
	uint64_t *turn;			/* where the next request leaves that, if somebody waits for it */
	uint64_t ids[WORK_IDS + 1][QUEUE_PAIRS + 1];	/* per work id: ends[].posted after its last request, or 0 */
	uint64_t (*rows)[OBSERVED + 1];	/* per instance: observed values, then the status */
	uint64_t *row;			/* this instance's */
	jmp_buf out;			/* where an instance goes on that ends within a statement, */
	enum status status;		/* and how it ended */
	int is_running;			/* whether an instance runs */
};

static __thread int this_node = -1;
static int cpus_are_few, verbose;
