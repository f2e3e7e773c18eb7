// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The places of a trace's chunks, and their contents.
 *
 * Workload: some thousand chunks of megabytes. A header in the file must say what the index says of
 * it, so that damage in either shows. Without a footer the headers themselves lead from one chunk
 * to the next, up to the first that is not whole.
 *
 * Ownership: an unpacker owns its buffers, which grow to the largest chunk met.
 */
#include "pp_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

int pp_trace_unpacker_init(struct pp_trace_unpacker *unpacker, struct pathprof_error *error)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();

	if (!context)
		return pp_trace_no_memory(error);
	*unpacker = (struct pp_trace_unpacker){.context = context};
	return 0;
}

void pp_trace_unpacker_release(struct pp_trace_unpacker *unpacker)
{
	ZSTD_freeDCtx(unpacker->context);
	free(unpacker->packed);
	free(unpacker->raw);
}

static bool grow(uint8_t **bytes, size_t *room, size_t want)
{
	uint8_t *grown;

	if (want <= *room)
		return true;
	grown = malloc(want);
	if (!grown)
		return false;
	free(*bytes);
	*bytes = grown;
	*room = want;
	return true;
}

/* Fails if the chunk's header in the file differs from the index. */
static int check_header(const struct pathprof_trace *t, const struct pathprof_trace_place *place,
			struct pathprof_error *error)
{
	struct pathprof_trace_chunk chunk;
	int r = pp_trace_read_at(t, &chunk, sizeof(chunk), place->offset, error);

	if (r < 0)
		return r;
	if (memcmp(&chunk, &place->chunk, sizeof(chunk)) != 0)
		return pp_trace_bad(t, error, "the chunk at %llu is not the one its index names",
				    (unsigned long long)place->offset);
	return 0;
}

int pp_trace_unpack(const struct pathprof_trace *trace, struct pp_trace_unpacker *unpacker,
		    const struct pathprof_trace_place *place, uint8_t **ret_bytes,
		    struct pathprof_error *error)
{
	size_t packed_bytes = place->chunk.packed_bytes, raw_bytes = place->chunk.raw_bytes, got;
	int r = check_header(trace, place, error);

	if (r < 0)
		return r;
	if (!grow(&unpacker->packed, &unpacker->packed_room, packed_bytes) ||
	    !grow(&unpacker->raw, &unpacker->raw_room, PP_TRACE_HEAD_BYTES + raw_bytes))
		return pp_trace_no_memory(error);
	r = pp_trace_read_at(trace, unpacker->packed, packed_bytes,
			     place->offset + sizeof(place->chunk), error);
	if (r < 0)
		return r;
	got = ZSTD_decompressDCtx(unpacker->context, unpacker->raw + PP_TRACE_HEAD_BYTES, raw_bytes,
				  unpacker->packed, packed_bytes);
	if (ZSTD_isError(got))
		return pp_trace_bad(trace, error, "the chunk at %llu is damaged: %s",
				    (unsigned long long)place->offset, ZSTD_getErrorName(got));
	if (got != raw_bytes)
		return pp_trace_bad(trace, error, "the chunk at %llu is shorter than it says",
				    (unsigned long long)place->offset);
	*ret_bytes = unpacker->raw + PP_TRACE_HEAD_BYTES;
	return 0;
}

/* Could a chunk with this header lie at offset, and end before end? */
static bool is_plausible(const struct pathprof_trace_chunk *c, uint64_t offset, uint64_t end)
{
	uint64_t left;

	if (offset < sizeof(struct pathprof_trace_header) || offset > end ||
	    end - offset < sizeof(*c))
		return false;
	left = end - offset - sizeof(*c);
	return c->packed_bytes <= left && c->packed_bytes && c->type >= PATHPROF_TRACE_COMMAND &&
	       c->type <= PATHPROF_TRACE_WORDS && c->raw_bytes <= PATHPROF_TRACE_CHUNK_MAX;
}

