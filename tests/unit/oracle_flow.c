// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/src/graph/pp_graph.h"
#include "oracle_stream.h"

/* ---------------------------------------------------------------- graphs */

#define FUNCTIONS_MAX  8
#define PARTS_MAX      3
#define BLOCKS_MAX     6 /* of a part */
#define EDGES_MAX      4 /* of a block */
#define ALL_PARTS_MAX  (FUNCTIONS_MAX * PARTS_MAX)
#define ALL_BLOCKS_MAX (ALL_PARTS_MAX * BLOCKS_MAX)

/* A randomly drawn graph: parts in order of offset, each with the function that owns it. */
struct sketch {
	uint32_t function_cnt;
	uint32_t part_cnt[FUNCTIONS_MAX];
	uint32_t owner[ALL_PARTS_MAX];
	struct pathprof_graph_part parts[ALL_PARTS_MAX];
	uint32_t all_part_cnt;
	struct pathprof_graph_block blocks[ALL_BLOCKS_MAX + 1];
	uint32_t block_cnt;
	struct pathprof_edge edges[ALL_BLOCKS_MAX * EDGES_MAX];
	uint32_t edge_cnt;
};

static uint32_t below(uint64_t *random, uint32_t bound)
{
	return (uint32_t)(stream_random(random) % bound);
}

static void draw_owners(struct sketch *s, uint64_t *random)
{
	for (uint32_t f = 0; f < s->function_cnt; f++) {
		s->part_cnt[f] = 1 + below(random, PARTS_MAX);
		for (uint32_t p = 0; p < s->part_cnt[f]; p++)
			s->owner[s->all_part_cnt++] = f;
	}
	for (uint32_t i = s->all_part_cnt - 1; i > 0; i--) {
		uint32_t j = below(random, i + 1), kept = s->owner[i];

		s->owner[i] = s->owner[j];
		s->owner[j] = kept;
	}
}

static void draw_part(struct sketch *s, uint32_t part, uint32_t *at, uint64_t *random)
{
	uint32_t cnt = below(random, BLOCKS_MAX + 1);
	struct pathprof_graph_part *p = &s->parts[part];

	*p = (struct pathprof_graph_part){
		.start = *at + below(random, 3), .first_block = s->block_cnt, .block_cnt = cnt};
	*at = p->start;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t start = *at, len = 1 + below(random, 12);

		s->blocks[s->block_cnt++] = (struct pathprof_graph_block){
			.start = start,
			.last = start + below(random, len),
			.end = start + len,
			.kind = below(random, 7),
			.function = s->owner[part],
		};
		p->end = start + len > p->end ? start + len : p->end;
		/* Some begin within the one before. */
		*at += below(random, 4) ? len + below(random, 2) * 3 : 1 + below(random, len);
	}
	p->end = p->end > p->start ? p->end : p->start + 1;
	*at = p->end;
}

