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

static void print(const struct pathprof_path_popped *p)
{
	printf("0x%" PRIx64 " %" PRIu32 " 0x%" PRIx32 " %" PRIu64 "\n", p->start, p->length,
	       p->outcomes, p->events);
}

int lab_paths(int argc, char **argv)
{
	struct options o = {.settings = {.max_length = 32, .extensions = 1}};
	struct pathprof_path_stack *stack;
	struct pathprof_path_popped path;
	struct pathprof_branch branch;
	uint64_t events, branches = 0, paths = 0;
	struct lab_input in;

	parse_options(argc, argv, &o);
	if (pathprof_path_stack_new(&stack, &o.settings) < 0)
		lab_fail("out of memory");
	lab_input_init(&in, argv + optind, argc - optind);
	while (lab_input_next(&in)) {
		parse_branch(&in, &branch, &events);
		branches++;
		if (!pathprof_path_stack_step(stack, &branch, events, &path))
			continue;
		paths++;
		print(&path);
	}
	while (o.drain && pathprof_path_stack_drain(stack, &path)) {
		paths++;
		print(&path);
	}
	lab_input_release(&in);
	pathprof_path_stack_free(stack);
	lab_finish_output();
	fprintf(stderr, "# branches %" PRIu64 " paths %" PRIu64 "\n", branches, paths);
	return 0;
}
