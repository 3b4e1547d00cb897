/* -- the histogram, at node 0 -- */

struct state { uint64_t values[OBSERVED + 1], count; };

static struct state *states;
static size_t state_count;
static uint64_t unfinished[GIVEN_UP + 1];	/* per status, instances without an outcome */

static int compare_states(const void *one, const void *other)
{
	for (int k = 0; k < OBSERVED; k++) {
		uint64_t a = ((const uint64_t *)one)[k], b = ((const uint64_t *)other)[k];

		if (a != b)
			return a < b ? -1 : 1;
	}
	return 0;
}

static void count_state(const uint64_t *values)
{
	size_t low = 0, high = state_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare_states(values, states[middle].values);

		if (order == 0) {
			states[middle].count++;
			return;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	states = realloc(states, (state_count + 1) * sizeof *states);
	if (!states)
		fail("no memory for %zu states", state_count + 1);
	memmove(&states[low + 1], &states[low], (state_count - low) * sizeof *states);
	memcpy(states[low].values, values, sizeof states[low].values);
	states[low].count = 1;
	state_count++;
}

static void count_batch(uint64_t (*rows)[OBSERVED + 1], unsigned instances)
{
	for (unsigned i = 0; i < instances; i++) {
		enum status status = FINISHED;
		uint64_t values[OBSERVED + 1] = { 0 };

		for (int node = 0; node < NODES; node++) {
			const uint64_t *row = rows[(unsigned)node * instances + i];

			for (int k = 0; k < OBSERVED; k++)
				values[k] |= row[k];
			if (row[OBSERVED] > status)
				status = (enum status)row[OBSERVED];
		}
		if (status == FINISHED)
			count_state(values);
		else
			unfinished[status]++;
	}
}

static void print_claims(void)
{
	for (const struct claim *claim = claims; claim->text; claim++) {
		uint64_t positive = 0, negative = 0;
		int holds;

		for (size_t i = 0; i < state_count; i++)
			*(claim->holds(states[i].values) ? &positive : &negative) += states[i].count;
		holds = claim->kind == ALLOWED ? positive > 0 : claim->kind == FORBIDDEN ? !positive : !negative;
		printf("\n%s\nWitnesses\nPositive: %" PRIu64 " Negative: %" PRIu64 "\n", holds ? "Ok" : "No", positive,
		       negative);
		printf("Condition %s (%s)\nObservation %s %s %" PRIu64 " %" PRIu64 "\n", claim->text, kind_names[claim->kind],
		       TEST, !positive ? "Never" : negative ? "Sometimes" : "Always", positive, negative);
	}
}

static void print_value(int k, uint64_t value)
{
	const char *end = k + 1 < OBSERVED ? " " : "";

	if (value == BOTTOM)
		printf("%s=⊥;%s", observed[k].name, end);
	else
		printf("%s=%" PRIu64 ";%s", observed[k].name, value, end);
}

/* As litmus7 prints it. Returns how many states the model forbids. */
static size_t print_histogram(double seconds)
{
	size_t forbidden = 0;

	printf("Test %s%s%s\n", TEST, claims[0].text ? " " : "", claims[0].text ? kind_names[claims[0].kind] : "");
	printf("Histogram (%zu states)\n", state_count);
	for (size_t i = 0; i < state_count; i++) {
		int is_forbidden = JUDGED && !bsearch(states[i].values, allowed, ALLOWED_STATES, sizeof allowed[0],
						      compare_states);

		printf("%-8" PRIu64 "%s", states[i].count, is_forbidden ? "*>" : ":>");
		for (int k = 0; k < OBSERVED; k++)
			print_value(k, states[i].values[k]);
		printf("%s%s\n", is_forbidden ? " forbidden by " : "", is_forbidden ? MODEL : "");
		forbidden += is_forbidden ? 1 : 0;
	}
	for (int status = ASSUMED_FALSE; status <= GIVEN_UP; status++)
		if (unfinished[status])
			printf("%-8" PRIu64 "%s\n", unfinished[status],
			       status == ASSUMED_FALSE ? "do not count: an assumption was false" :
			       status == BLOCKED ? "blocked" : "given up after too long");
	print_claims();
	printf("\n");
	if (JUDGED)
		printf("Model %s: %zu of %zu observed states forbidden\n", MODEL, forbidden, state_count);
	else
		printf("Not judged: %s\n", NOT_JUDGED);
	printf("Time %s %.2f\nParameters seed %" PRIu64 ", %" PRIu64 " instances, %" PRIu64 " per round, delays to %"
	       PRIu64 " ns\n", TEST, seconds, settings.seed, settings.iterations, settings.per_round, settings.delay);
	return forbidden;
}

