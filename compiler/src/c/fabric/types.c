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

static int this_node = -1;		/* from 0 */
static char *memory;			/* of this node: the words of all instances */
static int cpus_are_few;

static void make_progress(void);
