// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl combine: several profiles into one that can be relied on for all of them. Into a file
 * of the store's own form, or as text when its name ends in .txt.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "ctl.h"
#include "pathprof/combine.h"
#include "pathprof/profile.h"
#include "selector.h"
#include "side_text.h"
#include "text.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 32)

struct inputs {
	struct side sides[PATHPROF_COMBINE_MAX];
	const struct pathprof_distribution *distributions[PATHPROF_COMBINE_MAX];
	size_t cnt;
	long double total;
};

static void release(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->cnt; i++)
		side_release(&inputs->sides[i]);
	free(inputs);
}

/* The first input that was recorded; NULL: all are text. */
static const struct side *recorded(const struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->cnt; i++)
		if (inputs->sides[i].window_kind != PATHPROF_KIND_ANY)
			return &inputs->sides[i];
	return NULL;
}

static int check_kinds(const struct inputs *inputs)
{
	const struct side *first = recorded(inputs);
	int r = CTL_OK;

	for (size_t i = 0; first && r == CTL_OK && i < inputs->cnt; i++)
		r = side_check_kinds(first, &inputs->sides[i]);
	return r;
}

static int load(struct inputs *inputs, const struct ctl_options *options)
{
	for (int i = 0; i < options->argc; i++) {
		struct side *side = &inputs->sides[inputs->cnt];
		int r = selector_load(side, options, options->argv[i],
				      (enum side_kind)options->events);

		if (r)
			return r;
		inputs->distributions[inputs->cnt++] = &side->distribution;
		inputs->total += side->distribution.total;
	}
	return check_kinds(inputs);
}

/* The first side that has it. */
static const struct side_item *item_of(const struct inputs *inputs,
				       const struct pathprof_event *event,
				       const struct side **ret_side)
{
	for (size_t i = 0; i < inputs->cnt; i++) {
		const struct side_item *item =
			side_find(&inputs->sides[i], event->key_hi, event->key_lo);

		if (item) {
			*ret_side = &inputs->sides[i];
			return item;
		}
	}
	return NULL;
}

/* ---------------------------------------------------------------- text */

static void put_text(FILE *out, const struct inputs *inputs,
		     const struct pathprof_combined *combined)
{
	for (size_t i = 0; i < combined->cnt; i++) {
		const struct side *side;
		const struct side_item *item = item_of(inputs, &combined->events[i], &side);
		_cleanup_free_ char *key = item ? side_text_key(side, item) : NULL;

		if (key && combined->events[i].weight > 0)
			fprintf(out, "%s\t%.17g\n", key, combined->events[i].weight);
	}
}

static int write_text(const char *file, const struct inputs *inputs,
		      const struct pathprof_combined *combined)
{
	FILE *out = fopen(file, "we");

	if (!out)
		return ctl_fail("%s: %s", file, strerror(errno));
	put_text(out, inputs, combined);
	if (ferror(out) | fclose(out))
		return ctl_fail("%s: %s", file, strerror(errno));
	return CTL_OK;
}

/* ---------------------------------------------------------------- a profile file */

static uint32_t binary_in(struct pathprof_profile *profile, const struct side *side, uint32_t index)
{
	return pathprof_profile_binary(profile, &side->binaries[index].id,
				       side->binaries[index].name);
}

static void add_item(struct pathprof_profile *profile, uint32_t process, const struct side *side,
		     const struct side_item *item, uint64_t count)
{
	uint32_t binary = binary_in(profile, side, item->binary);

	if (side->kind == SIDE_PATHS) {
		const struct pathprof_path_count path = {
			.process = process,
			.binary = binary,
			.start = item->from,
			.length = item->length,
			.outcomes = item->outcomes,
			.samples = count,
			.weight = (double)count,
		};

		pathprof_profile_add_path(profile, &path);
	} else {
		const struct pathprof_edge_count edge = {
			.process = process,
			.from_binary = binary,
			.to_binary = binary_in(profile, side, item->to_binary),
			.from = item->from,
			.to = item->to,
			.count = count,
		};

		pathprof_profile_add_edge(profile, &edge);
	}
	profile->totals.paths += count;
}

/* Weights that are no counts become as many samples as all inputs have. */
static int fill(struct pathprof_profile *profile, const struct inputs *inputs,
		const struct pathprof_combined *combined, double factor)
{
	char comm[] = "combined", container[] = "";
	struct pathprof_process process = {
		.pid = 1, .comm = comm, .container = container, .binary = UINT32_MAX};
	uint32_t index = pathprof_profile_process(profile, &process);

	for (size_t i = 0; i < combined->cnt; i++) {
		const struct side *side;
		const struct side_item *item = item_of(inputs, &combined->events[i], &side);
		double count = round(combined->events[i].weight * factor);

		if (!item || !(count >= 1))
			continue;
		if (item->binary == SIDE_NO_BINARY)
			return ctl_fail("%s: '%s' is no place in a binary and fits no profile "
					"file: name the output *.txt",
					side->word, item->text);
		add_item(profile, index, side, item, (uint64_t)count);
	}
	return CTL_OK;
}

