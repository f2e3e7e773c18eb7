// SPDX-License-Identifier: GPL-2.0-or-later
/* A function's blocks and edges, joined and chosen for showing: see cfg.h. */
#include "cfg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"

/* ---------------------------------------------------------------- making */

static uint32_t count_edges(const struct target *target)
{
	const struct pathprof_graph *graph = target->graph;
	uint32_t cnt = 0;

	if (target->counted)
		return target->flow.edge_cnt;
	for (uint32_t n = 0; n < target->flow.node_cnt; n++) {
		uint32_t block = target->flow.nodes[n].block;

		cnt += graph->blocks[block + 1].first_edge - graph->blocks[block].first_edge;
	}
	return cnt;
}

/* Calls go on in the next block, by an edge of their own. */
static void add_edges(struct cfg *cfg, uint32_t n)
{
	const struct target *target = cfg->target;
	const struct pathprof_graph *graph = target->graph;
	uint32_t block = target->flow.nodes[n].block;

	cfg->blocks[n].first_edge = cfg->edge_cnt;
	for (uint32_t e = graph->blocks[block].first_edge; e < graph->blocks[block + 1].first_edge;
	     e++) {
		uint32_t to = graph->edges[e].to, kind = graph->edges[e].kind;
		bool leaves = kind == PATHPROF_EDGE_TAIL || to == PATHPROF_GRAPH_NONE;

		if (kind == PATHPROF_EDGE_CALL)
			continue;
		cfg->edges[cfg->edge_cnt++] = (struct cfg_edge){
			.from = n,
			.to = leaves ? PATHPROF_GRAPH_NONE
				     : pathprof_flow_node_of(&target->flow, to),
			.leads_to = to,
			.kind = kind,
		};
	}
}

struct cfg *cfg_new(const struct target *target)
{
	struct cfg *cfg = ctl_alloc(sizeof(*cfg));

	cfg->target = target;
	cfg->block_cnt = target->flow.node_cnt;
	cfg->blocks = ctl_alloc((cfg->block_cnt + (size_t)1) * sizeof(struct cfg_block));
	cfg->edges = ctl_alloc((count_edges(target) + (size_t)1) * sizeof(struct cfg_edge));
	for (uint32_t n = 0; n < cfg->block_cnt; n++) {
		if (target->counted)
			cfg_counted_add_edges(cfg, n);
		else
			add_edges(cfg, n);
		cfg->blocks[n].next = PATHPROF_GRAPH_NONE;
	}
	cfg->blocks[cfg->block_cnt].first_edge = cfg->edge_cnt;
	return cfg;
}

void cfg_free(struct cfg *cfg)
{
	if (!cfg)
		return;
	free(cfg->blocks);
	free(cfg->edges);
	free(cfg);
}

/* ---------------------------------------------------------------- joining */

static uint32_t *count_ways_in(const struct cfg *cfg)
{
	uint32_t *cnt = ctl_alloc((cfg->block_cnt + (size_t)1) * sizeof(*cnt));

	cnt[0] = 1; /* the function's own way in */
	for (uint32_t e = 0; e < cfg->edge_cnt; e++)
		if (cfg->edges[e].to != PATHPROF_GRAPH_NONE)
			cnt[cfg->edges[e].to]++;
	return cnt;
}

/* Returns the only block to which control goes from the end of this one, without a branch. */
static uint32_t only_next(const struct cfg *cfg, uint32_t block)
{
	const struct cfg_edge *edge = &cfg->edges[cfg->blocks[block].first_edge];

	if (cfg->blocks[block + 1].first_edge - cfg->blocks[block].first_edge != 1)
		return PATHPROF_GRAPH_NONE;
	if (edge->kind != PATHPROF_EDGE_CONTINUE && edge->kind != PATHPROF_EDGE_FALL)
		return PATHPROF_GRAPH_NONE;
	return edge->to;
}

/* A compiler's blocks have no addresses, so they count as adjacent. */
static bool lies_behind(const struct cfg *cfg, uint32_t block, uint32_t next)
{
	return cfg->target->counted ||
	       cfg_code_of(cfg, next)->start == cfg_code_of(cfg, block)->end;
}

static void join(struct cfg *cfg)
{
	uint32_t *ways_in = count_ways_in(cfg);

	for (uint32_t n = 0; n < cfg->block_cnt; n++) {
		uint32_t next = only_next(cfg, n);

		if (next == PATHPROF_GRAPH_NONE || ways_in[next] != 1 || !lies_behind(cfg, n, next))
			continue;
		cfg->blocks[n].next = next;
		cfg->blocks[next].joined = true;
	}
	free(ways_in);
}

