
/* What the test says of the outcomes. */
enum claim_kind { ALLOWED, FORBIDDEN, REQUIRED };
static const char *const kind_names[] = { "Allowed", "Forbidden", "Required" };

struct claim {
	enum claim_kind kind;
	const char *text;
	int (*holds)(const uint64_t *values);
};

static struct { uint64_t iterations, seed, per_round, delay; } settings = { 10000, 0, PER_ROUND, 1000 };

/* How the program ends, and what differs between kinds of machines. */
static void stop_all(int code) __attribute__((noreturn));
static void delay(struct thread *t);
static uint64_t *word_at(struct thread *t, int word);

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

/* -- the CPU: single instructions (on x86: mov, lock cmpxchg, lock xadd, mfence), in the order of the program -- */

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

/* The value that the next request puts, in a word that only it uses. */
UNUSED static void set_source(struct thread *t, int word, uint64_t value)
{
	__atomic_store_n(word_at(t, word), value, __ATOMIC_RELAXED);
	COMPILER_BARRIER();
}