static void stamp(struct pathprof_profile *profile, const struct inputs *inputs)
{
	const struct side *first = recorded(inputs);
	struct timespec now;
	double per_burst = 1;

	clock_gettime(CLOCK_REALTIME, &now);
	profile->end_ns = (int64_t)now.tv_sec * CTL_NS_PER_S + now.tv_nsec;
	profile->begin_ns = profile->end_ns - CTL_NS_PER_S;
	profile->source = PATHPROF_SOURCE_STEP;
	profile->basis = first && first->window_kind == PATHPROF_KIND_BRANCHES
				 ? PATHPROF_BASIS_BRANCHES
				 : PATHPROF_BASIS_TIME;
	profile->horizon = first ? first->horizon : 0;
	for (size_t i = 0; i < inputs->cnt; i++)
		per_burst = fmax(per_burst, inputs->sides[i].per_burst);
	profile->totals.bursts = (uint64_t)((double)profile->totals.paths / per_burst) + 1;
}

static int write_window(const char *file, const struct pathprof_profile *profile,
			struct pathprof_error *error)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	int64_t id;
	int r = pathprof_store_open(&store, file, PATHPROF_STORE_WRITE, error);

	return r < 0 ? r : pathprof_store_add_window(store, profile, &id, error);
}

static int extract(const char *from, const char *file, struct pathprof_error *error)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	const struct pathprof_filter everything = {0};
	int r = pathprof_store_open(&store, from, PATHPROF_STORE_READ, error);

	return r < 0 ? r
		     : pathprof_store_extract(store, &everything, file, "pathprofctl combine", true,
					      error);
}

/* A database, and out of it the one file that can be copied as it is. */
static int write_profile(const char *file, const struct pathprof_profile *profile)
{
	static const char *const parts[] = {"", "-wal", "-shm", ".lock"};
	_cleanup_free_ char *beside = ctl_printf("%s.db", file);
	struct pathprof_error error = {""};
	int r = write_window(beside, profile, &error);

	if (r == 0)
		r = extract(beside, file, &error);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		_cleanup_free_ char *part = ctl_printf("%s%s", beside, parts[i]);

		(void)unlink(part);
	}
	return r < 0 ? ctl_fail_error(file, r, &error) : CTL_OK;
}

static int write_store(const char *file, const struct inputs *inputs,
		       const struct pathprof_combined *combined,
		       enum pathprof_combine_method method)
{
	struct pathprof_profile profile;
	struct pathprof_distribution all;
	int r = pathprof_distribution_init(&all, combined->events, combined->cnt);

	if (r == 0)
		r = pathprof_profile_init(&profile, PROFILE_BYTES_MAX);
	if (r < 0)
		return ctl_fail("%s: %s", file, strerror(-r));
	r = fill(&profile, inputs, combined,
		 method == PATHPROF_COMBINE_UNSCALED ? 1 : (double)(inputs->total / all.total));
	stamp(&profile, inputs);
	if (r == CTL_OK)
		r = write_profile(file, &profile);
	pathprof_profile_release(&profile);
	return r;
}

/* ---------------------------------------------------------------- together */

static bool is_text_name(const char *file)
{
	size_t len = strlen(file);

	return len > 4 && !strcmp(file + len - 4, ".txt");
}

static int write_out(const struct ctl_options *options, const struct inputs *inputs,
		     const struct pathprof_combined *combined, enum pathprof_combine_method method)
{
	const char *file = options->output;
	_cleanup_free_ char *beside = ctl_printf("%s.new", file);
	int r;

	(void)unlink(beside);
	r = is_text_name(file) ? write_text(beside, inputs, combined)
			       : write_store(beside, inputs, combined, method);
	if (r == CTL_OK && rename(beside, file) < 0)
		r = ctl_fail("%s: %s", file, strerror(errno));
	if (r)
		(void)unlink(beside);
	return r;
}

static void say_kl(const struct inputs *inputs, const struct pathprof_combined *combined)
{
	for (size_t i = 0; i < inputs->cnt; i++) {
		_cleanup_free_ char *word = text_escape(inputs->sides[i].word);

		printf("%s: lambda %.6f\n", word, combined->lambda[i]);
	}
	printf("no input is farther than %.6f bits\n", combined->distance_bits);
}

static int combine(const struct ctl_options *options, const struct inputs *inputs,
		   enum pathprof_combine_method method)
{
	struct pathprof_combined combined;
	int r = pathprof_combine(&combined, method, inputs->distributions, inputs->cnt,
				 options->events == SIDE_BRANCHES);

	if (r < 0)
		return ctl_fail("combine: %s", r == -ERANGE ? "a sum exceeds 2^64" : strerror(-r));
	r = write_out(options, inputs, &combined, method);
	if (r == CTL_OK && method == PATHPROF_COMBINE_KL)
		say_kl(inputs, &combined);
	free(combined.events);
	return r;
}

static int check(const struct ctl_options *options)
{
	if (options->argc < 2 || options->argc > PATHPROF_COMBINE_MAX)
		return ctl_usage(options, "2 to %d profiles are needed", PATHPROF_COMBINE_MAX);
	if (!options->output)
		return ctl_usage(options, "-o FILE is needed: what the profile is written to");
	if (options->events == SIDE_BRANCHES && !is_text_name(options->output))
		return ctl_usage(options,
				 "a profile file holds no branches: name the output *.txt");
	if (!options->replace && access(options->output, F_OK) == 0)
		return ctl_fail("%s: is there already: choose another name, or --replace it",
				options->output);
	return CTL_OK;
}

int cmd_combine(const struct ctl_options *options)
{
	enum pathprof_combine_method method = PATHPROF_COMBINE_UNSCALED;
	struct inputs *inputs;
	int r = check(options);

	if (r)
		return r;
	if (options->method)
		(void)pathprof_combine_method(options->method, &method);
	inputs = ctl_alloc(sizeof(*inputs));
	r = load(inputs, options);
	if (r == CTL_OK)
		r = combine(options, inputs, method);
	release(inputs);
	return r;
}
