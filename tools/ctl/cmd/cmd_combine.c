// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl combine: several profiles into one that can be relied on for all of them. Into a file
 * of the store's own form, or as text: on standard output, and when the name ends in .txt.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../compare/combine_losses.h"
#include "../compare/selector.h"
#include "../compare/side_load.h"
#include "../ctl.h"
#include "../scratch.h"
#include "../text/cleanup.h"
#include "../text/output.h"
#include "../text/text.h"
#include "base/clock.h"
#include "pathprof/combine.h"
#include "pathprof/profile.h"

#define PROFILE_BYTES_MAX ((size_t)1 << 32)
#define LOST_MIN          0.001 /* share of the weight; less is not reported */

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
		if (inputs->sides[i].measure.kind != PATHPROF_KIND_ANY)
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

/* Returns the event's item in the first side that has it. */
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

static void write_text(FILE *out, const struct inputs *inputs,
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

/* Reports the weight that a profile file cannot hold, since it counts whole samples. */
static int check_lost(double lost, double all, struct pathprof_error *error)
{
	if (!(lost < all))
		return pathprof_fail(error, -EINVAL,
				     "every event weighs less than half a sample, and a profile "
				     "file holds whole ones: name the output *.txt");
	if (lost > LOST_MIN * all)
		ctl_note("combine: events of %.1f%% of the weight are left out, because a profile "
			 "file holds whole samples: *.txt holds all",
			 100 * lost / all);
	return 0;
}

/* Weights that are not counts are scaled to as many samples as all inputs have. */
static int fill(struct pathprof_profile *profile, const struct inputs *inputs,
		const struct pathprof_combined *combined, double factor,
		struct pathprof_error *error)
{
	char comm[] = "combined", container[] = "";
	struct pathprof_process process = {
		.pid = 1, .comm = comm, .container = container, .binary = UINT32_MAX};
	uint32_t index = pathprof_profile_process(profile, &process);
	double lost = 0, all = 0;

	for (size_t i = 0; i < combined->cnt; i++) {
		const struct side *side;
		const struct side_item *item = item_of(inputs, &combined->events[i], &side);
		double count = round(combined->events[i].weight * factor);

		all += combined->events[i].weight;
		if (!item || !(count >= 1)) {
			lost += combined->events[i].weight;
			continue;
		}
		if (item->binary == SIDE_NO_BINARY)
			return pathprof_fail(error, -EINVAL,
					     "%s: '%s' is no place in a binary and fits no profile "
					     "file: name the output *.txt",
					     side->word, item->text);
		add_item(profile, index, side, item, (uint64_t)count);
	}
	return check_lost(lost, all, error);
}

/* Sums of exact counts are exact. Other methods weigh shares, which are not counts. */
static bool is_exact(const struct inputs *inputs, enum pathprof_combine_method method)
{
	bool exact = method == PATHPROF_COMBINE_UNSCALED;

	for (size_t i = 0; exact && i < inputs->cnt; i++)
		exact = measure_is_exact(&inputs->sides[i].measure);
	return exact;
}

/* A window without bursts holds exact counts. */
static uint64_t bursts_of(const struct pathprof_profile *profile, const struct inputs *inputs,
			  enum pathprof_combine_method method)
{
	double per_burst = 1;

	if (is_exact(inputs, method))
		return 0;
	for (size_t i = 0; i < inputs->cnt; i++)
		per_burst = fmax(per_burst, inputs->sides[i].per_burst);
	return (uint64_t)((double)profile->totals.paths / per_burst) + 1;
}

static void stamp(struct pathprof_profile *profile, const struct inputs *inputs,
		  enum pathprof_combine_method method)
{
	const struct side *first = recorded(inputs);

	profile->end_ns = pp_realtime_ns();
	profile->begin_ns = profile->end_ns - CTL_NS_PER_S;
	profile->source = PATHPROF_SOURCE_STEP;
	profile->basis = first && first->measure.kind == PATHPROF_KIND_BRANCHES
				 ? PATHPROF_BASIS_BRANCHES
				 : PATHPROF_BASIS_TIME;
	profile->horizon = first ? first->measure.horizon : 0;
	profile->weighed = first && first->measure.kind == PATHPROF_KIND_WEIGHED;
	profile->totals.bursts = bursts_of(profile, inputs, method);
	for (size_t i = 0; is_exact(inputs, method) && i < inputs->cnt; i++)
		profile->totals.drops[PATHPROF_DROP_BUSY] += inputs->sides[i].measure.shared_cnt;
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

static int copy(FILE *out, const char *file, struct pathprof_error *error)
{
	_cleanup_fclose_ FILE *in = fopen(file, "re");
	char bytes[1 << 16];
	size_t len_bytes;

	if (!in)
		return pathprof_fail(error, -errno, "%s: %s", file, strerror(errno));
	while ((len_bytes = fread(bytes, 1, sizeof(bytes), in)) > 0)
		fwrite(bytes, 1, len_bytes, out);
	return ferror(in) ? pathprof_fail(error, -EIO, "%s: cannot be read", file) : 0;
}

/*
 * A database, and out of it the one file that can be copied as it is. SQLite has to seek and to
 * lock, which a pipe cannot, so both are made in a directory of their own.
 */
static int write_profile(FILE *out, const struct pathprof_profile *profile,
			 struct pathprof_error *error)
{
	_cleanup_free_ char *db = NULL, *file = NULL;
	struct scratch scratch = SCRATCH_INIT;
	int r = scratch_make(&scratch, error);

	if (r < 0)
		return r;
	db = ctl_printf("%s/" SCRATCH_DB, scratch.directory);
	file = ctl_printf("%s/" SCRATCH_PROFILE, scratch.directory);
	r = write_window(db, profile, error);
	if (r == 0)
		r = extract(db, file, error);
	if (r == 0)
		r = copy(out, file, error);
	scratch_remove(&scratch);
	return r;
}

static int write_store(FILE *out, const struct inputs *inputs,
		       const struct pathprof_combined *combined,
		       enum pathprof_combine_method method, struct pathprof_error *error)
{
	struct pathprof_profile profile;
	struct pathprof_distribution all;
	int r = pathprof_distribution_init(&all, combined->events, combined->cnt);

	if (r == 0)
		r = pathprof_profile_init(&profile, PROFILE_BYTES_MAX);
	if (r < 0)
		return r;
	r = fill(&profile, inputs, combined,
		 method == PATHPROF_COMBINE_UNSCALED ? 1 : (double)(inputs->total / all.total),
		 error);
	stamp(&profile, inputs, method);
	if (r == 0)
		r = write_profile(out, &profile, error);
	pathprof_profile_release(&profile);
	return r;
}

/* ---------------------------------------------------------------- together */

static bool is_text(const char *file)
{
	size_t len = strlen(file);

	return output_is_stdout(file) || (len > 4 && !strcmp(file + len - 4, ".txt"));
}

static int write_out(const struct ctl_options *options, const struct inputs *inputs,
		     const struct pathprof_combined *combined, enum pathprof_combine_method method)
{
	struct pathprof_error error = {""};
	struct output output;
	int r = output_begin(&output, options->output, &error);

	if (r == 0) {
		if (is_text(options->output))
			write_text(output.file, inputs, combined);
		else
			r = write_store(output.file, inputs, combined, method, &error);
		r = output_end(&output, r, &error);
	}
	return r < 0 ? ctl_fail_error(options->output, r, &error) : CTL_OK;
}

/* Prints what each input would lose by each method. */
static int say_losses(FILE *out, const struct inputs *inputs, enum pathprof_combine_method chosen,
		      bool branches)
{
	const char *words[PATHPROF_COMBINE_MAX];
	struct combine_losses losses;
	int r = combine_losses_measure(&losses, inputs->distributions, inputs->cnt, branches);

	if (r < 0)
		return ctl_fail("combine: what each profile loses: %s", strerror(-r));
	for (size_t i = 0; i < inputs->cnt; i++)
		words[i] = inputs->sides[i].word;
	combine_losses_print(&losses, words, chosen, out);
	return CTL_OK;
}

static void say_kl(FILE *out, const struct inputs *inputs, const struct pathprof_combined *combined)
{
	for (size_t i = 0; i < inputs->cnt; i++) {
		_cleanup_free_ char *word = text_escape(inputs->sides[i].word);

		fprintf(out, "%s: lambda %.6f\n", word, combined->lambda[i]);
	}
	fprintf(out, "no input is farther than %.6f bits\n", combined->distance_bits);
}

static int combine(const struct ctl_options *options, const struct inputs *inputs,
		   enum pathprof_combine_method method)
{
	FILE *out = output_is_stdout(options->output) ? stderr : stdout;
	bool branches = options->events == SIDE_BRANCHES;
	struct pathprof_combined combined;
	int r = pathprof_combine(&combined, method, inputs->distributions, inputs->cnt, branches);

	if (r < 0)
		return ctl_fail("combine: %s", r == -ERANGE ? "a sum exceeds 2^64" : strerror(-r));
	r = write_out(options, inputs, &combined, method);
	if (r == CTL_OK && method == PATHPROF_COMBINE_KL)
		say_kl(out, inputs, &combined);
	if (r == CTL_OK)
		r = say_losses(out, inputs, method, branches);
	free(combined.events);
	return r;
}

/* Devices and pipes are not replaced, so nothing would be lost. */
static bool would_replace(const char *file)
{
	struct stat there;

	return !output_is_stdout(file) && stat(file, &there) == 0 && S_ISREG(there.st_mode);
}

static int check(const struct ctl_options *options)
{
	if (options->argc < 2 || options->argc > PATHPROF_COMBINE_MAX)
		return ctl_usage(options, "2 to %d profiles are needed", PATHPROF_COMBINE_MAX);
	if (!options->output)
		return ctl_usage(options, "-o FILE is needed: what the profile is written to");
	if (options->events == SIDE_BRANCHES && !is_text(options->output))
		return ctl_usage(options,
				 "a profile file holds no branches: name the output *.txt");
	if (!options->replace && would_replace(options->output))
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
