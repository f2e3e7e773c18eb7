// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Processes of a recording and where they have one binary; see pp_recording_spaces.h. */
#include "pp_recording_spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

void pp_recording_spaces_release(struct pp_recording_spaces *s)
{
	free(s->list);
	*s = (struct pp_recording_spaces){0};
}

/* ---------------------------------------------------------------- processes */

static uint32_t *bucket_of(struct pp_recording_spaces *s, uint32_t pid)
{
	return &s->buckets[(pid * 2654435761u >> 16) & (PP_SPACE_BUCKETS - 1)];
}

static struct pp_recording_space *look_up(const struct pp_recording_spaces *s, uint32_t pid)
{
	uint32_t at = *bucket_of((struct pp_recording_spaces *)s, pid);

	while (at && s->list[at - 1].pid != pid)
		at = s->list[at - 1].next;
	return at ? &s->list[at - 1] : NULL;
}

const struct pp_recording_space *pp_recording_spaces_find(const struct pp_recording_spaces *s,
							  uint32_t pid)
{
	return look_up(s, pid);
}

static int take(struct pp_recording_spaces *s, uint32_t *ret_number)
{
	if (s->free) {
		*ret_number = s->free - 1;
		s->free = s->list[*ret_number].next;
		return 0;
	}
	if (s->cnt == PP_SPACE_PROCESS_MAX)
		return -ENOSPC;
	if (pp_grow(&s->list, s->cnt, &s->room) < 0)
		return -ENOMEM;
	*ret_number = s->cnt++;
	return 0;
}

static int add(struct pp_recording_spaces *s, uint32_t pid, struct pp_recording_space **ret_space)
{
	uint32_t *bucket = bucket_of(s, pid), number = 0;
	int r = take(s, &number);

	if (r < 0)
		return r;
	s->list[number] = (struct pp_recording_space){.pid = pid, .next = *bucket};
	*bucket = number + 1;
	*ret_space = &s->list[number];
	return 0;
}

void pp_recording_spaces_forget(struct pp_recording_spaces *s, uint32_t pid)
{
	uint32_t *link = bucket_of(s, pid), number;

	while (*link && s->list[*link - 1].pid != pid)
		link = &s->list[*link - 1].next;
	if (!*link)
		return;
	number = *link - 1;
	*link = s->list[number].next;
	s->list[number].next = s->free;
	s->free = number + 1;
}

int pp_recording_spaces_fork(struct pp_recording_spaces *s, uint32_t pid, uint32_t parent)
{
	const struct pp_recording_space *from;
	struct pp_recording_space *to = NULL, copy;
	int r;

	if (pid == parent)
		return 0;
	pp_recording_spaces_forget(s, pid);
	from = look_up(s, parent);
	if (!from)
		return 0;
	/* The list may move. */
	copy = *from;
	r = add(s, pid, &to);
	if (r < 0)
		return r;
	to->piece_cnt = copy.piece_cnt;
	memcpy(to->pieces, copy.pieces, sizeof(to->pieces));
	return 0;
}

/* ---------------------------------------------------------------- mappings */

static int put(struct pp_recording_space *space, const struct pp_space_piece *piece)
{
	if (space->piece_cnt == PP_SPACE_PIECE_MAX)
		return -E2BIG;
	space->pieces[space->piece_cnt++] = *piece;
	return 0;
}

/* What is left of piece i when [start, end) is taken out of it; it may be two. */
static int cut(struct pp_recording_space *space, uint32_t i, uint64_t start, uint64_t end)
{
	struct pp_space_piece whole = space->pieces[i], behind = whole;

	space->pieces[i].end = start;
	behind.start = end;
	behind.offset += end - whole.start;
	if (whole.start >= start)
		space->pieces[i] = space->pieces[--space->piece_cnt];
	return whole.end > end ? put(space, &behind) : 0;
}

int pp_recording_spaces_unmap(struct pp_recording_spaces *s, uint32_t pid, uint64_t start,
			      uint64_t end)
{
	struct pp_recording_space *space = look_up(s, pid);
	int r = 0;

	for (uint32_t i = 0; space && i < space->piece_cnt;) {
		const struct pp_space_piece *p = &space->pieces[i];
		int rc = 0;

		if (p->start < end && start < p->end)
			rc = cut(space, i, start, end);
		else
			i++;
		r = r ? r : rc;
	}
	if (space && !space->piece_cnt)
		pp_recording_spaces_forget(s, pid);
	return r;
}

bool pp_recording_spaces_holds(const struct pp_recording_spaces *s, uint32_t pid, uint64_t start,
			       uint64_t end)
{
	const struct pp_recording_space *space = look_up(s, pid);

	for (uint32_t i = 0; space && i < space->piece_cnt; i++)
		if (space->pieces[i].start <= start && end <= space->pieces[i].end)
			return true;
	return false;
}

int pp_recording_spaces_map(struct pp_recording_spaces *s, uint32_t pid,
			    const struct pp_space_piece *piece)
{
	struct pp_recording_space *space;
	int r;

	if (piece->start >= piece->end || piece->end >> 63 ||
	    piece->offset > UINT32_MAX - 1 - (piece->end - piece->start) ||
	    piece->end - piece->start >= UINT32_MAX)
		return -EINVAL;
	r = pp_recording_spaces_unmap(s, pid, piece->start, piece->end);
	if (r < 0)
		return r;
	space = look_up(s, pid);
	if (!space)
		r = add(s, pid, &space);
	return r < 0 ? r : put(space, piece);
}
