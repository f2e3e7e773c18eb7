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

#include "base/vector.h"

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
	if (pp_grow(&dag->edges, dag->edge_cnt, &dag->edge_room) < 0)
		return -ENOMEM;
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
 * Preferential numbering (EOPP figure 3.10) over a trie of the paths: a node of it is a prefix, and
 * the edge it ends with; its parent is the prefix before that edge. So the pair (e, q) of the
 * figure, the interval a prefix q induces on an edge e, is one node, and an edge's intervals are
 * the nodes on its list. Linear in the paths' lengths, once they are sorted.
 */
struct prefix {
	uint32_t parent;
	uint32_t edge;    /* that it ends with; UINT32_MAX: the empty prefix */
	uint32_t sibling; /* the next with the same edge; 0: none (that is the empty prefix) */
	bool is_set;      /* min and max are */
	int64_t min, max; /* of what its paths still add to their sums; later, of the sums here */
	int64_t cis;      /* where the next interval of this prefix may begin */
};

struct preferential {
	struct pathprof_dag *dag;
	struct pathprof_dag_path **sorted;
	size_t path_cnt;
	struct prefix *prefixes; /* each behind its parent */
	size_t prefix_cnt;
	uint32_t *first; /* prefixes by the edge they end with */
	uint32_t *whole; /* the prefix that is all of a path, by sorted index */
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

/* Checks and sorts the paths; says how many prefixes they may have and how long the longest is. */
static int sort_paths(struct preferential *f, struct pathprof_dag_path *paths, size_t *ret_prefixes,
		      size_t *ret_longest)
{
	size_t prefixes = 1, longest = 0;

	for (size_t p = 0; p < f->path_cnt; p++) {
		if (check_path(f->dag, &paths[p]) < 0)
			return -EINVAL;
		f->sorted[p] = &paths[p];
		prefixes += paths[p].edge_cnt;
		if (paths[p].edge_cnt > longest)
			longest = paths[p].edge_cnt;
	}
	if (f->path_cnt)
		qsort(f->sorted, f->path_cnt, sizeof(f->sorted[0]), by_edges);
	*ret_prefixes = prefixes;
	*ret_longest = longest;
	return 0;
}

static uint32_t add_prefix(struct preferential *f, uint32_t parent, uint32_t edge)
{
	uint32_t x = (uint32_t)f->prefix_cnt++;

	f->prefixes[x] = (struct prefix){.parent = parent, .edge = edge, .sibling = f->first[edge]};
	f->first[edge] = x;
	return x;
}

/* way[d]: the prefix of length d of the path at hand; of its neighbour up to where they part. */
static void add_paths(struct preferential *f, uint32_t *way)
{
	f->prefixes[0] = (struct prefix){.edge = UINT32_MAX};
	f->prefix_cnt = 1;
	way[0] = 0;
	for (size_t p = 0; p < f->path_cnt; p++) {
		const struct pathprof_dag_path *path = f->sorted[p];
		size_t d = p ? common_prefix(f->sorted[p - 1], path) : 0;

		for (; d < path->edge_cnt; d++)
			way[d + 1] = add_prefix(f, way[d], path->edges[d]);
		f->whole[p] = way[path->edge_cnt];
		f->prefixes[f->whole[p]].is_set = true;
	}
}

static int preferential_init(struct preferential *f, struct pathprof_dag_path *paths)
{
	size_t prefixes, longest;
	uint32_t *way;
	int r;

	f->sorted = calloc(f->path_cnt + 1, sizeof(*f->sorted));
	f->whole = calloc(f->path_cnt + 1, sizeof(*f->whole));
	f->first = calloc(f->dag->edge_cnt + 1, sizeof(*f->first));
	if (!f->sorted || !f->whole || !f->first)
		return -ENOMEM;
	r = sort_paths(f, paths, &prefixes, &longest);
	if (r < 0)
		return r;
	if (prefixes >= UINT32_MAX)
		return -EOVERFLOW;
	f->prefixes = calloc(prefixes, sizeof(*f->prefixes));
	way = calloc(longest + 1, sizeof(*way));
	if (f->prefixes && way)
		add_paths(f, way);
	free(way);
	return f->prefixes && way ? 0 : -ENOMEM;
}

static void preferential_release(struct preferential *f)
{
	free(f->sorted);
	free(f->whole);
	free(f->first);
	free(f->prefixes);
}

/* Widens the parent's interval by that of x, moved by weight. */
static bool join_parent(struct preferential *f, const struct prefix *x, int64_t weight)
{
	struct prefix *q = &f->prefixes[x->parent];
	int64_t min, max;

	if (__builtin_add_overflow(x->min, weight, &min) ||
	    __builtin_add_overflow(x->max, weight, &max) || __builtin_add_overflow(max, 1, &q->cis))
		return false;
	if (!q->is_set || min < q->min)
		q->min = min;
	if (!q->is_set || max > q->max)
		q->max = max;
	q->is_set = true;
	return true;
}

/* Lines 3 to 20 of the figure. Prefixes of an edge that is not on a path: none. */
static bool weigh_edge(struct preferential *f, uint32_t e)
{
	int64_t weight = f->first[e] ? INT64_MIN : 0, induced;

	for (uint32_t i = f->first[e]; i; i = f->prefixes[i].sibling) {
		const struct prefix *x = &f->prefixes[i];

		if (__builtin_sub_overflow(f->prefixes[x->parent].cis, x->min, &induced))
			return false;
		if (induced > weight)
			weight = induced;
	}
	f->dag->edges[e].preferential = weight;
	for (uint32_t i = f->first[e]; i; i = f->prefixes[i].sibling)
		if (!join_parent(f, &f->prefixes[i], weight))
			return false;
	return true;
}

/* The sums along the paths, prefix by prefix; min serves for them now. */
static void set_numbers(struct preferential *f)
{
	f->prefixes[0].min = 0;
	for (size_t i = 1; i < f->prefix_cnt; i++) {
		struct prefix *x = &f->prefixes[i];

		/* Only whole paths' sums are sure to fit: modulo 2^64 on the way. */
		x->min = (int64_t)((uint64_t)f->prefixes[x->parent].min +
				   (uint64_t)f->dag->edges[x->edge].preferential);
	}
	for (size_t p = 0; p < f->path_cnt; p++)
		f->sorted[p]->preferential = f->prefixes[f->whole[p]].min;
}

int pathprof_number_preferential(struct pathprof_dag *dag, struct pathprof_dag_path *paths,
				 size_t path_cnt)
{
	struct preferential f = {.dag = dag, .path_cnt = path_cnt};
	struct adjacency a;
	int r = adjacency_init(&a, dag);

	if (r < 0)
		return r;
	r = preferential_init(&f, paths);
	for (uint32_t i = dag->node_cnt; r == 0 && i-- > 0;) {
		uint32_t v = a.topological[i];

		for (uint32_t k = a.first[v]; r == 0 && k < a.first[v + 1]; k++)
			if (!weigh_edge(&f, a.order[k]))
				r = -EOVERFLOW;
	}
	if (r == 0)
		set_numbers(&f);
	preferential_release(&f);
	adjacency_release(&a);
	return r;
}

struct range {
	int64_t min, max;
};

/* From v to an exit; all that v leads to have theirs. */
static bool range_of_node(const struct pathprof_dag *dag, const struct adjacency *a,
			  struct range *ranges, uint32_t v)
{
	struct range all = {INT64_MAX, INT64_MIN};