/* ---------------------------------------------------------------- choosing */

static bool counts(const struct cfg *cfg, uint32_t block)
{
	const struct cfg_block *b = &cfg->blocks[block];

	if (b->weight > 0 || b->clock || b->called || b->returned || b->entered)
		return true;
	for (uint32_t e = b->first_edge; e < b[1].first_edge; e++)
		if (cfg->edges[e].taken || cfg->edges[e].weight > 0)
			return true;
	return false;
}

static uint32_t head_of(const uint32_t *heads, uint32_t block)
{
	return block == PATHPROF_GRAPH_NONE ? block : heads[block];
}

/* Each block's group, by the first of it. No block is behind two, so a chain from a first one ends.
 */
static uint32_t *find_heads(const struct cfg *cfg)
{
	uint32_t *heads = ctl_alloc((cfg->block_cnt + (size_t)1) * sizeof(*heads));

	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		if (!cfg->blocks[n].joined)
			for (uint32_t b = n; b != PATHPROF_GRAPH_NONE; b = cfg->blocks[b].next)
				heads[b] = n;
	return heads;
}

/* Shows neighbours, but not the hundreds of targets of a switch that did not run. */
static void show_group_neighbours(struct cfg *cfg, const uint32_t *heads, const bool *ran)
{
	for (uint32_t e = 0; e < cfg->edge_cnt; e++) {
		uint32_t from = head_of(heads, cfg->edges[e].from);
		uint32_t to = head_of(heads, cfg->edges[e].to);

		if (to == PATHPROF_GRAPH_NONE || cfg->edges[e].kind == PATHPROF_EDGE_SWITCH ||
		    cfg->edges[e].kind == PATHPROF_EDGE_GUESSED)
			continue;
		if (ran[from])
			cfg->blocks[to].shown = true;
		if (ran[to])
			cfg->blocks[from].shown = true;
	}
}

/* Nothing ran: shows the blocks nearest to the entry, breadth first. */
static void show_first(struct cfg *cfg, const uint32_t *heads)
{
	uint32_t *queue = ctl_alloc((cfg->block_cnt + (size_t)1) * sizeof(*queue));
	uint32_t cnt = 1;

	cfg->blocks[queue[0]].shown = true;
	for (uint32_t at = 0; at < cnt && cnt < CFG_SHOWN_MAX; at++) {
		uint32_t last = cfg_last_of(cfg, queue[at]);
		uint32_t end = cfg->blocks[last + 1].first_edge;

		for (uint32_t e = cfg->blocks[last].first_edge; e < end; e++) {
			uint32_t to = head_of(heads, cfg->edges[e].to);

			if (to == PATHPROF_GRAPH_NONE || cfg->blocks[to].shown ||
			    cnt == CFG_SHOWN_MAX)
				continue;
			cfg->blocks[to].shown = true;
			queue[cnt++] = to;
		}
	}
	free(queue);
}

static void choose(struct cfg *cfg)
{
	uint32_t *heads = find_heads(cfg);
	bool *ran = ctl_alloc(cfg->block_cnt + (size_t)1);
	bool any = false;

	for (uint32_t n = 0; n < cfg->block_cnt; n++) {
		cfg->blocks[n].shown = false;
		if (!counts(cfg, n))
			continue;
		ran[heads[n]] = true;
		any = true;
	}
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		cfg->blocks[n].shown = ran[n];
	cfg->blocks[0].shown = true;
	if (any)
		show_group_neighbours(cfg, heads, ran);
	else
		show_first(cfg, heads);
	free(ran);
	free(heads);
}

void cfg_show_time(struct cfg *cfg)
{
	cfg->by_time = cfg->clock > 0;
}

void cfg_arrange(struct cfg *cfg, bool each_block, bool all)
{
	if (!each_block)
		join(cfg);
	for (uint32_t n = 0; n < cfg->block_cnt; n++) {
		cfg->blocks[n].shown = !cfg->blocks[n].joined;
		cfg->group_cnt += !cfg->blocks[n].joined;
		if (!cfg->blocks[n].joined && cfg_group_share(cfg, n) > cfg->top_share)
			cfg->top_share = cfg_group_share(cfg, n);
	}
	if (!all && cfg->group_cnt > CFG_SHOWN_MAX)
		choose(cfg);
	cfg->hidden_cnt = cfg->group_cnt;
	for (uint32_t n = 0; n < cfg->block_cnt; n++)
		cfg->hidden_cnt -= cfg->blocks[n].shown;
}

