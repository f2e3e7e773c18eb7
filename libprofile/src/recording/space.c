// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Address spaces and interned files: see pathprof/space.h for the workload, locking and ownership.
 * Source: this project.
 */
#include "pathprof/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "pathprof/mapped.h"

/* ---------------------------------------------------------------- files */

int pathprof_mapped_files_init(struct pathprof_mapped_files *files)
{
	const size_t bucket_cnt = 4096;
	struct pathprof_mapped_file **buckets =
		calloc(bucket_cnt, sizeof(struct pathprof_mapped_file *));

	if (!buckets)
		return -ENOMEM;
	*files = (struct pathprof_mapped_files){.buckets = buckets, .bucket_cnt = bucket_cnt};
	return 0;
}

static void users_release(struct pathprof_mapped_files *files)
{
	for (size_t i = 0; i < PATHPROF_MAPPED_USER_BUCKETS; i++) {
		while (files->users[i]) {
			struct pathprof_mapped_user *user = files->users[i];

			files->users[i] = user->next;
			free(user);
		}
	}
}

void pathprof_mapped_files_release(struct pathprof_mapped_files *files)
{
	for (size_t i = 0; i < files->bucket_cnt; i++) {
		while (files->buckets[i]) {
			struct pathprof_mapped_file *file = files->buckets[i];

			files->buckets[i] = file->next;
			free(file);
		}
	}
	free(files->buckets);
	users_release(files);
	*files = (struct pathprof_mapped_files){0};
}

/* FNV-1a: names and identities are short, and look-ups rare beside resolves. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len_bytes)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < len_bytes; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ull;
	return hash;
}

static struct pathprof_mapped_file *file_new(const struct pathprof_build_id *id,
					     const struct pathprof_file *from, const char *name,
					     uint64_t hash)
{
	size_t name_size = strlen(name) + 1;
	struct pathprof_mapped_file *file = malloc(sizeof(*file) + name_size);

	if (!file)
		return NULL;
	*file = (struct pathprof_mapped_file){.hash = hash, .refs = 1, .id = *id, .from = *from};
	memcpy(file->name, name, name_size);
	return file;
}

static size_t bytes_of(const struct pathprof_mapped_file *file)
{
	return sizeof(*file) + strlen(file->name) + 1;
}

static bool same_origin(const struct pathprof_file *a, const struct pathprof_file *b)
{
	return a->owner == b->owner && a->device == b->device && a->inode == b->inode;
}

static const struct pathprof_build_id no_id;
static const struct pathprof_file nobody = {.owner = PATHPROF_OWNER_UNKNOWN};

static uint64_t hash_file(const struct pathprof_build_id *id, const struct pathprof_file *from,
			  const char *name)
{
	uint64_t hash = hash_bytes(0xcbf29ce484222325ull, id, sizeof(*id));

	hash = hash_bytes(hash, &from->owner, sizeof(from->owner));
	hash = hash_bytes(hash, &from->inode, sizeof(from->inode));
	return hash_bytes(hash, name, strlen(name));
}

static struct pathprof_mapped_file **bucket_of(const struct pathprof_mapped_files *files,
					       uint64_t hash)
{
	return &files->buckets[hash & (files->bucket_cnt - 1)];
}

struct pathprof_mapped_file *pathprof_mapped_files_find(const struct pathprof_mapped_files *files,
							const struct pathprof_build_id *id,
							const struct pathprof_file *from,
							const char *name)
{
	struct pathprof_mapped_file *file;
	uint64_t hash;

	id = id ? id : &no_id;
	from = from ? from : &nobody;
	hash = hash_file(id, from, name);
	for (file = *bucket_of(files, hash); file; file = file->next)
		if (file->hash == hash && !memcmp(&file->id, id, sizeof(*id)) &&
		    same_origin(&file->from, from) && !strcmp(file->name, name))
			return pathprof_mapped_file_ref(file);
	return NULL;
}

/* The link to the user, or that for a new one. */
static struct pathprof_mapped_user **user_link(struct pathprof_mapped_files *files, uint32_t uid)
{
	struct pathprof_mapped_user **link = &files->users[uid % PATHPROF_MAPPED_USER_BUCKETS];

	while (*link && (*link)->uid != uid)
		link = &(*link)->next;
	return link;
}

