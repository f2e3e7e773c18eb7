// SPDX-License-Identifier: GPL-2.0-or-later
/* Conditions that kept a profile out: see pgo_why.h. */
#include "pgo_why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pathprof/fleet.h"
#include "pathprof/parcel_store.h"

#define WORDS_MAX 8
#define DIGITS    12 /* of a build-id that are shown */

/* Names, each once, at most WORDS_MAX. */
struct words {
	char *list[WORDS_MAX];
	size_t cnt;
	bool has_more;
};

/* A question without one of its conditions. */
struct question {
	struct pathprof_store *store;
	const struct hub_options *options;
	struct pathprof_filter filter;
	const char *program;
	struct pathprof_releases releases; /* what it finds */
};

/* ---------------------------------------------------------------- words */

static void add_word(struct words *words, const char *text)
{
	char *copy;

	for (size_t i = 0; i < words->cnt; i++)
		if (strcmp(words->list[i], text) == 0)
			return;
	copy = words->cnt < WORDS_MAX ? strdup(text) : NULL;
	words->has_more |= !copy;
	if (copy)
		words->list[words->cnt++] = copy;
}

static void print_words(FILE *out, struct words *words)
{
	for (size_t i = 0; i < words->cnt; i++) {
		fprintf(out, "%s%s", i ? ", " : "", words->list[i]);
		free(words->list[i]);
	}
	fputs(words->has_more ? " and others" : "", out);
}

/* ---------------------------------------------------------------- what there is */

static int print_releases(FILE *out, struct question *question, struct pathprof_error *error)
{
	struct words words = {.cnt = 0};

	(void)error;
	for (size_t i = 0; i < question->releases.cnt; i++) {
		char id[PATHPROF_BUILD_ID_TEXT_LEN];

		pathprof_build_id_text(&question->releases.list[i].id, id);
		id[DIGITS] = 0;
		add_word(&words, id);
	}
	fprintf(out, "; it ran, but no build release=%s: there is ", question->options->release);
	print_words(out, &words);
	return 0;
}

static int take_workload(void *context, const struct pathprof_process_row *row)
{
	add_word(context, *row->container ? row->container : row->comm);
	return 0;
}

static int print_workloads(FILE *out, struct question *question, struct pathprof_error *error)
{
	struct words words = {.cnt = 0};
	int r;

	if (!question->filter.binary)
		question->filter.binary = question->program;
	r = pathprof_store_processes(question->store, &question->filter, take_workload, &words,
				     error);
	fprintf(out, "; it ran, but not in workload=%s: it did in ", question->options->workload);
	print_words(out, &words);
	return r < 0 ? r : 0;
}

static int take_labels(void *context, const struct pathprof_host_row *row)
{
	add_word(context, row->host.labels[0] ? row->host.labels : "no labels");
	return 0;
}

static int print_labels(FILE *out, struct question *question, struct pathprof_error *error)
{
	struct words words = {.cnt = 0};
	int r = pathprof_store_hosts(question->store, NULL, take_labels, &words, error);

	fprintf(out, "; it ran, but on no host with %s: there are hosts with ",
		question->options->labels);
	print_words(out, &words);
	return r < 0 ? r : 0;
}

static int take_host(void *context, const struct pathprof_host_row *row)
{
	add_word(context, row->host.name);
	return 0;
}

static int print_hosts(FILE *out, struct question *question, struct pathprof_error *error)
{
	struct words words = {.cnt = 0};
	int r = pathprof_store_hosts(question->store, NULL, take_host, &words, error);

	fprintf(out, "; it ran, but not on host=%s: there is ", question->options->host);
	print_words(out, &words);
	return r < 0 ? r : 0;
}

/* The form of since= and until=: whole seconds, outwards. */
static int print_span(FILE *out, struct question *question, struct pathprof_error *error)
{
	const struct pathprof_releases *releases = &question->releases;
	int64_t first_ns = releases->list[0].first_seen_ns;
	int64_t last_ns = releases->list[0].last_seen_ns;

	(void)error;
	for (size_t i = 1; i < releases->cnt; i++) {
		const struct pathprof_release *release = &releases->list[i];

		first_ns = release->first_seen_ns < first_ns ? release->first_seen_ns : first_ns;
		last_ns = release->last_seen_ns > last_ns ? release->last_seen_ns : last_ns;
	}
	fprintf(out, "; it ran before or after: there is since=%" PRId64 " until=%" PRId64,
		first_ns / (int64_t)PP_NSEC_PER_SEC, last_ns / (int64_t)PP_NSEC_PER_SEC + 1);
	return 0;
}

/* ---------------------------------------------------------------- conditions, one by one */

/* Each of these removes one condition. Returns false if the question did not have it. */
static bool drop_release(struct question *question)
{
	bool is_there = question->options->release && question->program;

	if (is_there)
		question->filter.binary = NULL;
	return is_there;
}

static bool drop_text(const char **text)
{
	bool is_there = *text;

	*text = NULL;
	return is_there;
}

static bool drop_workload(struct question *question)
{
	return drop_text(&question->filter.workload);
}

static bool drop_labels(struct question *question)
{
	return drop_text(&question->filter.labels);
}

static bool drop_host(struct question *question)
{
	return drop_text(&question->filter.host);
}

static bool drop_span(struct question *question)
{
	question->filter.since_ns = 0;
	question->filter.until_ns = 0;
	return true;
}

static const struct condition {
	bool (*drop)(struct question *question);
	int (*print)(FILE *out, struct question *question, struct pathprof_error *error);
} conditions[] = {
	{drop_release, print_releases}, {drop_workload, print_workloads},
	{drop_labels, print_labels},    {drop_host, print_hosts},
	{drop_span, print_span},
};

static int load(struct question *question, struct pathprof_error *error)
{
	return pathprof_releases_load(&question->releases, question->store, &question->filter,
				      question->program, error);
}

/* Returns 1 if it was this condition, and what would match was printed. */
static int try_without(FILE *out, const struct question *whole, const struct condition *condition,
		       struct pathprof_error *error)
{
	struct question question = *whole;
	int r = 0;

	if (!condition->drop(&question))
		return 0;
	r = load(&question, error);
	if (r == 0 && question.releases.cnt) {
		r = condition->print(out, &question, error);
		r = r < 0 ? r : 1;
	}
	pathprof_releases_release(&question.releases);
	return r;
}

/* No single condition is the reason: drops all of them. */
static int print_together(FILE *out, const struct question *whole, struct pathprof_error *error)
{
	struct question question = *whole;
	int r;

	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		conditions[i].drop(&question);
	r = load(&question, error);
	if (r == 0)
		fputs(question.releases.cnt
			      ? "; it ran, and more than one condition keeps it out: ask with fewer"
			      : "; nor did any at another time that this hub keeps: a path is as "
				"on "
				"the hosts, a build-id as readelf -n prints it",
		      out);
	pathprof_releases_release(&question.releases);
	return r;
}

int hub_pgo_why(FILE *out, struct pathprof_store *store, const struct hub_options *options,
		const struct pathprof_filter *filter, const char *program,
		struct pathprof_error *error)
{
	const struct question whole = {
		.store = store, .options = options, .filter = *filter, .program = program};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(conditions) / sizeof(conditions[0]); i++)
		r = try_without(out, &whole, &conditions[i], error);
	if (r == 0)
		r = print_together(out, &whole, error);
	return r < 0 ? r : 0;
}