/* ---------------------------------------------------------------- asking */

uint32_t cfg_last_of(const struct cfg *cfg, uint32_t block)
{
	while (cfg->blocks[block].next != PATHPROF_GRAPH_NONE)
		block = cfg->blocks[block].next;
	return block;
}

double cfg_group_weight(const struct cfg *cfg, uint32_t block)
{
	double weight = 0;

	for (; block != PATHPROF_GRAPH_NONE; block = cfg->blocks[block].next)
		if (cfg->blocks[block].weight > weight)
			weight = cfg->blocks[block].weight;
	return weight;
}

uint64_t cfg_group_clock(const struct cfg *cfg, uint32_t block)
{
	uint64_t clock = 0;

	for (; block != PATHPROF_GRAPH_NONE; block = cfg->blocks[block].next)
		clock += cfg->blocks[block].clock;
	return clock;
}

double cfg_group_share(const struct cfg *cfg, uint32_t block)
{
	if (cfg->by_time)
		return (double)cfg_group_clock(cfg, block) / (double)cfg->clock;
	return cfg->weight > 0 ? cfg_group_weight(cfg, block) / cfg->weight : 0;
}

bool cfg_group_hot(const struct cfg *cfg, uint32_t block)
{
	for (; block != PATHPROF_GRAPH_NONE; block = cfg->blocks[block].next)
		if (cfg->blocks[block].hot)
			return true;
	return false;
}

bool cfg_group_untested(const struct cfg *cfg, uint32_t block)
{
	for (; block != PATHPROF_GRAPH_NONE; block = cfg->blocks[block].next)
		if (cfg->blocks[block].is_untested)
			return true;
	return false;
}

double cfg_edge_share(const struct cfg *cfg, uint32_t edge)
{
	const struct cfg_block *from = &cfg->blocks[cfg->edges[edge].from];
	double sum = 0;

	for (uint32_t e = from->first_edge; e < from[1].first_edge; e++)
		sum += cfg->edges[e].weight;
	return sum > 0 ? cfg->edges[edge].weight / sum : 0;
}

const char *cfg_figure(const struct cfg *cfg)
{
	return cfg->by_taken ? "BRANCHES" : measure_figure(&cfg->measure);
}

const struct pathprof_graph_block *cfg_code_of(const struct cfg *cfg, uint32_t block)
{
	return &cfg->target->graph->blocks[cfg->target->flow.nodes[block].block];
}

char *cfg_place(const struct cfg *cfg, uint32_t block)
{
	const struct pathprof_graph *graph = cfg->target->graph;
	const struct pathprof_graph_part *first;
	uint32_t start;

	if (cfg->target->counted)
		return ctl_printf("block %" PRIu32, block);
	first = &graph->parts[graph->functions[cfg->target->function].first_part];
	start = cfg_code_of(cfg, block)->start;
	if (start >= first->start && start < first->end)
		return ctl_printf("+0x%" PRIx32, start - first->start);
	return ctl_printf("0x%" PRIx32, start);
}

const char *cfg_kind_name(uint32_t kind)
{
	static const char *const names[PATHPROF_EDGE_KIND_CNT + 1] = {
		"falls through", "not taken", "taken", "jump",      "switch", "indirect",
		"goes on",       "unwind",    "call",  "tail call", "branch"};

	return kind <= CFG_WAY ? names[kind] : "unknown";
}

char *cfg_outside(const struct cfg *cfg, const struct cfg_edge *edge)
{
	const struct pathprof_graph *graph = cfg->target->graph;
	const struct pathprof_graph_block *block;
	const char *name;
	uint64_t start;

	if (edge->leads_to == PATHPROF_GRAPH_NONE)
		return ctl_strdup("elsewhere");
	block = &graph->blocks[edge->leads_to];
	name = pathprof_graph_name(graph, block->function);
	if (!*name)
		return ctl_printf("%s+0x%" PRIx32, text_base_name(cfg->target->binary_name),
				  block->start);
	start = graph->parts[graph->functions[block->function].first_part].start;
	return symbols_readable(cfg->target->symbols, &cfg->target->id, cfg->target->binary_name,
				name, start);
}
