// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Processes of a recording: see pathprof/recorded_spaces.h. Entries lie in one array by number; a
 * table of chains finds the current one of a pid. Files that nothing maps any more go at each
 * expiry.
 */
#include "pathprof/recorded_spaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "pathprof/mapped.h"

#define BUCKET_CNT 4096
#define NONE       0 /* of chains: number + 1 */
/* start times are told in clock ticks of a hundredth of a second, as /proc has them */
#define TICK_NS UINT64_C(10000000)

struct pathprof_recorded_spaces {
	struct pathprof_mapped_files files;
	struct pathprof_recorded_space *list; /* by number */
	uint32_t cnt, room;
	uint32_t free; /* chain of entries free */
	size_t bytes;  /* of entries and spaces */
	uint32_t generation;
	uint32_t buckets[BUCKET_CNT];
	uint32_t last;      /* number + 1 found last: most samples ask for it again */
	uint32_t ended_cnt; /* entries that ended since they were looked through */
	struct pathprof_recorded_spaces_left stats;
};

int pathprof_recorded_spaces_new(struct pathprof_recorded_spaces **ret_spaces)
{
	struct pathprof_recorded_spaces *spaces = calloc(1, sizeof(*spaces));

	if (!spaces)
		return -ENOMEM;
	if (pathprof_mapped_files_init(&spaces->files) < 0) {
		free(spaces);
		return -ENOMEM;
	}
	*ret_spaces = spaces;
	return 0;
}

void pathprof_recorded_spaces_free(struct pathprof_recorded_spaces *spaces)
{
	if (!spaces)
		return;
	for (uint32_t i = 0; i < spaces->cnt; i++)
		if (spaces->list[i].live)
			pathprof_space_put(spaces->list[i].space);
	free(spaces->list);
	pathprof_mapped_files_release(&spaces->files);
	free(spaces);
}

struct pathprof_recorded_space *pathprof_recorded_spaces_at(struct pathprof_recorded_spaces *spaces,
							    uint32_t number)
{
	return &spaces->list[number];
}

void pathprof_recorded_spaces_stats(const struct pathprof_recorded_spaces *spaces,
				    struct pathprof_recorded_spaces_left *ret_stats)
{
	*ret_stats = spaces->stats;
}

/* ---------------------------------------------------------------- entries */

static uint32_t bucket_of(uint32_t pid)
{
	return (pid * 2654435761u >> 16) & (BUCKET_CNT - 1);
}

static void put_space(struct pathprof_recorded_spaces *spaces, struct pathprof_space *space)
{
	if (space->refs == 1)
		spaces->bytes -= pathprof_space_bytes(space);
	pathprof_space_put(space);
}

/* Number + 1 of who the pid is now. */
static uint32_t look_up(const struct pathprof_recorded_spaces *spaces, uint32_t pid)
{
	uint32_t at = spaces->buckets[bucket_of(pid)];

	while (at != NONE && spaces->list[at - 1].pid != pid)
		at = spaces->list[at - 1].next;
	return at;
}

static void give_entry(struct pathprof_recorded_spaces *spaces, uint32_t number)
{
	struct pathprof_recorded_space *p = &spaces->list[number];

	put_space(spaces, p->space);
	pathprof_mapped_file_put(p->exe);
	*p = (struct pathprof_recorded_space){.next = spaces->free};
	spaces->free = number + 1;
}

static void unlink_entry(struct pathprof_recorded_spaces *spaces, uint32_t number)
{
	uint32_t *link = &spaces->buckets[bucket_of(spaces->list[number].pid)];

	while (*link != number + 1)
		link = &spaces->list[*link - 1].next;
	*link = spaces->list[number].next;
	spaces->last = NONE;
}

/* Ends a process whose pid is free or reused. Counts may still refer to it. */
static void end(struct pathprof_recorded_spaces *spaces, uint32_t number)
{
	struct pathprof_recorded_space *p = &spaces->list[number];

	unlink_entry(spaces, number);
	p->current = p->ended = false;
	p->next = NONE;
	if (!p->used)
		give_entry(spaces, number);
}

static bool is_within_bound(const struct pathprof_recorded_spaces *spaces)
{
	return spaces->bytes + spaces->files.bytes < PATHPROF_RECORDED_SPACES_BYTES_MAX;
}

/* An eighth of all must have ended, so each of them costs eight looks at most. */
static void give_ended(struct pathprof_recorded_spaces *spaces)
{
	if (spaces->ended_cnt <= spaces->cnt / 8)
		return;
	for (uint32_t i = 0; i < spaces->cnt; i++)
		if (spaces->list[i].ended && !spaces->list[i].used)
			end(spaces, i);
	spaces->ended_cnt = 0;
}

/* Processes that ended, and files that nothing maps any more, make room. */
static bool has_room(struct pathprof_recorded_spaces *spaces)
{
	if (is_within_bound(spaces))
		return true;
	give_ended(spaces);
	pathprof_mapped_files_sweep(&spaces->files);
	return is_within_bound(spaces);
}

