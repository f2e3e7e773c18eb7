// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The core's path stack behind the library's interface: whole streams, single bursts, segments. */
#include "pathprof/paths.h"

#include <errno.h>
#include <stdlib.h>

#include "../../core/pp_path_stack.h"

struct pathprof_path_stack {
	struct pp_path_config config;
	struct pp_path_stack stack;
};

static void set_mapping(struct pp_path_config *config, enum pathprof_mapping mapping)
{
	if (mapping == PATHPROF_MAPPING_WPP)
		pp_path_config_wpp(config);
	else
		pp_path_config_bl(config);
}

int pathprof_path_stack_new(struct pathprof_path_stack **ret_stack,
			    const struct pathprof_path_settings *settings)
{
	struct pathprof_path_stack *s;

	if (settings->max_length < 1 || settings->max_length > PP_PATH_LENGTH_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	set_mapping(&s->config, settings->mapping);
	s->config.max_length = settings->max_length;
	s->config.extend = settings->extend;
	s->config.extensions = settings->extensions;
	*ret_stack = s;
	return 0;
}

void pathprof_path_stack_free(struct pathprof_path_stack *stack)
{
	free(stack);
}

static struct pp_branch to_core(const struct pathprof_branch *b, uint64_t events)
{
	return (struct pp_branch){.from = b->from,
				  .target = b->target,
				  .next = b->next,
				  .info = PP_BRANCH_INFO(b->kind, b->taken != 0),
				  .events = events};
}

static struct pathprof_path_popped from_core(const struct pp_path *p)
{
	return (struct pathprof_path_popped){.start = p->start,
					     .events = p->events,
					     .length = PP_DESC_LENGTH(p->desc),
					     .outcomes = PP_DESC_OUTCOMES(p->desc),
					     .span = p->span};
}

bool pathprof_path_stack_step(struct pathprof_path_stack *stack,
			      const struct pathprof_branch *branch, uint64_t events,
			      struct pathprof_path_popped *ret_path)
{
	struct pp_branch b = to_core(branch, events);
	struct pp_path path;

	if (!pp_path_stack_step(&stack->stack, &stack->config, &b, &path))
		return false;
	*ret_path = from_core(&path);
	return true;
}

bool pathprof_path_stack_drain(struct pathprof_path_stack *stack,
			       struct pathprof_path_popped *ret_path)
{
	struct pp_path path;

	if (!stack->stack.depth)
		return false;
	pp_path_pop(&stack->stack, &path);
	*ret_path = from_core(&path);
	return true;
}

static bool records_are_sound(const struct pathprof_branch *branches, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (branches[i].kind == PP_KIND_NONE || branches[i].kind >= PP_KIND_CNT ||
		    branches[i].taken > 1)
			return false;
	return cnt <= PATHPROF_BURST_MAX;
}

static uint32_t count_taken(const struct pathprof_branch *branches, uint32_t cnt)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < cnt; i++)
		taken += branches[i].taken;
	return taken;
}

/* The places in a window of n units where a path of this span lies whole, as a weight. */
static double weight_of(uint64_t n, uint64_t span)
{
	/* A path pushed by a not-taken branch may span the whole window: one place. */
	uint64_t places = span < n ? n - span : 1;

	return n ? (double)n / (double)places : 1;
}

int pathprof_paths_of_window(const struct pathprof_branch *branches, uint32_t branch_cnt,
			     uint32_t horizon, enum pathprof_mapping mapping, pathprof_path_fn *fn,
			     void *context)
{
	struct pp_path_config config;
	struct pp_path_stack stack = {.depth = 0};
	struct pp_path path;
	uint32_t n;
	int paths = 0;

	if (!records_are_sound(branches, branch_cnt))
		return -EINVAL;
	set_mapping(&config, mapping);
	n = horizon ? horizon : count_taken(branches, branch_cnt);
	for (uint32_t i = 0; i < branch_cnt; i++) {
		struct pp_branch b = to_core(&branches[i], branches[i].insns);

		/* The core measures spans in taken branches; here its clock counts instructions. */
		if (horizon)
			stack.taken += branches[i].insns - PP_BRANCH_TAKEN(b.info);
		if (!pp_path_stack_step(&stack, &config, &b, &path))
			continue;
		fn(context, &(struct pathprof_path_seen){
				    .start = path.start,
				    .length = PP_DESC_LENGTH(path.desc),
				    .outcomes = PP_DESC_OUTCOMES(path.desc),
				    .span = (uint32_t)path.span,
				    .last = i,
				    .insns = (uint32_t)path.events,
				    .weight = weight_of(n, path.span),
			    });
		paths++;
	}
	return paths;
}

int pathprof_paths_of_burst(const struct pathprof_branch *branches, uint32_t branch_cnt,
			    enum pathprof_mapping mapping, pathprof_path_fn *fn, void *context)
{
	return pathprof_paths_of_window(branches, branch_cnt, 0, mapping, fn, context);
}

/* ---------------------------------------------------------------- segments */

/* The piece before the next one, and whether a call or a return led from it. */
struct joining {
	const struct pathprof_branch *branches;
	uint32_t n; /* what the window's spans are counted against */
	struct pathprof_path_seen first;
	bool crosses;
	int cnt;
	pathprof_segment_fn *fn;
	void *context;
};

static bool is_crossing(const struct pathprof_branch *branch)
{
	return branch->kind == PP_KIND_CALL || branch->kind == PP_KIND_ICALL ||
	       branch->kind == PP_KIND_RET;
}

/* A piece begins where the one before it ended, for nothing lies between. */
static void join(void *context, const struct pathprof_path_seen *piece)
{
	struct joining *j = context;
	struct pathprof_segment_seen segment;

	if (j->crosses) {
		segment = (struct pathprof_segment_seen){
			.first = j->first,
			.second = *piece,
			.span = j->first.span + piece->span,
		};
		segment.weight = weight_of(j->n, segment.span);
		j->fn(j->context, &segment);
		j->cnt++;
	}
	j->first = *piece;
	j->crosses = is_crossing(&j->branches[piece->last]);
}

int pathprof_segments_of_window(const struct pathprof_branch *branches, uint32_t branch_cnt,
				uint32_t horizon, pathprof_segment_fn *fn, void *context)
{
	struct joining j = {.branches = branches, .fn = fn, .context = context};
	int pieces;

	j.n = horizon ? horizon : count_taken(branches, branch_cnt);
	pieces = pathprof_paths_of_window(branches, branch_cnt, horizon, PATHPROF_MAPPING_WPP, join,
					  &j);
	return pieces < 0 ? pieces : j.cnt;
}
