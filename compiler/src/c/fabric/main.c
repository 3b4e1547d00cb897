/* -- from beginning to end -- */

static void usage(FILE *out, const char *name)
{
	fprintf(out, "%s is the litmus test %s, of %d nodes\n\n"
		"%s -n %d %s [options]\n\n"
		"  -n COUNT   instances of the test (%" PRIu64 ")\n"
		"  -r COUNT   instances from one start barrier to the next (%" PRIu64 ")\n"
		"  -D NS      random delays between statements, up to that (%" PRIu64 ")\n"
		"  -s SEED    of the random delays (the time)\n"
		"  -h         this\n\n"
		"Exit code: 0, or 1 if the model forbids a state that was seen, or 2 if something is wrong.\n",
		name, TEST, NODES, LAUNCHER, NODES, name, settings.iterations, settings.per_round, settings.delay);
	exit(out == stdout ? 0 : 2);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
	char *rest;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &rest, 10);
	if (errno || *rest || rest == text || *text == '-' || value < least || value > most) {
		fprintf(stderr, "%s: expected a number from %" PRIu64 " to %" PRIu64 ", found %s\n", TEST, least, most,
			text);
		exit(2);
	}
	return value;
}

static void read_options(int argc, char **argv)
{
	for (int option; (option = getopt(argc, argv, "n:r:D:s:h")) != -1;)
		switch (option) {
		case 'n': settings.iterations = number(optarg, 1, UINT64_MAX / 2); break;
		case 'r': settings.per_round = number(optarg, 1, UINT64_MAX); break;
		case 'D': settings.delay = number(optarg, 0, 1000000); break;
		case 's': settings.seed = number(optarg, 0, UINT64_MAX); break;
		case 'h': usage(stdout, argv[0]); break;
		default: usage(stderr, argv[0]);
		}
}

int main(int argc, char **argv)
{
	static uint64_t rows[BATCH][OBSERVED + 1], all[NODES * BATCH][OBSERVED + 1];
	struct thread thread = { .number = 0 };
	uint64_t start = nanoseconds();
	unsigned instances;
	size_t forbidden = 0;

	settings.seed = (uint64_t)time(NULL);
	read_options(argc, argv);
	begin(&argc, &argv);
	cpus_are_few = sysconf(_SC_NPROCESSORS_ONLN) < NODES;
	share_settings();
	for (int i = 0; i < THREADS; i++)
		if (threads[i].node == this_node)
			thread.number = i;
	thread.random = (settings.seed + (unsigned)this_node + 1) * 0x9e3779b97f4a7c15u | 1;
	for (uint64_t done = 0; done < settings.iterations; done += instances) {
		instances = settings.iterations - done < BATCH ? (unsigned)(settings.iterations - done) : BATCH;
		reset_memory();
		settle();
		run_batch(&thread, instances, rows);
		gather(rows, all, instances);
		if (this_node == 0)
			count_batch(all, instances);
	}
	if (this_node == 0)
		forbidden = print_histogram((double)(nanoseconds() - start) / 1e9);
	fflush(stdout);
	end();
	return forbidden ? 1 : 0;
}
