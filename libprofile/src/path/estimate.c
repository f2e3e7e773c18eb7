// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Paths seen whole and paths stitched, added up; see pathprof/estimate.h. */
#include "pathprof/estimate.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "pathprof/paths.h"
#include "pp_stitch.h"

#define PATHS_MAX_DEFAULT 1000000
#define PATHS_MAX         (1u << 28)
#define ORDER_MAX         2

struct path_key {
	uint64_t start;
	uint32_t length, outcomes;
};

struct path {
	struct path_key key;
	double seen, stitched;
};

struct pathprof_estimator {
	struct pathprof_estimator_settings settings;
	struct pp_keyed paths;
	struct pp_pieces pieces;
	uint64_t window_cnt, taken_cnt;
	uint64_t seen_dropped_cnt, stitched_dropped_cnt;
	int error; /* of the window, or the read, in hand */
};

int pathprof_estimator_new(struct pathprof_estimator **ret_e,
			   const struct pathprof_estimator_settings *settings)
{
	struct pathprof_estimator *e;
	uint64_t seed;

	if (settings->order > ORDER_MAX || settings->max_paths > PATHS_MAX)
		return -EINVAL;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uintptr_t)&seed;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->settings = *settings;
	if (!e->settings.max_paths)
		e->settings.max_paths = PATHS_MAX_DEFAULT;
	pp_keyed_init(&e->paths, sizeof(struct path), sizeof(struct path_key),
		      e->settings.max_paths, seed);
	pp_pieces_init(&e->pieces, settings->weighted, e->settings.max_paths, seed);
	*ret_e = e;
	return 0;
}

void pathprof_estimator_free(struct pathprof_estimator *e)
{
	if (!e)
		return;
	pp_keyed_release(&e->paths);
	pp_pieces_release(&e->pieces);
	free(e);
}

/* NULL: no room, and counted in *dropped_cnt, or no memory. */
static struct path *path_at(struct pathprof_estimator *e, const struct path_key *key,
			    uint64_t *dropped_cnt)
{
	uint32_t index;
	int r = pp_keyed_at(&e->paths, key, &index);

	if (r == -ENOSPC)
		(*dropped_cnt)++;
	else if (r < 0)
		e->error = r;
	return r < 0 ? NULL : pp_keyed_item(&e->paths, index);
}

static void add_seen(void *context, const struct pathprof_path_seen *seen)
{
	struct pathprof_estimator *e = context;
	struct path_key key = {seen->start, seen->length, seen->outcomes};
	struct path *path = path_at(e, &key, &e->seen_dropped_cnt);

	if (path)
		path->seen += e->settings.weighted ? seen->weight : 1;
}

int pathprof_estimator_add(struct pathprof_estimator *e, const struct pathprof_branch *branches,
			   uint32_t branch_cnt)
{
	int r;

	e->error = 0;
	r = pathprof_paths_of_burst(branches, branch_cnt, PATHPROF_MAPPING_BL, add_seen, e);
	if (r < 0)
		return r;
	e->window_cnt++;
	for (uint32_t i = 0; i < branch_cnt; i++)
		e->taken_cnt += branches[i].taken;
	r = pp_pieces_add(&e->pieces, branches, branch_cnt);
	return e->error ? e->error : r;
}

static int add_stitched(void *context, const struct pp_stitched *stitched)
{
	struct pathprof_estimator *e = context;
	struct path_key key = {stitched->start, stitched->length, stitched->outcomes};
	struct path *path = path_at(e, &key, &e->stitched_dropped_cnt);

	if (path)
		path->stitched += stitched->weight;
	return e->error;
}

/* Order 0 asks for the sums only. */
static int ignore_stitched(void *context, const struct pp_stitched *stitched)
{
	return 0;
}

static int stitch(struct pathprof_estimator *e, struct pp_stitch_sums *ret_sums)
{
	uint64_t window = e->window_cnt ? (e->taken_cnt + e->window_cnt / 2) / e->window_cnt : 0;
	uint32_t order = e->settings.order;

	e->error = 0;
	e->stitched_dropped_cnt = 0;
	for (uint32_t i = 0; i < e->paths.cnt; i++)
		((struct path *)pp_keyed_item(&e->paths, i))->stitched = 0;
	return pp_stitch(&e->pieces, order ? order : 1, (uint32_t)window,
			 order ? add_stitched : ignore_stitched, e, ret_sums);
}

static int by_weight(const void *a, const void *b)
{
	const struct pathprof_estimated_path *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->outcomes < y->outcomes ? -1 : x->outcomes > y->outcomes;
}

static size_t copy_paths(const struct pathprof_estimator *e, struct pathprof_estimated_path *to,
			 struct pathprof_estimate_summary *summary)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < e->paths.cnt; i++) {
		const struct path *path = pp_keyed_item(&e->paths, i);

		if (path->seen + path->stitched <= 0)
			continue;
		to[cnt++] = (struct pathprof_estimated_path){.start = path->key.start,
							     .length = path->key.length,
							     .outcomes = path->key.outcomes,
							     .weight = path->seen + path->stitched,
							     .stitched = path->stitched};
		summary->seen_weight += path->seen;
		summary->stitched_weight += path->stitched;
	}
	return cnt;
}

static int read_paths(struct pathprof_estimator *e, struct pathprof_estimated_path **ret_paths,
		      size_t *ret_cnt, struct pathprof_estimate_summary *ret_summary)
{
	struct pathprof_estimate_summary summary = {.window_cnt = e->window_cnt};
	struct pathprof_estimated_path *paths;
	struct pp_stitch_sums sums;
	double far;
	int r = stitch(e, &sums);

	if (r < 0)
		return r;
	paths = calloc(e->paths.cnt + (size_t)1, sizeof(paths[0]));
	if (!paths)
		return -ENOMEM;
	summary.path_cnt = copy_paths(e, paths, &summary);
	summary.dropped_cnt = e->seen_dropped_cnt + e->stitched_dropped_cnt + e->pieces.dropped_cnt;
	summary.lost_weight = sums.lost;
	far = sums.stitched + sums.lost;
	if (far > 0)
		summary.unobservable_share = far / (summary.seen_weight + far);
	qsort(paths, summary.path_cnt, sizeof(paths[0]), by_weight);
	*ret_paths = paths;
	*ret_cnt = summary.path_cnt;
	*ret_summary = summary;
	return 0;
}

/* Paths that are only stitched come behind those that were seen, and leave their room to others. */
int pathprof_estimator_read(struct pathprof_estimator *e,
			    struct pathprof_estimated_path **ret_paths, size_t *ret_cnt,
			    struct pathprof_estimate_summary *ret_summary)
{
	uint32_t seen_cnt = e->paths.cnt;
	int r = read_paths(e, ret_paths, ret_cnt, ret_summary);

	pp_keyed_cut(&e->paths, seen_cnt);
	return r;
}
