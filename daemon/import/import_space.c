// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes of a recording: see import_space.h. Entries lie in one array by number; a table of
 * chains finds the current one of a pid. Files that nothing maps any more go at each expiry.
 */
#include "import_space.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vector.h"
#include "pathprof/mapped.h"

#define BUCKET_CNT 4096
#define NONE       0 /* of chains: number + 1 */
/* start times are told in clock ticks of a hundredth of a second, as /proc has them */
#define TICK_NS UINT64_C(10000000)

struct pp_import_spaces {
	struct pp_files files;
	struct pp_import_process *list; /* by number */
	uint32_t cnt, room;
	uint32_t free;     /* chain of entries free */
	uint32_t live_cnt; /* entries taken */
	uint32_t generation;
	uint32_t buckets[BUCKET_CNT];
	uint32_t last; /* number + 1 found last: most samples ask for it again */
	struct pp_import_space_stats stats;
};

int pp_import_spaces_new(struct pp_import_spaces **ret_spaces)
{
	struct pp_import_spaces *spaces = calloc(1, sizeof(*spaces));

	if (!spaces)
		return -ENOMEM;
	if (pp_files_init(&spaces->files) < 0) {
		free(spaces);
		return -ENOMEM;
	}
	*ret_spaces = spaces;
	return 0;
}

void pp_import_spaces_free(struct pp_import_spaces *spaces)
{
	if (!spaces)
		return;
	for (uint32_t i = 0; i < spaces->cnt; i++)
		if (spaces->list[i].live)
			pp_space_put(spaces->list[i].space);
	free(spaces->list);
	pp_files_release(&spaces->files);
	free(spaces);
}

struct pp_import_process *pp_import_spaces_at(struct pp_import_spaces *spaces, uint32_t number)
{
	return &spaces->list[number];
}

void pp_import_spaces_stats(const struct pp_import_spaces *spaces,
			    struct pp_import_space_stats *ret_stats)
{
	*ret_stats = spaces->stats;
}

/* ---------------------------------------------------------------- entries */

static uint32_t bucket_of(uint32_t pid)
{
	return (pid * 2654435761u >> 16) & (BUCKET_CNT - 1);
}

/* Number + 1 of who the pid is now. */
static uint32_t look_up(const struct pp_import_spaces *spaces, uint32_t pid)
{
	uint32_t at = spaces->buckets[bucket_of(pid)];

	while (at != NONE && spaces->list[at - 1].pid != pid)
		at = spaces->list[at - 1].next;
	return at;
}

static int take_entry(struct pp_import_spaces *spaces, uint32_t *ret_number)
{
	if (spaces->free != NONE) {
		*ret_number = spaces->free - 1;
		spaces->free = spaces->list[*ret_number].next;
		return 0;
	}
	if (spaces->cnt == PP_IMPORT_PROCESS_MAX)
		return -ENOSPC;
	if (pp_grow(&spaces->list, spaces->cnt, &spaces->room) < 0)
		return -ENOMEM;
	*ret_number = spaces->cnt++;
	return 0;
}

static void give_entry(struct pp_import_spaces *spaces, uint32_t number)
{
	struct pp_import_process *p = &spaces->list[number];

	pp_space_put(p->space);
	pp_file_put(p->exe);
	*p = (struct pp_import_process){.next = spaces->free};
	spaces->free = number + 1;
}

/* space NULL: an empty one; else it becomes the entry's. */
static int add(struct pp_import_spaces *spaces, uint32_t pid, struct pp_space *space,
	       uint32_t *ret_number)
{
	uint32_t *bucket = &spaces->buckets[bucket_of(pid)], number = 0;
	int r = space ? 0 : pp_space_new(&space);

	if (r == 0) {
		r = take_entry(spaces, &number);
		if (r < 0)
			pp_space_put(space);
	}
	if (r < 0) {
		spaces->stats.processes++;
		return r;
	}
	spaces->list[number] = (struct pp_import_process){
		.pid = pid,
		.next = *bucket,
		.generation = ++spaces->generation,
		.space = space,
		.current = true,
		.live = true,
	};
	*bucket = number + 1;
	*ret_number = number;
	return 0;
}

static void unlink_entry(struct pp_import_spaces *spaces, uint32_t number)
{
	uint32_t *link = &spaces->buckets[bucket_of(spaces->list[number].pid)];

	while (*link != number + 1)
		link = &spaces->list[*link - 1].next;
	*link = spaces->list[number].next;
	spaces->last = NONE;
}

/* Its pid is no more, or somebody else's. What was counted may still ask for it. */
static void end(struct pp_import_spaces *spaces, uint32_t number)
{
	struct pp_import_process *p = &spaces->list[number];

	unlink_entry(spaces, number);
	p->current = false;
	p->next = NONE;
	if (!p->used)
		give_entry(spaces, number);
}

void pp_import_spaces_expire(struct pp_import_spaces *spaces)
{
	for (uint32_t i = 0; i < spaces->cnt; i++) {
		struct pp_import_process *p = &spaces->list[i];

		if (!p->live)
			continue;
		p->used = false;
		if (!p->current)
			give_entry(spaces, i);
	}
	pp_files_sweep(&spaces->files);
}