static int user_get(struct pathprof_mapped_files *files, uint32_t uid,
		    struct pathprof_mapped_user **ret_user)
{
	struct pathprof_mapped_user **link = user_link(files, uid);

	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (!*link)
			return -ENOMEM;
		(*link)->uid = uid;
	}
	*ret_user = *link;
	return 0;
}

static void charge(struct pathprof_mapped_files *files, struct pathprof_mapped_file *file,
		   struct pathprof_mapped_user *user)
{
	files->bytes += bytes_of(file);
	file->user = user;
	if (user)
		user->bytes += bytes_of(file);
}

static void forget_without_names(struct pathprof_mapped_files *files,
				 struct pathprof_mapped_user *user)
{
	if (user->bytes)
		return;
	*user_link(files, user->uid) = user->next;
	free(user);
}

static void give_back(struct pathprof_mapped_files *files, const struct pathprof_mapped_file *file)
{
	files->bytes -= bytes_of(file);
	if (!file->user)
		return;
	file->user->bytes -= bytes_of(file);
	forget_without_names(files, file->user);
}

/* A user's own names count twice: half of what the others leave stays free for others. */
static bool has_room(const struct pathprof_mapped_files *files,
		     const struct pathprof_mapped_user *user)
{
	return files->bytes + (user ? user->bytes : 0) < PATHPROF_MAPPED_FILES_BYTES_MAX;
}

/* One that is not there yet. */
static int file_add(struct pathprof_mapped_files *files, struct pathprof_mapped_user *user,
		    const struct pathprof_build_id *id, const struct pathprof_file *from,
		    const char *name, struct pathprof_mapped_file **ret_file)
{
	struct pathprof_mapped_file *file, **bucket;
	uint64_t hash;

	if (!has_room(files, user))
		return -ENOSPC;
	id = id ? id : &no_id;
	from = from ? from : &nobody;
	hash = hash_file(id, from, name);
	file = file_new(id, from, name, hash);
	if (!file)
		return -ENOMEM;
	bucket = bucket_of(files, hash);
	file->next = *bucket;
	*bucket = file;
	files->file_cnt++;
	charge(files, file, user);
	*ret_file = file;
	return 0;
}

int pathprof_mapped_files_get(struct pathprof_mapped_files *files,
			      const struct pathprof_build_id *id, const struct pathprof_file *from,
			      const char *name, struct pathprof_mapped_file **ret_file)
{
	struct pathprof_mapped_file *file = pathprof_mapped_files_find(files, id, from, name);

	if (!file)
		return file_add(files, NULL, id, from, name, ret_file);
	*ret_file = file;
	return 0;
}

int pathprof_mapped_files_get_for(struct pathprof_mapped_files *files, uint32_t uid,
				  const struct pathprof_build_id *id,
				  const struct pathprof_file *from, const char *name,
				  struct pathprof_mapped_file **ret_file)
{
	struct pathprof_mapped_file *file = pathprof_mapped_files_find(files, id, from, name);
	struct pathprof_mapped_user *user;
	int r;

	if (file) {
		*ret_file = file;
		return 0;
	}
	r = user_get(files, uid, &user);
	if (r < 0)
		return r;
	r = file_add(files, user, id, from, name, ret_file);
	forget_without_names(files, user);
	return r;
}

struct pathprof_mapped_file *pathprof_mapped_file_ref(struct pathprof_mapped_file *file)
{
	if (file)
		file->refs++;
	return file;
}

void pathprof_mapped_file_put(struct pathprof_mapped_file *file)
{
	if (file)
		file->refs--;
}

void pathprof_mapped_files_sweep(struct pathprof_mapped_files *files)
{
	for (size_t i = 0; i < files->bucket_cnt; i++) {
		struct pathprof_mapped_file **link = &files->buckets[i];

		while (*link) {
			struct pathprof_mapped_file *file = *link;

			if (file->refs) {
				link = &file->next;
				continue;
			}
			*link = file->next;
			files->file_cnt--;
			give_back(files, file);
			free(file);
		}
	}
}

/* ---------------------------------------------------------------- life of a space */

int pathprof_space_new(struct pathprof_space **ret_space)
{
	struct pathprof_space *space = calloc(1, sizeof(*space));

	if (!space)
		return -ENOMEM;
	space->refs = 1;
	*ret_space = space;
	return 0;
}

struct pathprof_space *pathprof_space_ref(struct pathprof_space *space)
{
	space->refs++;
	return space;
}