	for (uint32_t i = a->first[v]; i < a->first[v + 1]; i++) {
		const struct pathprof_dag_edge *e = &dag->edges[a->order[i]];
		struct range one;

		if (__builtin_add_overflow(ranges[e->to].min, e->preferential, &one.min) ||
		    __builtin_add_overflow(ranges[e->to].max, e->preferential, &one.max))
			return false;
		all.min = one.min < all.min ? one.min : all.min;
		all.max = one.max > all.max ? one.max : all.max;
	}
	ranges[v] = a->first[v] == a->first[v + 1] ? (struct range){0, 0} : all;
	return true;
}

int pathprof_preferential_range(const struct pathprof_dag *dag, int64_t *ret_min, int64_t *ret_max)
{
	struct adjacency a;
	struct range *ranges;
	int r = adjacency_init(&a, dag);

	if (r < 0)
		return r;
	ranges = calloc(dag->node_cnt, sizeof(*ranges));
	r = ranges ? 0 : -ENOMEM;
	for (uint32_t i = dag->node_cnt; r == 0 && i-- > 0;)
		if (!range_of_node(dag, &a, ranges, a.topological[i]))
			r = -EOVERFLOW;
	if (r == 0) {
		*ret_min = ranges[0].min;
		*ret_max = ranges[0].max;
	}
	free(ranges);
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
