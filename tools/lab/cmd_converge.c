// SPDX-License-Identifier: GPL-2.0-or-later
/* A convergent value profile of a stream, and what it costs against the full one (VP 6). */
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/convergent.h"

struct options {
	struct pathprof_convergent_rules rules;
	bool has_bounds;    /* --heuristic bounds */
	bool is_bound_told; /* --increase or --decrease was given */
};

/* One of two words is second. */
static bool parse_word(const char *option, const char *text, const char *first, const char *second)
{
	if (strcmp(text, first) != 0 && strcmp(text, second) != 0)
		lab_usage("%s: '%s' is neither %s nor %s", option, text, first, second);
	return strcmp(text, second) == 0;
}

static void parse_option(int c, struct options *o)
{
	struct pathprof_convergent_rules *r = &o->rules;

	if (c == 'n')
		r->entries = (uint32_t)lab_option("--entries", optarg, 2, UINT32_MAX);
	else if (c == 'c')
		r->clear = (uint32_t)lab_option("--clear", optarg, 1, UINT32_MAX);
	else if (c == 'i')
		r->interval = (uint32_t)lab_option("--interval", optarg, 1, UINT32_MAX);
	else if (c == 'h')
		o->has_bounds = parse_word("--heuristic", optarg, "increasing", "bounds");
	else if (c == 'u')
		r->increase = (uint32_t)lab_option("--increase", optarg, 0, 100);
	else if (c == 'd')
		r->decrease = (uint32_t)lab_option("--decrease", optarg, 0, 100);
	else if (c == 'b')
		r->backoff = (uint32_t)lab_option("--back-off", optarg, 0, UINT32_MAX);
	else if (c == 'r')
		r->random = true;
	else if (c == 's')
		r->seed = lab_option("--seed", optarg, 1, UINT64_MAX);
	else
		lab_usage("converge: bad option");
	o->is_bound_told |= c == 'u' || c == 'd';
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option long_options[] = {{"entries", required_argument, NULL, 'n'},
						     {"clear", required_argument, NULL, 'c'},
						     {"interval", required_argument, NULL, 'i'},
						     {"heuristic", required_argument, NULL, 'h'},
						     {"increase", required_argument, NULL, 'u'},
						     {"decrease", required_argument, NULL, 'd'},
						     {"back-off", required_argument, NULL, 'b'},
						     {"random", no_argument, NULL, 'r'},
						     {"seed", required_argument, NULL, 's'},
						     {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		parse_option(c, o);
	if (o->has_bounds)
		return;
	if (o->is_bound_told)
		lab_usage("converge: --increase and --decrease go with --heuristic bounds");
	o->rules.increase = 0;
	o->rules.decrease = 100;
}

static void take(struct pathprof_convergent *profile, uint64_t site, uint64_t value)
{
	if (pathprof_convergent_add(profile, site, value) < 0)
		lab_fail("out of memory");
}

static void take_line(void *context, const struct lab_input *in)
{
	lab_expect_columns(in, 2, 2, "SITE VALUE");
	take(context, lab_hex(in, 0, "SITE"), lab_hex(in, 1, "VALUE"));
}

static void take_stream(void *context, const struct pathprof_trace *trace, uint32_t stream)
{
	lab_tuples_expect(LAB_TUPLES_LOADS, trace);
}

static void take_event(void *context, const struct pathprof_trace_event *event)
{
	uint64_t site, value;

	if (lab_tuple_of(LAB_TUPLES_LOADS, event, &site, &value))
		take(context, site, value);
}

/* ---------------------------------------------------------------- the result */

static void print_site(const struct pathprof_convergent_site *s, uint32_t n)
{
	printf("0x%" PRIx64 " %" PRIu64 " %" PRIu64 " %.6f %.6f %.6f %.6f %.6f", s->site,
	       s->executed, s->convergent.profiled, (double)s->same / (double)s->executed,
	       pathprof_convergent_invariance(&s->convergent, 1),
	       pathprof_convergent_invariance(&s->convergent, n),
	       pathprof_convergent_invariance(&s->full, 1),
	       pathprof_convergent_invariance(&s->full, n));
	for (uint32_t i = 0; i < s->convergent.cnt; i++)
		printf(" 0x%" PRIx64 ":%" PRIu64, s->convergent.values[i].value,
		       s->convergent.values[i].count);
	putchar('\n');
}

struct rank {
	uint64_t executed, site;
	uint32_t number;
};

static int most_executed_first(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;

	if (a->executed != b->executed)
		return a->executed < b->executed ? 1 : -1;
	return (a->site > b->site) - (a->site < b->site);
}

static void print_sites(const struct pathprof_convergent *profile, uint32_t n)
{
	uint32_t cnt = pathprof_convergent_cnt(profile);
	struct rank *ranks = calloc((size_t)cnt + 1, sizeof(*ranks));
	struct pathprof_convergent_site site;

	if (!ranks)
		lab_fail("out of memory");
	for (uint32_t i = 0; i < cnt; i++) {
		pathprof_convergent_read(profile, i, &site);
		ranks[i] = (struct rank){site.executed, site.site, i};
	}
	qsort(ranks, cnt, sizeof(*ranks), most_executed_first);
	for (uint32_t i = 0; i < cnt; i++) {
		pathprof_convergent_read(profile, ranks[i].number, &site);
		print_site(&site, n);
	}
	free(ranks);
}

static void print_cost(const struct pathprof_convergent *profile)
{
	const struct pathprof_convergent_cost cost = pathprof_convergent_cost(profile);

	fprintf(stderr, "# sites %" PRIu32 " executions %" PRIu64 " profiled %" PRIu64 "\n",
		pathprof_convergent_cnt(profile), cost.executed, cost.profiled);
	fprintf(stderr, "# diff-1 %.6f diff-n %.6f find-1 %.6f find-n %.6f\n", cost.diff_1,
		cost.diff_n, cost.find_1, cost.find_n);
}

int lab_converge(int argc, char **argv)
{
	struct options o = {.rules = {.entries = 10,
				      .clear = 2000,
				      .interval = 2000,
				      .increase = 2,
				      .decrease = 4,
				      .backoff = 100,
				      .seed = 1}};
	struct pathprof_convergent *profile;
	struct pathprof_error error;
	struct lab_feed feed = {take_line, take_stream, take_event, NULL};

	parse_options(argc, argv, &o);
	if (pathprof_convergent_new(&profile, &o.rules, &error) < 0)
		lab_usage("converge: %s", error.text);
	feed.context = profile;
	lab_feed(argv + optind, argc - optind, &feed);
	print_sites(profile, o.rules.entries);
	lab_finish_output();
	print_cost(profile);
	pathprof_convergent_free(profile);
	return 0;
}
