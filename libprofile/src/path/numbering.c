// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Ball-Larus and preferential path numbering. Both walk the nodes in reverse topological order
 * and give each edge a weight so that the sums along paths tell the paths apart.
 */
#include "pathprof/numbering.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Out-edges by node: edges of v are order[first[v]] .. order[first[v + 1]]. */
struct adjacency {
	uint32_t *first, *order;
	uint32_t *topological; /* nodes, start first; every edge leads to a later one */
};

void pathprof_dag_init(struct pathprof_dag *dag)
{
	*dag = (struct pathprof_dag){.node_cnt = 1};
}

void pathprof_dag_release(struct pathprof_dag *dag)
{
	free(dag->edges);
	pathprof_dag_init(dag);
}

int pathprof_dag_add(struct pathprof_dag *dag, uint32_t from, uint32_t to)
{
	uint32_t greatest = from > to ? from : to;

	if (greatest >= UINT32_MAX - 1 || dag->edge_cnt >= UINT32_MAX)
		return -EOVERFLOW;
	if (dag->edge_cnt == dag->edge_room) {
		size_t room = dag->edge_room ? 2 * dag->edge_room : 64;
		struct pathprof_dag_edge *edges = reallocarray(dag->edges, room, sizeof(*edges));

		if (!edges)
			return -ENOMEM;
		dag->edges = edges;
		dag->edge_room = room;
	}
	dag->edges[dag->edge_cnt++] = (struct pathprof_dag_edge){.from = from, .to = to};
	if (greatest >= dag->node_cnt)
		dag->node_cnt = greatest + 1;
	return 0;
}

static void adjacency_release(struct adjacency *a)
{
	free(a->first);
	free(a->order);
	free(a->topological);
}

static void fill_out_edges(struct adjacency *a, const struct pathprof_dag *dag)
{
	for (size_t i = 0; i < dag->edge_cnt; i++)
		a->first[dag->edges[i].from + 1]++;
	for (uint32_t v = 0; v < dag->node_cnt; v++)
		a->first[v + 1] += a->first[v];
	/* Backwards, with first[v + 1] as the cursor, so that it ends where v's edges begin. */
	for (size_t i = dag->edge_cnt; i-- > 0;)
		a->order[--a->first[dag->edges[i].from + 1]] = (uint32_t)i;
	memmove(a->first, a->first + 1, dag->node_cnt * sizeof(a->first[0]));
	a->first[dag->node_cnt] = (uint32_t)dag->edge_cnt;
}

/* Kahn's algorithm. -ELOOP when a cycle keeps nodes from their turn. */
static int sort_topologically(struct adjacency *a, const struct pathprof_dag *dag)
{
	uint32_t *waiting = calloc(dag->node_cnt, sizeof(*waiting));
	uint32_t done = 0, ready = 0;

	if (!waiting)
		return -ENOMEM;
	for (size_t i = 0; i < dag->edge_cnt; i++)
		waiting[dag->edges[i].to]++;
	for (uint32_t v = 0; v < dag->node_cnt; v++)
		if (!waiting[v])
			a->topological[ready++] = v;
	while (done < ready) {
		uint32_t v = a->topological[done++];

		for (uint32_t i = a->first[v]; i < a->first[v + 1]; i++) {
			uint32_t to = dag->edges[a->order[i]].to;

			if (!--waiting[to])
				a->topological[ready++] = to;
		}
	}
	free(waiting);
	return ready == dag->node_cnt ? 0 : -ELOOP;
}

static int adjacency_init(struct adjacency *a, const struct pathprof_dag *dag)
{
	int r;

	*a = (struct adjacency){.first = calloc((size_t)dag->node_cnt + 1, sizeof(uint32_t)),
				.order = calloc(dag->edge_cnt + 1, sizeof(uint32_t)),
				.topological = calloc(dag->node_cnt, sizeof(uint32_t))};
	if (a->first && a->order && a->topological) {
		fill_out_edges(a, dag);
		r = sort_topologically(a, dag);
	} else {
		r = -ENOMEM;
	}
	if (r < 0)
		adjacency_release(a);
	return r;
}

/* EOPP figure 3.1 for one node. paths[]: paths to an exit by node. */
static bool number_node(struct pathprof_dag *dag, const struct adjacency *a, uint64_t *paths,
			uint32_t v)
{
	uint64_t n = 0;

	for (uint32_t i = a->first[v]; i < a->first[v + 1]; i++) {
		struct pathprof_dag_edge *e = &dag->edges[a->order[i]];

		e->weight = n;
		e->preferential = 0;
		if (__builtin_add_overflow(n, paths[e->to], &n))
			return false;
	}
	paths[v] = a->first[v] == a->first[v + 1] ? 1 : n;
	return true;
}

int pathprof_number(struct pathprof_dag *dag)
{
	struct adjacency a;
	uint64_t *paths;
	int r = adjacency_init(&a, dag);

	if (r < 0)
		return r;
	paths = calloc(dag->node_cnt, sizeof(*paths));
	r = paths ? 0 : -ENOMEM;
	for (uint32_t i = dag->node_cnt; r == 0 && i-- > 0;)
		if (!number_node(dag, &a, paths, a.topological[i]))
			r = -EOVERFLOW;
	if (r == 0)
		dag->path_cnt = paths[0];
	free(paths);
	adjacency_release(&a);
	return r;
}

/*
 * Preferential numbering (EOPP figure 3.10). A prefix is the first `depth` edges of a path; paths
 * are sorted so that those with a common prefix stand together.
 */
struct preferential {
	struct pathprof_dag *dag;
	struct pathprof_dag_path **sorted;
	size_t path_cnt;
	int64_t *cis; /* of the prefix now at hand, by sorted index of its first path */
};

