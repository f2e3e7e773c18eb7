// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Processes of a recording and where they have one binary; see pp_recording_spaces.h. */
#include "pp_recording_spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

void pp_recording_spaces_release(struct pp_recording_spaces *s)
{
	for (uint32_t i = 0; i < s->cnt; i++)
		free(s->list[i].pieces);
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
	if (s->bytes + PP_SPACE_PROCESS_BYTES > PP_SPACE_BYTES_MAX)
		return -ENOSPC;
	if (pp_grow(&s->list, s->cnt, &s->room) < 0)
		return -ENOMEM;
	s->bytes += PP_SPACE_PROCESS_BYTES;
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
	s->bytes -= s->list[number].room * PP_SPACE_PIECE_BYTES;
	free(s->list[number].pieces);
	s->list[number] = (struct pp_recording_space){.next = s->free};
	s->free = number + 1;
}

/* Room for cnt pieces in all. -E2BIG, -ENOMEM. */
static int reserve(struct pp_recording_spaces *s, struct pp_recording_space *space, uint32_t cnt)
{
	uint32_t before = space->room, room = before;
	size_t bytes;

	if (cnt <= room)
		return 0;
	/* Most have one piece, so the first has no room for more beside it. */
	room = room ? cnt + cnt / 2 : cnt;
	bytes = (room - before) * PP_SPACE_PIECE_BYTES;
	if (bytes > PP_SPACE_BYTES_MAX - s->bytes)
		return -E2BIG;
	if (pp_resize(&space->pieces, room) < 0)
		return -ENOMEM;
	space->room = room;
	s->bytes += bytes;
	return 0;
}

int pp_recording_spaces_fork(struct pp_recording_spaces *s, uint32_t pid, uint32_t parent)
{
	const struct pp_recording_space *from;
	struct pp_recording_space *to = NULL;
	int r;

	if (pid == parent)
		return 0;
	pp_recording_spaces_forget(s, pid);
	if (!look_up(s, parent))
		return 0;
	r = add(s, pid, &to);
	if (r < 0)
		return r;
	from = look_up(s, parent); /* the list may have moved */
	r = reserve(s, to, from->piece_cnt);
	if (r < 0) {
		pp_recording_spaces_forget(s, pid);
		return r == -E2BIG ? -ENOSPC : r;
	}
	to->piece_cnt = from->piece_cnt;
	memcpy(to->pieces, from->pieces, from->piece_cnt * sizeof(to->pieces[0]));
	return 0;
}

/* ---------------------------------------------------------------- mappings */

static void remove_pieces(struct pp_recording_space *space, uint32_t at, uint32_t cnt)
{
	space->piece_cnt -= cnt;
	memmove(&space->pieces[at], &space->pieces[at + cnt],
		(space->piece_cnt - at) * sizeof(space->pieces[0]));
}

static int insert_piece(struct pp_recording_spaces *s, struct pp_recording_space *space,
			uint32_t at, const struct pp_space_piece *piece)
{
	int r = reserve(s, space, space->piece_cnt + 1);

	if (r < 0)
		return r;
	memmove(&space->pieces[at + 1], &space->pieces[at],
		(space->piece_cnt++ - at) * sizeof(space->pieces[0]));
	space->pieces[at] = *piece;
	return 0;
}

/* [start, end) is taken out of the middle of the piece. */
static int split(struct pp_recording_spaces *s, struct pp_recording_space *space, uint32_t at,
		 uint64_t start, uint64_t end)
{
	struct pp_space_piece behind = space->pieces[at];

	behind.offset += end - behind.start;
	behind.start = end;
	space->pieces[at].end = start;
	return insert_piece(s, space, at + 1, &behind);
}

/* Takes [start, end) out of all pieces; *ret_at is where a piece of it would go. */
static int cut(struct pp_recording_spaces *s, struct pp_recording_space *space, uint64_t start,
	       uint64_t end, uint32_t *ret_at)
{
	uint32_t at = pp_recording_space_at(space, start), gone = 0;
	struct pp_space_piece *p = &space->pieces[at];

	*ret_at = at;
	if (at < space->piece_cnt && p->start < start) {
		*ret_at = ++at;
		if (p->end > end)
			return split(s, space, at - 1, start, end);
		p->end = start;
		p++;
	}
	for (; at + gone < space->piece_cnt && p->end <= end; p++)
		gone++;
	if (at + gone < space->piece_cnt && p->start < end) {
		p->offset += end - p->start;
		p->start = end;
	}
	remove_pieces(space, at, gone);
	return 0;
}

int pp_recording_spaces_unmap(struct pp_recording_spaces *s, uint32_t pid, uint64_t start,
			      uint64_t end)
{
	struct pp_recording_space *space = look_up(s, pid);
	uint32_t at;
	int r;

	if (!space)
		return 0;
	r = cut(s, space, start, end, &at);
	if (!space->piece_cnt)
		pp_recording_spaces_forget(s, pid);
	return r;
}

static bool continues(const struct pp_space_piece *before, const struct pp_space_piece *piece)
{
	return before->end == piece->start &&
	       before->offset + (before->end - before->start) == piece->offset;
}

/* One piece with its neighbours, where these continue the file. */
static int put(struct pp_recording_spaces *s, struct pp_recording_space *space, uint32_t at,
	       const struct pp_space_piece *piece)
{
	struct pp_space_piece *p = space->pieces;
	bool joins_before = at && continues(&p[at - 1], piece);
	bool joins_behind = at < space->piece_cnt && continues(piece, &p[at]);

	if (!joins_before && !joins_behind)
		return insert_piece(s, space, at, piece);
	if (!joins_before) {
		p[at].start = piece->start;
		p[at].offset = piece->offset;
		return 0;
	}
	p[at - 1].end = joins_behind ? p[at].end : piece->end;
	if (joins_behind)
		remove_pieces(space, at, 1);
	return 0;
}

/* It lies there already. */
static bool is_known(const struct pp_recording_space *space, const struct pp_space_piece *piece)
{
	uint32_t at = pp_recording_space_at(space, piece->start);
	const struct pp_space_piece *p = &space->pieces[at];

	return at < space->piece_cnt && p->start <= piece->start && piece->end <= p->end &&
	       p->offset + (piece->start - p->start) == piece->offset;
}

int pp_recording_spaces_map(struct pp_recording_spaces *s, uint32_t pid,
			    const struct pp_space_piece *piece)
{
	struct pp_recording_space *space = look_up(s, pid);
	uint32_t at = 0;
	int r = 0;

	if (piece->start >= piece->end || piece->end >> 63 ||
	    piece->offset > UINT32_MAX - 1 - (piece->end - piece->start) ||
	    piece->end - piece->start >= UINT32_MAX)
		return -EINVAL;
	if (!space)
		r = add(s, pid, &space);
	else if (is_known(space, piece))
		return 0;
	else
		r = cut(s, space, piece->start, piece->end, &at);
	if (r < 0)
		return r;
	r = put(s, space, at, piece);
	if (!space->piece_cnt)
		pp_recording_spaces_forget(s, pid);
	return r;
}