/* ---------------------------------------------------------------- by the index */

static int check_index(const struct pathprof_trace *t, uint64_t end, struct pathprof_error *error)
{
	uint64_t at = sizeof(struct pathprof_trace_header);

	for (size_t i = 0; i < t->place_cnt; i++) {
		const struct pathprof_trace_place *p = &t->places[i];

		if (p->offset < at || !is_plausible(&p->chunk, p->offset, end))
			return pp_trace_bad(t, error, "entry %zu of its index is impossible", i);
		at = p->offset + sizeof(p->chunk) + p->chunk.packed_bytes;
	}
	return 0;
}

/* The index chunk at offset, up to the footer at end. */
static int read_index(struct pathprof_trace *t, struct pp_trace_unpacker *unpacker, uint64_t offset,
		      uint64_t end, struct pathprof_error *error)
{
	struct pathprof_trace_place place = {.offset = offset};
	struct pathprof_trace_chunk *c = &place.chunk;
	uint8_t *bytes = NULL;
	int r;

	if (offset > end || end - offset < sizeof(*c))
		return pp_trace_bad(t, error, "its index lies outside");
	r = pp_trace_read_at(t, c, sizeof(*c), offset, error);
	if (r < 0)
		return r;
	/* Each entry stands for a chunk header at least, so the file bounds the index. */
	if (c->type != PATHPROF_TRACE_INDEX || c->packed_bytes != end - offset - sizeof(*c) ||
	    c->stream || c->first_word || c->raw_bytes % sizeof(place) ||
	    c->raw_bytes / sizeof(place) > t->info.file_bytes / sizeof(*c))
		return pp_trace_bad(t, error, "its index is impossible");
	r = pp_trace_unpack(t, unpacker, &place, &bytes, error);
	if (r < 0 || !bytes)
		return r;
	t->places = malloc(c->raw_bytes ? c->raw_bytes : 1);
	if (!t->places)
		return pp_trace_no_memory(error);
	memcpy(t->places, bytes, c->raw_bytes);
	t->place_cnt = c->raw_bytes / sizeof(place);
	return check_index(t, offset, error);
}

/* ---------------------------------------------------------------- without */

static int add_place(struct pathprof_trace *t, size_t *room,
		     const struct pathprof_trace_place *place)
{
	if (pp_grow(&t->places, t->place_cnt, room) < 0)
		return -ENOMEM;
	t->places[t->place_cnt++] = *place;
	return 0;
}

static int scan(struct pathprof_trace *t, struct pathprof_error *error)
{
	struct pathprof_trace_place place = {.offset = sizeof(struct pathprof_trace_header)};
	uint64_t end = t->info.file_bytes;
	size_t room = 0;

	while (end - place.offset >= sizeof(place.chunk)) {
		int r = pp_trace_read_at(t, &place.chunk, sizeof(place.chunk), place.offset, error);

		if (r < 0)
			return r;
		if (!is_plausible(&place.chunk, place.offset, end))
			return 0;
		if (add_place(t, &room, &place) < 0)
			return pp_trace_no_memory(error);
		place.offset += sizeof(place.chunk) + place.chunk.packed_bytes;
	}
	return 0;
}

int pp_trace_find_chunks(struct pathprof_trace *trace, struct pp_trace_unpacker *unpacker,
			 struct pathprof_error *error)
{
	struct pathprof_trace_footer footer = {0};
	uint64_t end = trace->info.file_bytes;
	int r;

	if (end >= sizeof(struct pathprof_trace_header) + sizeof(footer)) {
		end -= sizeof(footer);
		r = pp_trace_read_at(trace, &footer, sizeof(footer), end, error);
		if (r < 0)
			return r;
	}
	if (footer.magic != PATHPROF_TRACE_END)
		return scan(trace, error);
	trace->info.whole = true;
	return read_index(trace, unpacker, footer.index_offset, end, error);
}