int pp_import_spaces_find(struct pp_import_spaces *spaces, uint32_t pid, uint32_t *ret_number)
{
	uint32_t at = spaces->last;
	int r;

	if (at == NONE || spaces->list[at - 1].pid != pid)
		at = look_up(spaces, pid);
	if (at == NONE) {
		r = add(spaces, pid, NULL, ret_number);
		if (r < 0)
			return r;
		at = *ret_number + 1;
	}
	spaces->last = at;
	*ret_number = at - 1;
	return 0;
}

/* ---------------------------------------------------------------- mappings */

static bool is_sane(const struct pathprof_recorded_mapping *m)
{
	return m->start < m->end && m->end - m->start <= UINT64_MAX - m->offset &&
	       m->end >> 63 == 0;
}

static int get_file(struct pp_import_spaces *spaces, const struct pathprof_recorded_mapping *m,
		    struct pp_file **ret_file)
{
	_cleanup_free_ char *name = strndup(m->name, pathprof_mapped_name_len(m->name));

	return name ? pp_files_get(&spaces->files, &m->id, NULL, name, ret_file) : -ENOMEM;
}

static int place_piece(struct pp_import_spaces *spaces, struct pp_import_process *p,
		       const struct pathprof_recorded_mapping *m)
{
	struct pp_piece piece = {.start = m->start, .end = m->end, .offset = m->offset};
	int r;

	if (pathprof_mapped_is_memory(m->name, &m->id))
		return pp_space_cover(p->space, m->start, m->end, m->executable, m->time_ns);
	if (!m->executable)
		return pp_space_unmap(p->space, m->start, m->end, m->time_ns);
	r = get_file(spaces, m, &piece.file);
	if (r == 0)
		r = pp_space_map(p->space, &piece, m->time_ns);
	if (r == 0 && !p->exe && m->name[0] == '/')
		p->exe = pp_file_ref(piece.file);
	pp_file_put(piece.file);
	return r;
}

void pp_import_spaces_map(struct pp_import_spaces *spaces,
			  const struct pathprof_recorded_mapping *m)
{
	struct pp_import_process *p;
	uint32_t number, before;
	bool shared = false;
	int r;

	if (m->pid == PATHPROF_RECORDED_KERNEL)
		return;
	r = is_sane(m) ? pp_import_spaces_find(spaces, m->pid, &number) : -EINVAL;
	if (r == 0) {
		p = &spaces->list[number];
		shared = p->space->refs > 1;
		r = pp_space_own(&p->space);
	}
	if (r == 0) {
		before = p->space->change_cnt;
		r = place_piece(spaces, p, m);
		if (shared || p->space->change_cnt != before)
			p->generation = ++spaces->generation;
	}
	spaces->stats.mappings += r < 0;
}

int pp_import_spaces_place(const struct pp_import_spaces *spaces, uint32_t number, uint64_t address,
			   struct pp_import_place *ret_place)
{
	const struct pp_piece *piece = pp_space_find(spaces->list[number].space, 0, address);

	if (!piece)
		return -ENOENT;
	*ret_place = (struct pp_import_place){piece->file, piece->start, piece->end, piece->offset};
	return 0;
}

/* ---------------------------------------------------------------- changes */

static void name(struct pp_import_process *p, const char *comm)
{
	if (comm)
		snprintf(p->comm, sizeof(p->comm), "%.*s", (int)sizeof(p->comm) - 1, comm);
}

static void on_fork(struct pp_import_spaces *spaces, const struct pathprof_recorded_process *c)
{
	uint32_t parent, child, old = look_up(spaces, c->pid);
	uint64_t start_time = c->time_ns / TICK_NS;

	if (c->pid == c->parent)
		return;
	if (old != NONE)
		end(spaces, old - 1);
	if (pp_import_spaces_find(spaces, c->parent, &parent) < 0 ||
	    add(spaces, c->pid, pp_space_ref(spaces->list[parent].space), &child) < 0)
		return;
	spaces->list[child].start_time = start_time;
	spaces->list[child].generation = spaces->list[parent].generation;
	spaces->list[child].exe = pp_file_ref(spaces->list[parent].exe);
	memcpy(spaces->list[child].comm, spaces->list[parent].comm,
	       sizeof(spaces->list[child].comm));
}

static void on_exec(struct pp_import_spaces *spaces, const struct pathprof_recorded_process *c)
{
	struct pp_import_process old = {.exec_cnt = UINT32_MAX};
	uint32_t at = look_up(spaces, c->pid), number;

	if (at != NONE) {
		old = spaces->list[at - 1];
		end(spaces, at - 1);
	}
	if (add(spaces, c->pid, NULL, &number) < 0)
		return;
	/* Not known before: this exec is the first thing seen of it. */
	spaces->list[number].exec_cnt = at != NONE ? old.exec_cnt + 1 : 0;
	spaces->list[number].start_time = old.start_time;
	name(&spaces->list[number], c->comm);
}

void pp_import_spaces_change(struct pp_import_spaces *spaces,
			     const struct pathprof_recorded_process *c)
{
	uint32_t number, at;

	switch (c->change) {
	case PATHPROF_RECORDED_COMM:
		if (pp_import_spaces_find(spaces, c->pid, &number) == 0)
			name(&spaces->list[number], c->comm);
		return;
	case PATHPROF_RECORDED_EXEC:
		on_exec(spaces, c);
		return;
	case PATHPROF_RECORDED_FORK:
		on_fork(spaces, c);
		return;
	case PATHPROF_RECORDED_EXIT:
		at = look_up(spaces, c->pid);
		if (at != NONE)
			end(spaces, at - 1);
		return;
	}
}
