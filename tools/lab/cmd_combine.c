// SPDX-License-Identifier: GPL-2.0-or-later
/* `pathprof-lab combine`: several text profiles into one. */
#include "lab.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/combine.h"
#include "pathprof/profile_text.h"

struct line {
	const char *key;
	size_t len;
	double weight;
};

static enum pathprof_combine_method parse(int argc, char **argv)
{
	static const struct option options[] = {{"method", required_argument, NULL, 'm'},
						{NULL, 0, NULL, 0}};
	enum pathprof_combine_method method = PATHPROF_COMBINE_CNT;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'm')
			lab_usage("combine: not understood");
		if (pathprof_combine_method(optarg, &method) < 0)
			lab_usage("--method: '%s' is none of unscaled, scaled, polling, kl",
				  optarg);
	}
	if (method == PATHPROF_COMBINE_CNT)
		lab_usage("combine: --method, please");
	if (argc - optind < 2 || argc - optind > PATHPROF_COMBINE_MAX)
		lab_usage("combine: 2 to %d profiles, please", PATHPROF_COMBINE_MAX);
	return method;
}

static int by_key(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	int order = memcmp(a->key, b->key, a->len < b->len ? a->len : b->len);

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

static void print(const struct pathprof_text_profiles *profiles,
		  const struct pathprof_combined *combined)
{
	struct line *lines = calloc(combined->cnt + 1, sizeof(*lines));
	size_t cnt = 0;

	if (!lines)
		lab_fail("out of memory");
	for (size_t i = 0; i < combined->cnt; i++) {
		struct line *line = &lines[cnt];

		line->key = pathprof_text_key(profiles, &combined->events[i], &line->len);
		line->weight = combined->events[i].weight;
		cnt += line->key && line->weight > 0;
	}
	qsort(lines, cnt, sizeof(*lines), by_key);
	for (size_t i = 0; i < cnt; i++) {
		fwrite(lines[i].key, 1, lines[i].len, stdout);
		printf("\t%.9g\n", lines[i].weight);
	}
	free(lines);
}

static void say(const struct pathprof_combined *combined, size_t cnt)
{
	fputs("# lambda", stderr);
	for (size_t i = 0; i < cnt; i++)
		fprintf(stderr, " %.17g", combined->lambda[i]);
	fprintf(stderr, "\n# distance %.17g bits\n", combined->distance_bits);
}

static void combine(enum pathprof_combine_method method, const char *const *files, size_t cnt,
		    const struct pathprof_text_profiles *profiles)
{
	const struct pathprof_distribution *inputs[PATHPROF_COMBINE_MAX];
	struct pathprof_combined combined;
	int r;

	for (size_t i = 0; i < cnt; i++) {
		inputs[i] = pathprof_text_profile(profiles, i);
		if (!(inputs[i]->total > 0))
			lab_fail("%s: an empty profile has nothing to combine", files[i]);
	}
	r = pathprof_combine(&combined, method, inputs, cnt, pathprof_text_are_branches(profiles));
	if (r < 0)
		lab_fail("combine: %s", r == -ERANGE ? "a sum exceeds 2^64" : strerror(-r));
	print(profiles, &combined);
	if (method == PATHPROF_COMBINE_KL)
		say(&combined, cnt);
	free(combined.events);
}

int lab_combine(int argc, char **argv)
{
	enum pathprof_combine_method method = parse(argc, argv);
	const char *const *files = (const char *const *)argv + optind;
	size_t cnt = (size_t)(argc - optind);
	struct pathprof_text_profiles *profiles;
	struct pathprof_error error;

	if (pathprof_text_profiles_read(&profiles, files, cnt, PATHPROF_TEXT_ANY, &error) < 0)
		lab_fail("%s", error.text);
	combine(method, files, cnt, profiles);
	pathprof_text_profiles_free(profiles);
	lab_finish_output();
	return 0;
}
