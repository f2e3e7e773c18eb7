// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Preferential numbers of some paths of a function, by way of a DAG of nothing but these.
 *
 * The algorithm looks at edges with interesting paths only, and at a node's edges in their order;
 * so a DAG of these edges, added in order, gives the numbers the whole one would. Memory and time
 * grow with the paths, plus one pass over the function's edges.
 *
 * Source: EOPP figure 3.10.
 */
#include "pp_function_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/numbering.h"

/*
 * The edges of the function's DAG have keys, in order: those from s by start, the flow's, those of
 * leaving by node. A node's keys ascend as its ways out do.
 */
struct keys {
	uint32_t *lists; /* of all paths, one behind the other */
	size_t *ends;    /* of the path's list */
	size_t cnt, room;
};

struct subset {
	const struct pathprof_function_paths *p;
	struct keys keys;
	uint64_t key_cnt;
	uint32_t *edge_of_key; /* in the small DAG; UINT32_MAX: none of the paths' */
	uint32_t *name;        /* in the small DAG, by node; 0: none yet */
	uint32_t name_cnt;
	struct pathprof_dag dag;
	struct pathprof_dag_path *paths;
};

static uint64_t key_of_way(const struct pathprof_function_paths *p, uint32_t node, uint32_t way)
{
	if (way != PP_LEAVES)
		return (uint64_t)p->start_cnt + way;
	return (uint64_t)p->start_cnt + p->flow->edge_cnt + node;
}

static int push(struct keys *k, uint64_t key)
{
	if (k->cnt == k->room) {
		size_t room = k->room ? 2 * k->room : 256;
		uint32_t *lists = reallocarray(k->lists, room, sizeof(*lists));

		if (!lists)
			return -ENOMEM;
		k->lists = lists;
		k->room = room;
	}
	k->lists[k->cnt++] = (uint32_t)key;
	return 0;
}

/* The keys of a path's edges, s and t included. */
static int unfold(struct subset *s, uint64_t id)
{
	const struct pathprof_function_paths *p = s->p;
	uint32_t start, at, way;
	int r;

	if (id >= p->cnt)
		return -ERANGE;
	start = pp_paths_start_of(p, id);
	r = push(&s->keys, start);
	id -= p->starts[start].weight;
	at = p->starts[start].node;
	while (r == 0) {
		way = pp_paths_way_of(p, at, id);
		r = push(&s->keys, key_of_way(p, at, way));
		if (way == PP_LEAVES || p->cuts[way])
			break;
		id -= p->weights[way];
		at = p->flow->edges[way].to;
	}
	return r;
}

static uint32_t name_of(struct subset *s, uint32_t node)
{
	if (!s->name[node])
		s->name[node] = s->name_cnt++;
	return s->name[node];
}

/* s is 0, t is 1. */
static int add_edge(struct subset *s, uint64_t key)
{
	const struct pathprof_function_paths *p = s->p;
	uint32_t from, to = 1;

	if (key < p->start_cnt) {
		from = 0;
		to = name_of(s, p->starts[key].node);
	} else if (key < (uint64_t)p->start_cnt + p->flow->edge_cnt) {
		uint32_t e = (uint32_t)(key - p->start_cnt);

		from = name_of(s, p->flow->edges[e].from);
		if (!p->cuts[e])
			to = name_of(s, p->flow->edges[e].to);
	} else {
		from = name_of(s, (uint32_t)(key - p->start_cnt - p->flow->edge_cnt));
	}
	s->edge_of_key[key] = (uint32_t)s->dag.edge_cnt;
	return pathprof_dag_add(&s->dag, from, to);
}

static int add_edges(struct subset *s)
{
	int r = 0;

	for (size_t i = 0; i < s->keys.cnt; i++)
		s->edge_of_key[s->keys.lists[i]] = 0;
	for (uint64_t key = 0; key < s->key_cnt && r == 0; key++)
		if (s->edge_of_key[key] != UINT32_MAX)
			r = add_edge(s, key);
	return r;
}

static void set_paths(struct subset *s, size_t cnt)
{
	size_t begin = 0;

	for (size_t i = 0; i < s->keys.cnt; i++)
		s->keys.lists[i] = s->edge_of_key[s->keys.lists[i]];
	for (size_t i = 0; i < cnt; i++) {
		s->paths[i] = (struct pathprof_dag_path){.edges = &s->keys.lists[begin],
							 .edge_cnt = s->keys.ends[i] - begin};
		begin = s->keys.ends[i];
	}
}

static int subset_init(struct subset *s, const struct pathprof_function_paths *p, size_t cnt)
{
	*s = (struct subset){.p = p, .name_cnt = 2};
	s->key_cnt = (uint64_t)p->start_cnt + p->flow->edge_cnt + p->flow->node_cnt;
	if (s->key_cnt >= UINT32_MAX)
		return -EOVERFLOW;
	pathprof_dag_init(&s->dag);
	s->keys.ends = calloc(cnt + 1, sizeof(*s->keys.ends));
	s->paths = calloc(cnt + 1, sizeof(*s->paths));
	s->name = calloc(p->flow->node_cnt, sizeof(*s->name));
	s->edge_of_key = malloc(s->key_cnt * sizeof(*s->edge_of_key));
	if (!s->keys.ends || !s->paths || !s->name || !s->edge_of_key)
		return -ENOMEM;
	memset(s->edge_of_key, 0xff, s->key_cnt * sizeof(*s->edge_of_key));
	return 0;
}

static void subset_release(struct subset *s)
{
	free(s->keys.lists);
	free(s->keys.ends);
	free(s->edge_of_key);
	free(s->name);
	free(s->paths);
	free(s->dag.edges);
}

static int number(struct subset *s, const uint64_t *ids, size_t cnt)
{
	int r = 0;

	for (size_t i = 0; i < cnt && r == 0; i++) {
		r = unfold(s, ids[i]);
		s->keys.ends[i] = s->keys.cnt;
	}
	if (r == 0)
		r = add_edges(s);
	if (r < 0)
		return r;
	set_paths(s, cnt);
	r = pathprof_number(&s->dag);
	return r < 0 ? r : pathprof_number_preferential(&s->dag, s->paths, cnt);
}

int pathprof_function_paths_prefer(const struct pathprof_function_paths *paths, const uint64_t *ids,
				   size_t cnt, int64_t *ret_preferential, double *ret_compactness)
{
	struct subset s;
	int r = subset_init(&s, paths, cnt);

	if (r == 0)
		r = number(&s, ids, cnt);
	if (r == 0) {
		for (size_t i = 0; i < cnt; i++)
			ret_preferential[i] = s.paths[i].preferential;
		*ret_compactness = pathprof_compactness(s.paths, cnt);
	}
	subset_release(&s);
	return r;
}