void pathprof_space_put(struct pathprof_space *space)
{
	if (!space || --space->refs)
		return;
	for (uint32_t i = 0; i < space->piece_cnt; i++)
		pathprof_mapped_file_put(space->pieces[i].file);
	for (uint32_t i = 0; i < space->past_cnt; i++)
		pathprof_mapped_file_put(space->past[i].piece.file);
	free(space->pieces);
	free(space->past);
	free(space);
}

static int reserve_pieces(struct pathprof_space *space, size_t wanted)
{
	if (wanted > PATHPROF_SPACE_PIECES_MAX)
		return -ENOSPC;
	return pp_reserve(&space->pieces, wanted, &space->piece_cap);
}

static int reserve_past(struct pathprof_space *space, uint32_t wanted)
{
	if (space->forgets)
		return 0;
	if (wanted > PATHPROF_SPACE_PAST_MAX)
		wanted = PATHPROF_SPACE_PAST_MAX;
	return pp_reserve(&space->past, wanted, &space->past_cap);
}

static void copy_content(struct pathprof_space *to, const struct pathprof_space *from)
{
	for (uint32_t i = 0; i < from->piece_cnt; i++) {
		to->pieces[i] = from->pieces[i];
		pathprof_mapped_file_ref(to->pieces[i].file);
	}
	for (uint32_t i = 0; i < from->past_cnt; i++) {
		to->past[i] = from->past[i];
		pathprof_mapped_file_ref(to->past[i].piece.file);
	}
	to->piece_cnt = from->piece_cnt;
	to->past_cnt = from->past_cnt;
	to->change_cnt = from->change_cnt;
	to->forgets = from->forgets;
}

int pathprof_space_own(struct pathprof_space **space)
{
	struct pathprof_space *own;
	int r;

	if ((*space)->refs == 1)
		return 0;
	r = pathprof_space_new(&own);
	if (r)
		return r;
	r = reserve_pieces(own, (*space)->piece_cnt);
	if (!r)
		r = reserve_past(own, (*space)->past_cnt);
	if (r) {
		pathprof_space_put(own);
		return r;
	}
	copy_content(own, *space);
	pathprof_space_put(*space);
	*space = own;
	return 0;
}

/* ---------------------------------------------------------------- changes */

/* Both say the same about any address they share. */
static bool same_content(const struct pathprof_mapped_piece *a,
			 const struct pathprof_mapped_piece *b)
{
	return a->file == b->file && (!a->file || a->start - a->offset == b->start - b->offset);
}

/* The part of piece inside [start, end), which it overlaps. */
static struct pathprof_mapped_piece cut(const struct pathprof_mapped_piece *piece, uint64_t start,
					uint64_t end)
{
	struct pathprof_mapped_piece part = *piece;

	if (part.start < start) {
		part.offset += start - part.start;
		part.start = start;
	}
	if (part.end > end)
		part.end = end;
	return part;
}

/* Index of the first piece that ends after address. */
static uint32_t first_after(const struct pathprof_space *space, uint64_t address)
{
	return pp_first(i, 0, space->piece_cnt, space->pieces[i].end > address);
}

static void drop_past(struct pathprof_space *space, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		pathprof_mapped_file_put(space->past[i].piece.file);
	space->past_cnt -= cnt;
	memmove(space->past, space->past + cnt,
		space->past_cnt * sizeof(struct pathprof_mapped_past));
}

static void forget_old_past(struct pathprof_space *space, uint64_t time_ns)
{
	uint32_t cnt = 0;

	while (cnt < space->past_cnt &&
	       space->past[cnt].until_ns + PATHPROF_SPACE_GRACE_NS < time_ns)
		cnt++;
	if (space->past_cnt - cnt >= PATHPROF_SPACE_PAST_MAX)
		cnt = space->past_cnt - PATHPROF_SPACE_PAST_MAX + 1;
	if (cnt)
		drop_past(space, cnt);
}

/* Room was reserved by the caller. */
static void remember(struct pathprof_space *space, const struct pathprof_mapped_piece *part,
		     uint64_t time_ns)
{
	space->change_cnt++;
	if (space->forgets)
		return;
	forget_old_past(space, time_ns);
	space->past[space->past_cnt++] = (struct pathprof_mapped_past){*part, time_ns};
	pathprof_mapped_file_ref(part->file);
}