static int by_kind(const void *x, const void *y)
{
	const struct pathprof_edge *a = x, *b = y;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

static void draw_edges(struct sketch *s, uint64_t *random)
{
	for (uint32_t b = 0; b < s->block_cnt; b++) {
		uint32_t cnt = below(random, EDGES_MAX + 1);

		s->blocks[b].first_edge = s->edge_cnt;
		for (uint32_t i = 0; i < cnt; i++)
			s->edges[s->edge_cnt++] = (struct pathprof_edge){
				.to = below(random, 16) ? below(random, s->block_cnt)
							: PATHPROF_GRAPH_NONE,
				.kind = below(random, PATHPROF_EDGE_KIND_CNT),
			};
		if (cnt)
			qsort(&s->edges[s->edge_cnt - cnt], cnt, sizeof(s->edges[0]), by_kind);
	}
	s->blocks[s->block_cnt].first_edge = s->edge_cnt;
}

/* One of a function's parts, drawn, is where it begins. */
static uint32_t draw_start(const struct sketch *s, uint32_t function, uint64_t *random)
{
	uint32_t nth = below(random, s->part_cnt[function]);

	for (uint32_t p = 0;; p++)
		if (s->owner[p] == function && !nth--)
			return p;
}

static struct pp_graph *reserve(const struct sketch *s, uint32_t names_bytes)
{
	struct pathprof_graph counts = {.function_cnt = s->function_cnt,
					.part_cnt = s->all_part_cnt,
					.block_cnt = s->block_cnt,
					.edge_cnt = s->edge_cnt,
					.names_bytes = names_bytes,
					.stats = {.insn_cnt = 3ULL * s->block_cnt}};
	struct pp_graph *g;

	if (pp_graph_new(&g, &counts))
		abort();
	memcpy((void *)g->graph.blocks, s->blocks, (s->block_cnt + 1ULL) * sizeof(s->blocks[0]));
	memcpy((void *)g->graph.edges, s->edges, s->edge_cnt * sizeof(s->edges[0]));
	return g;
}

struct order {
	uint32_t function, first_part;
};

static int by_first_part(const void *x, const void *y)
{
	const struct order *a = x, *b = y;

	return (a->first_part > b->first_part) - (a->first_part < b->first_part);
}

/* Functions are numbered by where they begin: sketch's numbers are of another order. */
static void place_functions(struct pp_graph *g, const struct sketch *s, uint64_t *random)
{
	struct pathprof_graph_function *functions = (void *)g->graph.functions;
	struct pathprof_graph_part *parts = (void *)g->graph.parts;
	struct pathprof_graph_block *blocks = (void *)g->graph.blocks;
	struct order order[FUNCTIONS_MAX] = {0};
	uint32_t number[FUNCTIONS_MAX] = {0}, at = 0;

	for (uint32_t f = 0; f < s->function_cnt; f++)
		order[f] = (struct order){f, draw_start(s, f, random)};
	qsort(order, s->function_cnt, sizeof(order[0]), by_first_part);
	for (uint32_t i = 0; i < s->function_cnt; i++) {
		const struct pathprof_graph_part *first = &s->parts[order[i].first_part];

		number[order[i].function] = i;
		functions[i] = (struct pathprof_graph_function){
			.name = below(random, 4) ? 1 + 3 * i : 0,
			.entry = first->block_cnt ? first->first_block : PATHPROF_GRAPH_NONE,
			.first_part = at,
			.part_cnt = s->part_cnt[order[i].function],
		};
		parts[at++] = *first;
		for (uint32_t p = 0; p < s->all_part_cnt; p++)
			if (s->owner[p] == order[i].function && p != order[i].first_part)
				parts[at++] = s->parts[p];
	}
	for (uint32_t b = 0; b < s->block_cnt; b++)
		blocks[b].function = number[s->blocks[b].function];
}

struct pathprof_graph *oracle_graph_draw(uint32_t function_cnt, uint64_t *random)
{
	static struct sketch s;
	struct pp_graph *g;
	uint32_t at = 5;

	if (!function_cnt || function_cnt > FUNCTIONS_MAX)
		abort();
	memset(&s, 0, sizeof(s));
	s.function_cnt = function_cnt;
	draw_owners(&s, random);
	for (uint32_t p = 0; p < s.all_part_cnt; p++)
		draw_part(&s, p, &at, random);
	draw_edges(&s, random);
	g = reserve(&s, 1 + 3 * function_cnt);
	place_functions(g, &s, random);
	for (uint32_t f = 0; f < function_cnt; f++)
		memcpy((char *)g->graph.names + 1 + 3ULL * f, (char[]){'f', (char)('0' + f), 0}, 3);
	return &g->graph;
}

struct pathprof_graph *oracle_graph_make(uint32_t node_cnt, const uint32_t (*edges)[2],
					 uint32_t edge_cnt)
{
	struct pathprof_graph counts = {.function_cnt = 1,
					.part_cnt = 1,
					.block_cnt = node_cnt,
					.edge_cnt = edge_cnt,
					.names_bytes = 1};
	struct pathprof_graph_block *blocks;
	struct pp_graph *g;
	uint32_t e = 0;

	if (pp_graph_new(&g, &counts))
		abort();
	blocks = (void *)g->graph.blocks;
	for (uint32_t b = 0; b < node_cnt; b++) {
		blocks[b] = (struct pathprof_graph_block){
			.start = 4 * b, .last = 4 * b + 2, .end = 4 * b + 4, .first_edge = e};
		for (; e < edge_cnt && edges[e][0] == b; e++)
			((struct pathprof_edge *)g->graph.edges)[e] =
				(struct pathprof_edge){edges[e][1], PATHPROF_EDGE_JUMP};
	}
	if (e != edge_cnt)
		abort();
	blocks[node_cnt].first_edge = e;
	*(struct pathprof_graph_function *)g->graph.functions =
		(struct pathprof_graph_function){.part_cnt = 1};
	*(struct pathprof_graph_part *)g->graph.parts =
		(struct pathprof_graph_part){.end = 4 * node_cnt, .block_cnt = node_cnt};
	return &g->graph;
}

/* ---------------------------------------------------------------- flows */

/* Marks what start reaches by edges that do not touch `without`. */
static void reach(const struct oracle_flow *o, uint32_t start, uint32_t without, bool *ret_reached)
{
	bool grows = start != without;

	memset(ret_reached, 0, ORACLE_FLOW_NODES_MAX * sizeof(*ret_reached));
	if (grows)
		ret_reached[start] = true;
	while (grows) {
		grows = false;
		for (uint32_t e = 0; e < o->edge_cnt; e++) {
			uint32_t to = o->edges[e].to;

			if (!ret_reached[o->edges[e].from] || ret_reached[to] || to == without)
				continue;
			ret_reached[to] = true;
			grows = true;
		}
	}
}

static void find_dominators(struct oracle_flow *o)
{
	bool without[ORACLE_FLOW_NODES_MAX];

	reach(o, 0, UINT32_MAX, o->reached);
	for (uint32_t a = 0; a < o->node_cnt; a++) {
		reach(o, 0, a, without);
		for (uint32_t b = 0; b < o->node_cnt; b++)
			o->dominates[a][b] =
				a == b || (o->reached[a] && o->reached[b] && !without[b]);
	}
}

/* The loop of a header: itself, and what gets to the source of a back edge without passing it. */
static void find_loop(struct oracle_flow *o, uint32_t header)
{
	bool from[ORACLE_FLOW_NODES_MAX];

	for (uint32_t e = 0; e < o->edge_cnt; e++) {
		uint32_t latch = o->edges[e].from;

		if (o->edges[e].to != header || !o->dominates[header][latch])
			continue;
		o->heads[header] = true;
		o->in_loop[header][header] = true;
		for (uint32_t v = 0; v < o->node_cnt; v++) {
			reach(o, v, header, from);
			if (from[latch] && (o->reached[v] || v == latch))
				o->in_loop[header][v] = true;
		}
	}
}

void oracle_flow_init(struct oracle_flow *ret_oracle, const struct pathprof_flow *flow,
		      bool skips_edge)
{
	struct oracle_flow *o = ret_oracle;

	if (flow->node_cnt > ORACLE_FLOW_NODES_MAX)
		abort();
	memset(o, 0, sizeof(*o));
	o->node_cnt = flow->node_cnt;
	o->edges = flow->edges;
	o->edge_cnt = flow->edge_cnt - (skips_edge && flow->edge_cnt);
	find_dominators(o);
	for (uint32_t v = 0; v < o->node_cnt; v++)
		find_loop(o, v);
}

bool oracle_flow_leads(const struct oracle_flow *o, uint32_t a, uint32_t b)
{
	bool reached[ORACLE_FLOW_NODES_MAX];

	reach(o, a, UINT32_MAX, reached);
	return reached[b];
}

/* Takes away nodes that no uncut edge of a remaining one leads to. */
bool oracle_flow_is_dag(const struct pathprof_flow *flow,
			bool (*cut)(const struct pathprof_flow_edge *edge))
{
	bool gone[ORACLE_FLOW_NODES_MAX] = {false}, held;
	uint32_t gone_cnt = 0, before;

	do {
		before = gone_cnt;
		for (uint32_t v = 0; v < flow->node_cnt; v++) {
			held = gone[v];
			for (uint32_t e = 0; e < flow->edge_cnt; e++)
				held |= flow->edges[e].to == v && !gone[flow->edges[e].from] &&
					!cut(&flow->edges[e]);
			gone[v] |= !held;
			gone_cnt += !held;
		}
	} while (gone_cnt > before);
	return gone_cnt == flow->node_cnt;
}
