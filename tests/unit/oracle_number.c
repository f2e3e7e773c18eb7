// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_number.h"

#include <stdlib.h>
#include <string.h>

#include "oracle_stream.h"

void oracle_dag_draw(struct oracle_dag *ret_dag, uint32_t node_cnt, uint32_t edge_cnt,
		     uint64_t *random)
{
	uint32_t name[ORACLE_NODES_MAX] = {0};

	if (node_cnt < 2 || node_cnt > ORACLE_NODES_MAX || edge_cnt > ORACLE_EDGES_MAX)
		abort();
	*ret_dag = (struct oracle_dag){.edge_cnt = edge_cnt, .node_cnt = node_cnt};
	for (uint32_t i = 0; i < node_cnt; i++)
		name[i] = i;
	for (uint32_t i = node_cnt - 1; i > 1; i--) { /* shuffles all but the start */
		uint32_t j = 1 + (uint32_t)(stream_random(random) % i), kept = name[i];

		name[i] = name[j];
		name[j] = kept;
	}
	for (uint32_t e = 0; e < edge_cnt; e++) {
		uint32_t from = (uint32_t)(stream_random(random) % (node_cnt - 1));
		uint32_t ahead = node_cnt - 1 - from;
		/* Mostly to a near node, so that paths are long. */
		uint32_t reach = stream_random(random) % 4 && ahead > 3 ? 3 : ahead;

		ret_dag->from[e] = name[from];
		ret_dag->to[e] = name[from + 1 + stream_random(random) % reach];
	}
}

struct walk {
	const struct oracle_dag *dag;
	struct oracle_dag_path now;
	struct oracle_dag_path *paths;
	size_t cnt, room;
};

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the DAG */
static void walk_from(struct walk *w, uint32_t node)
{
	bool is_exit = true;

	for (uint32_t e = 0; e < w->dag->edge_cnt; e++) {
		if (w->dag->from[e] != node)
			continue;
		is_exit = false;
		w->now.edge[w->now.edge_cnt++] = e;
		walk_from(w, w->dag->to[e]);
		w->now.edge_cnt--;
	}
	if (is_exit && w->cnt++ < w->room)
		w->paths[w->cnt - 1] = w->now;
}

size_t oracle_dag_paths(const struct oracle_dag *dag, struct oracle_dag_path *paths, size_t room)
{
	struct walk w = {.dag = dag, .paths = paths, .room = room};

	walk_from(&w, 0);
	return w.cnt;
}

/* The longest way from a node to an exit: nodes of lesser height come first in reverse order. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the DAG */
static uint32_t height(const struct oracle_dag *dag, uint32_t node)
{
	uint32_t highest = 0;

	for (uint32_t e = 0; e < dag->edge_cnt; e++) {
		if (dag->from[e] != node)
			continue;
		uint32_t h = 1 + height(dag, dag->to[e]);

		if (h > highest)
			highest = h;
	}
	return highest;
}

/* The map cis: keys are prefixes, that is the edges of a path before e. */
struct map {
	struct oracle_dag_path key[ORACLE_EDGES_MAX];
	int64_t cis[ORACLE_EDGES_MAX];
	size_t cnt;
};

static bool equal(const struct oracle_dag_path *a, const struct oracle_dag_path *b)
{
	if (a->edge_cnt != b->edge_cnt)
		return false;
	for (size_t i = 0; i < a->edge_cnt; i++)
		if (a->edge[i] != b->edge[i])
			return false;
	return true;
}

static int64_t *cis_of(struct map *map, const struct oracle_dag_path *prefix)
{
	size_t i = 0;

	while (i < map->cnt && !equal(&map->key[i], prefix))
		i++;
	if (i == map->cnt) {
		if (i == ORACLE_EDGES_MAX)
			abort();
		map->key[map->cnt++] = *prefix;
		map->cis[i] = 0;
	}
	return &map->cis[i];
}

/* prefix(p, e); false when p does not run over e. */
static bool prefix_of(const struct oracle_dag_path *p, uint32_t e,
		      struct oracle_dag_path *ret_prefix)
{
	struct oracle_dag_path prefix = {.edge_cnt = 0};

	for (size_t i = 0; i < p->edge_cnt; i++) {
		if (p->edge[i] == e) {
			*ret_prefix = prefix;
			return true;
		}
		prefix.edge[prefix.edge_cnt++] = p->edge[i];
	}
	return false;
}

/* min or max of pid over the interesting paths through e with this prefix. */
static int64_t extreme(const struct oracle_dag_path *paths, size_t path_cnt, uint32_t e,
		       const struct oracle_dag_path *prefix, bool least)
{
	struct oracle_dag_path other;
	int64_t found = least ? INT64_MAX : INT64_MIN;

	for (size_t p = 0; p < path_cnt; p++) {
		if (!prefix_of(&paths[p], e, &other) || !equal(&other, prefix))
			continue;
		if (least ? paths[p].pid < found : paths[p].pid > found)
			found = paths[p].pid;
	}
	return found;
}

/* Lines 3 to 20 for one edge. */
static void weigh(struct oracle_dag_path *paths, size_t path_cnt, uint32_t e, struct map *map,
		  int64_t *ret_weight, bool takes_last)
{
	struct oracle_dag_path q;
	bool unset = true;

	for (size_t p = 0; p < path_cnt; p++) { /* each prefix, some more than once */
		if (!prefix_of(&paths[p], e, &q))
			continue;
		int64_t induced = *cis_of(map, &q) - extreme(paths, path_cnt, e, &q, true);

		if (unset || *ret_weight < induced || takes_last)
			*ret_weight = induced;
		unset = false;
	}
	for (size_t p = 0; p < path_cnt; p++)
		if (prefix_of(&paths[p], e, &q))
			paths[p].pid += *ret_weight;
	for (size_t p = 0; p < path_cnt; p++)
		if (prefix_of(&paths[p], e, &q))
			*cis_of(map, &q) = extreme(paths, path_cnt, e, &q, false) + 1;
}

void oracle_preferential(const struct oracle_dag *dag, struct oracle_dag_path *paths,
			 size_t path_cnt, int64_t *ret_weights, bool takes_last)
{
	static struct map map;

	memset(ret_weights, 0, dag->edge_cnt * sizeof(*ret_weights));
	for (size_t p = 0; p < path_cnt; p++)
		paths[p].pid = 0;
	for (uint32_t h = 0; h < dag->node_cnt; h++) {
		for (uint32_t v = 0; v < dag->node_cnt; v++) {
			if (height(dag, v) != h)
				continue;
			map.cnt = 0; /* prefixes that end at v are those of no other node */
			for (uint32_t e = 0; e < dag->edge_cnt; e++)
				if (dag->from[e] == v)
					weigh(paths, path_cnt, e, &map, &ret_weights[e],
					      takes_last);
		}
	}
}