/* Puts parts in the place of pieces [low, high). Room was reserved by the caller. */
static void splice(struct pathprof_space *space, uint32_t low, uint32_t high,
		   const struct pathprof_mapped_piece *parts, uint32_t part_cnt)
{
	for (uint32_t i = 0; i < part_cnt; i++)
		pathprof_mapped_file_ref(parts[i].file);
	for (uint32_t i = low; i < high; i++)
		pathprof_mapped_file_put(space->pieces[i].file);
	memmove(space->pieces + low + part_cnt, space->pieces + high,
		(space->piece_cnt - high) * sizeof(struct pathprof_mapped_piece));
	memcpy(space->pieces + low, parts, part_cnt * sizeof(struct pathprof_mapped_piece));
	space->piece_cnt = space->piece_cnt - (high - low) + part_cnt;
}

/* Appends next to parts, as one piece where it continues the last. */
static uint32_t append_part(struct pathprof_mapped_piece *parts, uint32_t part_cnt,
			    const struct pathprof_mapped_piece *next)
{
	struct pathprof_mapped_piece *last = part_cnt ? &parts[part_cnt - 1] : NULL;

	if (last && last->end == next->start && same_content(last, next)) {
		last->end = next->end;
		return part_cnt;
	}
	parts[part_cnt] = *next;
	return part_cnt + 1;
}

/* Builds the pieces that replace [*low, *high), which is widened by adjacent ones. */
static uint32_t make_parts(const struct pathprof_space *space,
			   const struct pathprof_mapped_piece *range, bool is_map, uint32_t *low,
			   uint32_t *high, struct pathprof_mapped_piece *parts)
{
	const struct pathprof_mapped_piece *pieces = space->pieces;
	uint32_t part_cnt = 0;

	if (*low > 0 && pieces[*low - 1].end == range->start)
		parts[part_cnt++] = pieces[--*low];
	else if (*low < *high && pieces[*low].start < range->start)
		parts[part_cnt++] = cut(&pieces[*low], 0, range->start);
	if (is_map)
		part_cnt = append_part(parts, part_cnt, range);
	if (*low < *high && pieces[*high - 1].end > range->end) {
		struct pathprof_mapped_piece right =
			cut(&pieces[*high - 1], range->end, UINT64_MAX);

		part_cnt = append_part(parts, part_cnt, &right);
	} else if (*high < space->piece_cnt && pieces[*high].start == range->end) {
		part_cnt = append_part(parts, part_cnt, &pieces[(*high)++]);
	}
	return part_cnt;
}

static int change(struct pathprof_space *space, const struct pathprof_mapped_piece *range,
		  bool is_map, uint64_t time_ns)
{
	uint32_t low = first_after(space, range->start), high = low, part_cnt;
	struct pathprof_mapped_piece parts[3];
	int r;

	while (high < space->piece_cnt && space->pieces[high].start < range->end)
		high++;
	if (!is_map && low == high)
		return 0;
	if (is_map && high == low + 1 && space->pieces[low].start <= range->start &&
	    space->pieces[low].end >= range->end && same_content(&space->pieces[low], range))
		return 0;
	r = reserve_pieces(space, (size_t)space->piece_cnt + 2);
	if (!r)
		r = reserve_past(space, space->past_cnt + (high - low));
	if (r)
		return r;
	for (uint32_t i = low; i < high; i++) {
		struct pathprof_mapped_piece part =
			cut(&space->pieces[i], range->start, range->end);

		if (!is_map || !same_content(&part, range))
			remember(space, &part, time_ns);
	}
	part_cnt = make_parts(space, range, is_map, &low, &high, parts);
	splice(space, low, high, parts, part_cnt);
	return 0;
}

int pathprof_space_map(struct pathprof_space *space, const struct pathprof_mapped_piece *piece,
		       uint64_t time_ns)
{
	struct pathprof_mapped_piece range = *piece;

	if (range.start >= range.end)
		return -EINVAL;
	if (!range.file)
		range.offset = range.start;
	return change(space, &range, true, time_ns);
}

int pathprof_space_unmap(struct pathprof_space *space, uint64_t start, uint64_t end,
			 uint64_t time_ns)
{
	struct pathprof_mapped_piece range = {.start = start, .end = end};

	return start >= end ? -EINVAL : change(space, &range, false, time_ns);
}

/* ---------------------------------------------------------------- copies of text */