static size_t common_prefix(const struct pathprof_dag_path *a, const struct pathprof_dag_path *b)
{
	size_t n = 0;

	while (n < a->edge_cnt && n < b->edge_cnt && a->edges[n] == b->edges[n])
		n++;
	return n;
}

static int by_edges(const void *x, const void *y)
{
	const struct pathprof_dag_path *a = *(struct pathprof_dag_path *const *)x;
	const struct pathprof_dag_path *b = *(struct pathprof_dag_path *const *)y;
	size_t n = common_prefix(a, b);

	if (n == a->edge_cnt || n == b->edge_cnt)
		return (a->edge_cnt > n) - (b->edge_cnt > n);
	return (a->edges[n] > b->edges[n]) - (a->edges[n] < b->edges[n]);
}

/* Where path p leaves node v by edge e: the depth of that edge, or SIZE_MAX. */
static size_t depth_of(const struct pathprof_dag_path *p, uint32_t e)
{
	for (size_t i = 0; i < p->edge_cnt; i++)
		if (p->edges[i] == e)
			return i;
	return SIZE_MAX;
}

/* The sorted index of the first path that shares p's first `depth` edges. */
static size_t prefix_owner(const struct preferential *f, size_t p, size_t depth)
{
	while (p > 0 && common_prefix(f->sorted[p - 1], f->sorted[p]) >= depth)
		p--;
	return p;
}

struct interval {
	size_t owner; /* names the prefix */
	int64_t min, max;
};

/* The intervals that prefixes induce on edge e, at most one a path. Returns how many. */
static size_t intervals_on(const struct preferential *f, uint32_t e, struct interval *intervals)
{
	size_t cnt = 0;

	for (size_t p = 0; p < f->path_cnt; p++) {
		size_t depth = depth_of(f->sorted[p], e), owner;
		int64_t id = f->sorted[p]->preferential;

		if (depth == SIZE_MAX)
			continue;
		owner = prefix_owner(f, p, depth);
		/* Paths of one prefix stand together. */
		if (!cnt || intervals[cnt - 1].owner != owner)
			intervals[cnt++] = (struct interval){owner, id, id};
		if (id < intervals[cnt - 1].min)
			intervals[cnt - 1].min = id;
		if (id > intervals[cnt - 1].max)
			intervals[cnt - 1].max = id;
	}
	return cnt;
}

static void weigh_edge(struct preferential *f, uint32_t e, struct interval *intervals)
{
	size_t cnt = intervals_on(f, e, intervals);
	int64_t weight = INT64_MIN;

	if (!cnt)
		return;
	for (size_t i = 0; i < cnt; i++) {
		int64_t induced = f->cis[intervals[i].owner] - intervals[i].min;

		if (induced > weight)
			weight = induced;
	}
	f->dag->edges[e].preferential = weight;
	for (size_t p = 0; p < f->path_cnt; p++)
		if (depth_of(f->sorted[p], e) != SIZE_MAX)
			f->sorted[p]->preferential += weight;
	for (size_t i = 0; i < cnt; i++)
		f->cis[intervals[i].owner] = intervals[i].max + weight + 1;
}

static int check_path(const struct pathprof_dag *dag, struct pathprof_dag_path *path)
{
	uint32_t at = 0;

	path->id = 0;
	path->preferential = 0;
	for (size_t i = 0; i < path->edge_cnt; i++) {
		if (path->edges[i] >= dag->edge_cnt || dag->edges[path->edges[i]].from != at)
			return -EINVAL;
		at = dag->edges[path->edges[i]].to;
		path->id += dag->edges[path->edges[i]].weight;
	}
	return 0;
}

static int prepare(struct preferential *f, struct pathprof_dag_path *paths)
{
	f->sorted = calloc(f->path_cnt + 1, sizeof(*f->sorted));
	f->cis = calloc(f->path_cnt + 1, sizeof(*f->cis));
	if (!f->sorted || !f->cis)
		return -ENOMEM;
	for (size_t p = 0; p < f->path_cnt; p++) {
		if (check_path(f->dag, &paths[p]) < 0)
			return -EINVAL;
		f->sorted[p] = &paths[p];
	}
	if (f->path_cnt)
		qsort(f->sorted, f->path_cnt, sizeof(f->sorted[0]), by_edges);
	return 0;
}

int pathprof_number_preferential(struct pathprof_dag *dag, struct pathprof_dag_path *paths,
				 size_t path_cnt)
{
	struct preferential f = {.dag = dag, .path_cnt = path_cnt};
	struct interval *intervals = calloc(path_cnt + 1, sizeof(*intervals));
	struct adjacency a;
	int r = adjacency_init(&a, dag);

	if (r < 0) {
		free(intervals);
		return r;
	}
	r = intervals ? prepare(&f, paths) : -ENOMEM;
	for (uint32_t i = dag->node_cnt; r == 0 && i-- > 0;) {
		uint32_t v = a.topological[i];

		memset(f.cis, 0, path_cnt * sizeof(*f.cis));
		for (uint32_t k = a.first[v]; k < a.first[v + 1]; k++)
			weigh_edge(&f, a.order[k], intervals);
	}
	free(intervals);
	free(f.sorted);
	free(f.cis);
	adjacency_release(&a);
	return r;
}

double pathprof_compactness(const struct pathprof_dag_path *paths, size_t path_cnt)
{
	int64_t min = INT64_MAX, max = INT64_MIN;

	for (size_t p = 0; p < path_cnt; p++) {
		if (paths[p].preferential < min)
			min = paths[p].preferential;
		if (paths[p].preferential > max)
			max = paths[p].preferential;
	}
	return path_cnt ? ((double)max - (double)min + 1) / (double)path_cnt : 0;
}
