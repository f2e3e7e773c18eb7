// SPDX-License-Identifier: GPL-2.0-or-later
/* Reconstructors by process: see rebuild.h and docs/reconstruction.md. */
#include "rebuild.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process_code.h"

struct process {
	struct pathprof_reconstructor *r; /* NULL: free */
	uint32_t pid, exec_cnt, change_cnt;
	uint64_t start_time;
	uint64_t used; /* when it was met last, by the count of windows */
};

struct pp_rebuild {
	struct pp_resolver resolver;
	struct pp_process_codes *codes;
	struct process processes[PP_REBUILD_PROCESS_MAX];
	struct pp_counted who; /* whose window is in hand */
	uint64_t now;          /* counts windows */
	uint64_t refused[PATHPROF_REFUSED_CNT];
};

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct pp_rebuild *rebuild = context;
	const struct pp_resolver *resolver = &rebuild->resolver;
	struct pathprof_code *code = NULL;
	struct pp_location where;
	int r = resolver->resolve(resolver->context, (pid_t)rebuild->who.pid, rebuild->who.time_ns,
				  address, &where);

	if (r < 0)
		return r;
	if (where.id.kind == PATHPROF_ID_JIT || !where.name || address < where.start ||
	    address >= where.end || where.offset < address - where.start)
		return -ENOENT;
	r = pp_process_codes_get(rebuild->codes, &where.id, where.name, (pid_t)rebuild->who.pid,
				 rebuild->who.time_ns, &code);
	if (r < 0)
		return r;
	*ret_place = (struct pathprof_mapping_place){
		.code = code,
		.start = where.start,
		.end = where.end,
		.offset = where.offset - (address - where.start),
	};
	return 0;
}

int pp_rebuild_new(struct pp_rebuild **ret_rebuild, const struct pp_resolver *resolver)
{
	struct pp_rebuild *rebuild = calloc(1, sizeof(*rebuild));

	if (!rebuild)
		return -ENOMEM;
	rebuild->resolver = *resolver;
	if (pp_process_codes_new(&rebuild->codes) < 0) {
		free(rebuild);
		return -ENOMEM;
	}
	*ret_rebuild = rebuild;
	return 0;
}

void pp_rebuild_free(struct pp_rebuild *rebuild)
{
	if (!rebuild)
		return;
	for (int i = 0; i < PP_REBUILD_PROCESS_MAX; i++)
		pathprof_reconstructor_free(rebuild->processes[i].r);
	pp_process_codes_free(rebuild->codes);
	free(rebuild);
}

uint64_t pp_rebuild_refused(const struct pp_rebuild *rebuild, enum pathprof_refusal refusal)
{
	return rebuild->refused[refusal];
}

/* ---------------------------------------------------------------- processes */

static bool is_of(const struct process *p, const struct pp_track_process *known)
{
	return p->r && p->pid == (uint32_t)known->pid && p->start_time == known->start_time &&
	       p->exec_cnt == known->exec_cnt;
}

/* The slot of the known process, else a free one, else the least recently used. */
static struct process *slot_for(struct pp_rebuild *rebuild, const struct pp_track_process *known)
{
	struct process *oldest = &rebuild->processes[0];

	for (int i = 0; i < PP_REBUILD_PROCESS_MAX; i++) {
		struct process *p = &rebuild->processes[i];

		if (is_of(p, known))
			return p;
		if (!p->r || (oldest->r && p->used < oldest->used))
			oldest = p;
	}
	return oldest;
}

static int adopt(struct pp_rebuild *rebuild, struct process *p,
		 const struct pp_track_process *known)
{
	if (p->r)
		pathprof_reconstructor_forget(p->r);
	else if (pathprof_reconstructor_new(&p->r, locate, rebuild) < 0)
		return -ENOMEM;
	p->pid = (uint32_t)known->pid;
	p->start_time = known->start_time;
	p->exec_cnt = known->exec_cnt;
	p->change_cnt = known->change_cnt;
	return 0;
}

/* Reconstructors hold handles of the files, so all of them forget these together. */
static void make_room(struct pp_rebuild *rebuild)
{
	if (!pp_process_codes_are_full(rebuild->codes))
		return;
	for (int i = 0; i < PP_REBUILD_PROCESS_MAX; i++)
		if (rebuild->processes[i].r)
			pathprof_reconstructor_forget(rebuild->processes[i].r);
	pp_process_codes_clear(rebuild->codes);
}

static int find_process(struct pp_rebuild *rebuild, const struct pp_counted *who,
			struct pathprof_reconstructor **ret_r)
{
	const struct pp_resolver *resolver = &rebuild->resolver;
	const struct pp_track_process *known =
		resolver->process(resolver->context, (pid_t)who->pid, who->time_ns);
	struct process *p;

	if (!known ||
	    (who->start_time && known->start_time && who->start_time != known->start_time))
		return -ESRCH;
	make_room(rebuild);
	p = slot_for(rebuild, known);
	if ((!is_of(p, known) || p->change_cnt != known->change_cnt) &&
	    adopt(rebuild, p, known) < 0)
		return -ENOMEM;
	p->used = ++rebuild->now;
	rebuild->who = *who;
	*ret_r = p->r;
	return 0;
}

/* ---------------------------------------------------------------- windows */

int pp_rebuild_window(struct pp_rebuild *rebuild, const struct pp_rebuild_window *window,
		      struct pathprof_branch *branches, uint32_t *ret_cnt)
{
	struct pathprof_reconstructor *r;
	uint32_t at;
	int refusal = find_process(rebuild, &window->who, &r);

	if (refusal < 0)
		return refusal;
	if (window->start)
		refusal = pathprof_reconstruct_from(r, *window->start, window->taken,
						    window->taken_cnt, branches, ret_cnt, &at);
	else
		refusal = pathprof_reconstruct(r, window->taken, window->taken_cnt, branches,
					       ret_cnt, &at);
	if (refusal > 0 && refusal < PATHPROF_REFUSED_CNT)
		rebuild->refused[refusal]++;
	return refusal;
}