static const struct pathprof_mapped_file *program_of(const struct pathprof_space *space)
{
	for (uint32_t i = 0; i < space->piece_cnt; i++)
		if (space->pieces[i].file)
			return space->pieces[i].file;
	return NULL;
}

/* The first part of memory: text that it is a copy of, or memory up to such text. */
static struct pathprof_mapped_piece next_part(const struct pathprof_space *space,
					      const struct pathprof_mapped_piece *memory,
					      const struct pathprof_mapped_file *program,
					      uint64_t address)
{
	struct pathprof_mapped_piece part = {
		.start = address, .end = memory->end, .offset = address};

	for (uint32_t i = first_after(space, address); i < space->piece_cnt; i++) {
		const struct pathprof_mapped_piece *p = &space->pieces[i];

		if (p->start >= memory->end)
			break;
		if (!p->file || !pathprof_mapped_is_copy(memory->start, memory->end, p->start,
							 p->end, p->file == program))
			continue;
		if (p->start <= address)
			return cut(p, address, memory->end);
		part.end = p->start;
		break;
	}
	return part;
}

int pathprof_space_cover(struct pathprof_space *space, uint64_t start, uint64_t end,
			 bool executable, uint64_t time_ns)
{
	const struct pathprof_mapped_piece memory = {.start = start, .end = end};
	const struct pathprof_mapped_file *program = program_of(space);
	struct pathprof_mapped_piece part;
	int r = start < end ? 0 : -EINVAL;

	for (; r == 0 && start < end; start = part.end) {
		part = next_part(space, &memory, program, start);
		if (!part.file)
			r = change(space, &part, executable, time_ns);
	}
	return r;
}

/* Appends what memory is made of. */
static int add_parts(const struct pathprof_space *space, const struct pathprof_mapped_piece *memory,
		     const struct pathprof_mapped_file *program, struct pp_vector *parts)
{
	uint64_t at = memory->start;

	while (at < memory->end) {
		struct pathprof_mapped_piece part = next_part(space, memory, program, at);

		if (parts->cnt == PATHPROF_SPACE_PIECES_MAX)
			return -ENOSPC;
		if (!pp_vector_add(parts, &part))
			return -ENOMEM;
		at = part.end;
	}
	return 0;
}

int pathprof_space_find_copies(const struct pathprof_space *space,
			       struct pathprof_mapped_piece **pieces, size_t *piece_cnt,
			       size_t *piece_cap)
{
	struct pp_vector parts = {.size_bytes = sizeof(struct pathprof_mapped_piece)};
	const struct pathprof_mapped_file *program = program_of(space);
	int r = 0;

	for (size_t i = 0; r == 0 && i < *piece_cnt; i++) {
		const struct pathprof_mapped_piece *piece = &(*pieces)[i];

		if (!piece->file)
			r = add_parts(space, piece, program, &parts);
		else if (!pp_vector_add(&parts, piece))
			r = -ENOMEM;
	}
	if (r < 0) {
		free(parts.data);
		return r;
	}
	for (size_t i = 0; i < parts.cnt; i++)
		pathprof_mapped_file_ref(PP_AT(parts, struct pathprof_mapped_piece, i)->file);
	for (size_t i = 0; i < *piece_cnt; i++)
		pathprof_mapped_file_put((*pieces)[i].file);
	free(*pieces);
	*pieces = parts.data;
	*piece_cnt = parts.cnt;
	*piece_cap = parts.room;
	return 0;
}

/* ---------------------------------------------------------------- all anew */

/* Walks what of the old pieces is not in the new ones, by address. */
struct gone {
	const struct pathprof_space *space;
	const struct pathprof_mapped_piece *pieces; /* the new ones */
	size_t piece_cnt, at;
	uint32_t old;
	uint64_t from; /* the old piece is looked through up to here */
};

/* The next part of an old piece that other content, or none, takes the place of. */
static bool next_gone(struct gone *gone, struct pathprof_mapped_piece *ret_part)
{
	while (gone->old < gone->space->piece_cnt) {
		const struct pathprof_mapped_piece *old = &gone->space->pieces[gone->old];
		const struct pathprof_mapped_piece *new;
		uint64_t from = gone->from > old->start ? gone->from : old->start;
		bool is_same;

		if (from >= old->end) {
			gone->old++;
			continue;
		}
		while (gone->at < gone->piece_cnt && gone->pieces[gone->at].end <= from)
			gone->at++;
		new = gone->at < gone->piece_cnt ? &gone->pieces[gone->at] : NULL;
		gone->from = old->end;
		if (new &&new->start > from &&new->start < old->end)
			gone->from = new->start;
		else if (new &&new->start <= from &&new->end < old->end)
			gone->from = new->end;
		is_same = new &&new->start <= from &&same_content(old, new);
		if (is_same)
			continue;
		*ret_part = cut(old, from, gone->from);
		return true;
	}
	return false;
}

