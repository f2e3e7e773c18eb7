// SPDX-License-Identifier: GPL-2.0-or-later
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

#include "pathprof/paths.h"

struct options {
	struct pathprof_path_settings settings;
	bool drain;
};

/* The value of a word in a list of words, or a usage error. */
static unsigned int choose(const char *option, const char *word, const char *const *words)
{
	for (unsigned int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	lab_usage("%s: '%s' is none of its values", option, word);
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {{"map", required_argument, NULL, 'm'},
						     {"max-length", required_argument, NULL, 'l'},
						     {"extend", required_argument, NULL, 'e'},
						     {"extensions", required_argument, NULL, 'x'},
						     {"drain", no_argument, NULL, 'd'},
						     {0}};
	static const char *const maps[] = {"bl", "wpp", NULL};
	static const char *const extends[] = {"none", "loop", "call", NULL};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'm')
			o->settings.mapping = choose("--map", optarg, maps);
		else if (c == 'l')
			o->settings.max_length =
				(uint32_t)lab_option("--max-length", optarg, 1, 32);
		else if (c == 'e')
			o->settings.extend = choose("--extend", optarg, extends);
		else if (c == 'x')
			o->settings.extensions =
				(uint32_t)lab_option("--extensions", optarg, 0, UINT32_MAX);
		else if (c == 'd')
			o->drain = true;
		else
			lab_usage("paths: bad option");
	}
}

static uint32_t parse_kind(const struct lab_input *in)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} kinds[] = {{"cond", PERF_BR_COND}, {"jmp", PERF_BR_UNCOND},     {"ijmp", PERF_BR_IND},
		     {"call", PERF_BR_CALL}, {"icall", PERF_BR_IND_CALL}, {"ret", PERF_BR_RET}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(in->column[1], kinds[i].name) == 0)
			return kinds[i].kind;
	lab_malformed(in, "KIND '%s' is none of cond jmp ijmp call icall ret", in->column[1]);
}

static void parse_branch(const struct lab_input *in, struct pathprof_branch *b, uint64_t *events)
{
	lab_expect_columns(in, 5, 6, "FROM KIND TARGET TAKEN NEXT [EVENTS]");
	b->from = lab_hex(in, 0, "FROM");
	b->kind = parse_kind(in);
	b->target = lab_hex(in, 2, "TARGET");
	b->taken = (uint32_t)lab_decimal(in, 3, 1, "TAKEN");
	b->next = lab_hex(in, 4, "NEXT");
	*events = in->column_cnt > 5 ? lab_decimal(in, 5, UINT64_MAX, "EVENTS") : 1;
	if (!b->taken && b->kind != PERF_BR_COND)
		lab_malformed(in, "a %s that is not taken", in->column[1]);
}

struct cutting {
	struct pathprof_path_stack *stack; /* of the branches in text */
	struct lab_paths_feed traced;
	bool drain;
	uint64_t branch_cnt, path_cnt;
};

static void print(struct cutting *c, const struct pathprof_path_popped *p)
{
	c->path_cnt++;
	printf("0x%" PRIx64 " %" PRIu32 " 0x%" PRIx32 " %" PRIu64 "\n", p->start, p->length,
	       p->outcomes, p->events);
}

static void take_line(void *context, const struct lab_input *in)
{
	struct pathprof_path_popped path;
	struct pathprof_branch branch;
	struct cutting *c = context;
	uint64_t events;

	parse_branch(in, &branch, &events);
	c->branch_cnt++;
	if (pathprof_path_stack_step(c->stack, &branch, events, &path))
		print(c, &path);
}

static void drain_trace(struct cutting *c)
{
	struct pathprof_path_popped path;

	while (c->drain && lab_paths_drain(&c->traced, &path))
		print(c, &path);
	lab_paths_end(&c->traced);
}

static void take_stream(void *context, const struct pathprof_trace *trace, uint32_t stream)
{
	struct cutting *c = context;

	drain_trace(c);
	lab_paths_begin(&c->traced);
}

static void take_event(void *context, const struct pathprof_trace_event *event)
{
	struct pathprof_path_popped path;
	struct cutting *c = context;

	c->branch_cnt += event->type == PATHPROF_TRACE_EVENT_BRANCH;
	if (lab_paths_event(&c->traced, event, &path))
		print(c, &path);
}

int lab_paths(int argc, char **argv)
{
	struct options o = {.settings = {.max_length = 32, .extensions = 1}};
	struct cutting c = {0};
	const struct lab_feed feed = {take_line, take_stream, take_event, &c};
	struct pathprof_path_popped path;

	parse_options(argc, argv, &o);
	c.drain = o.drain;
	c.traced.settings = o.settings;
	if (pathprof_path_stack_new(&c.stack, &o.settings) < 0)
		lab_fail("out of memory");
	lab_feed(argv + optind, argc - optind, &feed);
	drain_trace(&c);
	while (o.drain && pathprof_path_stack_drain(c.stack, &path))
		print(&c, &path);
	pathprof_path_stack_free(c.stack);
	lab_finish_output();
	fprintf(stderr, "# branches %" PRIu64 " paths %" PRIu64 "\n", c.branch_cnt, c.path_cnt);
	return 0;
}