static int take_entry(struct pathprof_recorded_spaces *spaces, uint32_t *ret_number)
{
	if (spaces->free == NONE && !has_room(spaces))
		return -ENOSPC;
	if (spaces->free != NONE) {
		*ret_number = spaces->free - 1;
		spaces->free = spaces->list[*ret_number].next;
		return 0;
	}
	if (pp_grow(&spaces->list, spaces->cnt, &spaces->room) < 0)
		return -ENOMEM;
	spaces->bytes += sizeof(spaces->list[0]);
	*ret_number = spaces->cnt++;
	return 0;
}

static int new_space(struct pathprof_recorded_spaces *spaces, struct pathprof_space **ret_space)
{
	int r = has_room(spaces) ? pathprof_space_new(ret_space) : -ENOSPC;

	if (r < 0)
		return r;
	(*ret_space)->forgets = true;
	spaces->bytes += pathprof_space_bytes(*ret_space);
	return 0;
}

/* space NULL: an empty one; else it becomes the entry's. */
static int add(struct pathprof_recorded_spaces *spaces, uint32_t pid, struct pathprof_space *space,
	       uint32_t *ret_number)
{
	uint32_t *bucket = &spaces->buckets[bucket_of(pid)], number = 0;
	int r = space ? 0 : new_space(spaces, &space);

	if (r == 0) {
		r = take_entry(spaces, &number);
		if (r < 0)
			put_space(spaces, space);
	}
	if (r < 0) {
		spaces->stats.processes++;
		return r;
	}
	spaces->list[number] = (struct pathprof_recorded_space){
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

void pathprof_recorded_spaces_expire(struct pathprof_recorded_spaces *spaces)
{
	spaces->ended_cnt = 0;
	for (uint32_t i = 0; i < spaces->cnt; i++) {
		struct pathprof_recorded_space *p = &spaces->list[i];

		if (!p->live)
			continue;
		p->used = false;
		spaces->ended_cnt += p->ended;
		if (!p->current)
			give_entry(spaces, i);
	}
	pathprof_mapped_files_sweep(&spaces->files);
}

/* Looks a process up; it counts as running again, since it is asked for. */
static uint32_t look_up_again(struct pathprof_recorded_spaces *spaces, uint32_t pid)
{
	if (spaces->last == NONE || spaces->list[spaces->last - 1].pid != pid)
		spaces->last = look_up(spaces, pid);
	if (spaces->last != NONE)
		spaces->list[spaces->last - 1].ended = false;
	return spaces->last;
}

int pathprof_recorded_spaces_find(struct pathprof_recorded_spaces *spaces, uint32_t pid,
				  uint32_t *ret_number)
{
	uint32_t at = look_up_again(spaces, pid);
	int r;

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

const struct pathprof_recorded_space *
pathprof_recorded_spaces_look(struct pathprof_recorded_spaces *spaces, uint32_t pid)
{
	uint32_t at = look_up_again(spaces, pid);

	return at == NONE ? NULL : &spaces->list[at - 1];
}

/* ---------------------------------------------------------------- mappings */

static bool is_sane(const struct pathprof_recorded_mapping *m)
{
	return m->start < m->end && m->end - m->start <= UINT64_MAX - m->offset &&
	       m->end >> 63 == 0;
}

static int get_file(struct pathprof_recorded_spaces *spaces,
		    const struct pathprof_recorded_mapping *m,
		    struct pathprof_mapped_file **ret_file)
{
	char *name = strndup(m->name, pathprof_mapped_name_len(m->name));
	int r = name ? pathprof_mapped_files_get(&spaces->files, &m->id, NULL, name, ret_file)
		     : -ENOMEM;

	free(name);
	return r;
}

static int place_file(struct pathprof_recorded_spaces *spaces, struct pathprof_recorded_space *p,
		      const struct pathprof_recorded_mapping *m, uint32_t mark)
{
	struct pathprof_mapped_piece piece = {
		.start = m->start, .end = m->end, .offset = m->offset};
	int r = get_file(spaces, m, &piece.file);

	if (r < 0)
		return r;
	piece.file->mark = mark;
	r = pathprof_space_map(p->space, &piece, m->time_ns);
	p->marked |= r == 0 && mark;
	if (r == 0 && !p->exe && m->name[0] == '/')
		p->exe = pathprof_mapped_file_ref(piece.file);
	pathprof_mapped_file_put(piece.file);
	return r;
}

static int place_piece(struct pathprof_recorded_spaces *spaces, struct pathprof_recorded_space *p,
		       const struct pathprof_recorded_mapping *m, uint32_t mark)
{
	if (pathprof_mapped_is_memory(m->name, &m->id))
		return pathprof_space_cover(p->space, m->start, m->end, m->executable, m->time_ns);
	if (!m->executable)
		return pathprof_space_unmap(p->space, m->start, m->end, m->time_ns);
	return place_file(spaces, p, m, mark);
}

/* Others may share the space. */
static int change_space(struct pathprof_recorded_spaces *spaces, struct pathprof_recorded_space *p,
			const struct pathprof_recorded_mapping *m, uint32_t mark)
{
	bool shared = p->space->refs > 1;
	size_t bytes = shared ? 0 : pathprof_space_bytes(p->space);
	uint32_t before;
	int r = pathprof_space_own(&p->space);

	if (r < 0)
		return r;
	before = p->space->change_cnt;
	r = place_piece(spaces, p, m, mark);
	if (shared || p->space->change_cnt != before)
		p->generation = ++spaces->generation;
	spaces->bytes += pathprof_space_bytes(p->space) - bytes;
	return r;
}

int pathprof_recorded_spaces_map(struct pathprof_recorded_spaces *spaces,
				 const struct pathprof_recorded_mapping *m, uint32_t mark)
{
	uint32_t number;
	int r;

	/* [vsyscall] is where the kernel is. */
	if (m->pid == PATHPROF_RECORDED_KERNEL || m->start >> 63)
		return 0;
	r = !is_sane(m)         ? -EINVAL
	    : !has_room(spaces) ? -ENOSPC
				: pathprof_recorded_spaces_find(spaces, m->pid, &number);
	if (r == 0)
		r = change_space(spaces, &spaces->list[number], m, mark);
	spaces->stats.mappings += r < 0;
	return r;
}

int pathprof_recorded_spaces_place(const struct pathprof_recorded_spaces *spaces, uint32_t number,
				   uint64_t address, struct pathprof_space_place *ret_place)
{
	const struct pathprof_mapped_piece *piece =
		pathprof_space_find(spaces->list[number].space, 0, address);

	if (!piece)
		return -ENOENT;
	*ret_place =
		(struct pathprof_space_place){piece->file, piece->start, piece->end, piece->offset};
	return 0;
}

/* ---------------------------------------------------------------- changes */

static void name(struct pathprof_recorded_space *p, const char *comm)
{
	if (comm)
		snprintf(p->comm, sizeof(p->comm), "%.*s", (int)sizeof(p->comm) - 1, comm);
}

static int on_fork(struct pathprof_recorded_spaces *spaces,
		   const struct pathprof_recorded_process *c)
{
	uint32_t parent, child, old = look_up(spaces, c->pid);
	uint64_t start_time = c->time_ns / TICK_NS;
	int r;

	if (c->pid == c->parent)
		return 0;
	if (old != NONE)
		end(spaces, old - 1);
	r = pathprof_recorded_spaces_find(spaces, c->parent, &parent);
	if (r == 0)
		r = add(spaces, c->pid, pathprof_space_ref(spaces->list[parent].space), &child);
	if (r < 0)
		return r;
	spaces->list[child].start_time = start_time;
	spaces->list[child].generation = spaces->list[parent].generation;
	spaces->list[child].marked = spaces->list[parent].marked;
	spaces->list[child].exe = pathprof_mapped_file_ref(spaces->list[parent].exe);
	memcpy(spaces->list[child].comm, spaces->list[parent].comm,
	       sizeof(spaces->list[child].comm));
	return 0;
}

static int on_exec(struct pathprof_recorded_spaces *spaces,
		   const struct pathprof_recorded_process *c)
{
	struct pathprof_recorded_space old = {.exec_cnt = UINT32_MAX};
	uint32_t at = look_up(spaces, c->pid), number;
	int r;

	if (at != NONE) {
		old = spaces->list[at - 1];
		end(spaces, at - 1);
	}
	r = add(spaces, c->pid, NULL, &number);
	if (r < 0)
		return r;
	/* Not known before: this exec is the first thing seen of it. */
	spaces->list[number].exec_cnt = at != NONE ? old.exec_cnt + 1 : 0;
	spaces->list[number].start_time = old.start_time;
	name(&spaces->list[number], c->comm);
	return 0;
}

/*
 * The first thread is the one that recordings tell of, and others may run on. So the entry stays
 * until its pid is given away or its room is needed.
 */
static void on_exit_of_first(struct pathprof_recorded_spaces *spaces, uint32_t pid)
{
	uint32_t at = look_up(spaces, pid);

	if (at == NONE || spaces->list[at - 1].ended)
		return;
	spaces->list[at - 1].ended = true;
	spaces->ended_cnt++;
}

int pathprof_recorded_spaces_change(struct pathprof_recorded_spaces *spaces,
				    const struct pathprof_recorded_process *c)
{
	uint32_t number;
	int r = 0;

	switch (c->change) {
	case PATHPROF_RECORDED_COMM:
		r = pathprof_recorded_spaces_find(spaces, c->pid, &number);
		if (r == 0)
			name(&spaces->list[number], c->comm);
		break;
	case PATHPROF_RECORDED_EXEC:
		return on_exec(spaces, c);
	case PATHPROF_RECORDED_FORK:
		return on_fork(spaces, c);
	case PATHPROF_RECORDED_EXIT:
		on_exit_of_first(spaces, c->pid);
		break;
	}
	return r;
}