/* Keeps the last pieces if there are too many: earlier ones would be dropped at once. */
static int remember_gone(struct pathprof_space *space, const struct pathprof_mapped_piece *pieces,
			 size_t piece_cnt, uint64_t time_ns)
{
	const struct gone begin = {.space = space, .pieces = pieces, .piece_cnt = piece_cnt};
	struct gone gone = begin;
	struct pathprof_mapped_piece part;
	uint32_t cnt = 0;
	int r;

	while (next_gone(&gone, &part))
		cnt++;
	r = reserve_past(space, space->past_cnt + cnt);
	if (r)
		return r;
	gone = begin;
	for (; next_gone(&gone, &part); cnt--) {
		if (cnt <= PATHPROF_SPACE_PAST_MAX)
			remember(space, &part, time_ns);
		else
			space->change_cnt++;
	}
	return 0;
}

static int check_pieces(const struct pathprof_mapped_piece *pieces, size_t piece_cnt)
{
	uint64_t end = 0;

	for (size_t i = 0; i < piece_cnt; i++) {
		if (pieces[i].start < end || pieces[i].start >= pieces[i].end)
			return -EINVAL;
		end = pieces[i].end;
	}
	return 0;
}

/* All at once: piece by piece each would move all that lie above it. */
int pathprof_space_replace(struct pathprof_space *space, const struct pathprof_mapped_piece *pieces,
			   size_t piece_cnt, uint64_t time_ns)
{
	uint32_t before = space->piece_cnt, cnt = 0;
	int r = check_pieces(pieces, piece_cnt);

	if (!r)
		r = reserve_pieces(space, before > piece_cnt ? before : piece_cnt);
	if (!r)
		r = remember_gone(space, pieces, piece_cnt, time_ns);
	if (r)
		return r;
	for (size_t i = 0; i < piece_cnt; i++)
		pathprof_mapped_file_ref(pieces[i].file);
	for (uint32_t i = 0; i < before; i++)
		pathprof_mapped_file_put(space->pieces[i].file);
	for (size_t i = 0; i < piece_cnt; i++) {
		struct pathprof_mapped_piece next = pieces[i];

		if (!next.file)
			next.offset = next.start;
		if (append_part(space->pieces, cnt, &next) == cnt)
			pathprof_mapped_file_put(next.file);
		else
			cnt++;
	}
	space->piece_cnt = cnt;
	return 0;
}

size_t pathprof_space_bytes(const struct pathprof_space *space)
{
	return sizeof(*space) + space->piece_cap * sizeof(struct pathprof_mapped_piece) +
	       space->past_cap * sizeof(struct pathprof_mapped_past);
}

/* ---------------------------------------------------------------- look-up */

static bool holds(const struct pathprof_mapped_piece *piece, uint64_t address)
{
	return piece->start <= address && address < piece->end;
}

/* The past piece that held address after time_ns and ended first. */
static const struct pathprof_mapped_piece *find_past(const struct pathprof_space *space,
						     uint64_t time_ns, uint64_t address)
{
	const struct pathprof_mapped_past *best = NULL;

	for (uint32_t i = 0; i < space->past_cnt; i++) {
		const struct pathprof_mapped_past *past = &space->past[i];

		if (past->until_ns > time_ns && holds(&past->piece, address) &&
		    (!best || past->until_ns < best->until_ns))
			best = past;
	}
	return best ? &best->piece : NULL;
}

const struct pathprof_mapped_piece *pathprof_space_find(const struct pathprof_space *space,
							uint64_t time_ns, uint64_t address)
{
	const struct pathprof_mapped_piece *found = NULL;
	uint32_t i;

	if (time_ns && space->past_cnt)
		found = find_past(space, time_ns, address);
	if (found)
		return found;
	i = first_after(space, address);
	return i < space->piece_cnt && holds(&space->pieces[i], address) ? &space->pieces[i] : NULL;
}
