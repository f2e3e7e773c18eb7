// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Owners of cold parts: compilers move the code of foo that seldom runs away, as foo.cold.
 *
 * Local functions of several source files may share a name. Then the one that jumps to the cold
 * part owns it; all bytes of the candidates are searched for such a jump.
 *
 * Workload: once a file; 10^4 cold parts, 10^6 symbols.
 */
#include "../code/pp_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"

/* The length of a name before its ending .cold or .cold.N; 0: it has no such ending. */
static size_t stem_len(const char *name)
{
	size_t len = strlen(name), digits = len;

	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits < len && digits && name[digits - 1] == '.')
		len = digits - 1;
	return len > 5 && !memcmp(name + len - 5, ".cold", 5) ? len - 5 : 0;
}

#define NONE             UINT32_MAX
#define SEARCH_BYTES_MAX (256u << 20) /* hostile files claim the same code again and again */

struct cold_part {
	const char *name;
	size_t stem_len;
	uint32_t range;
	uint32_t owner; /* the range that jumps here; NONE: no such jump was found */
};

/* A range that begins with a symbol whose name is the stem of cold parts. */
struct claim {
	uint32_t first_part; /* of that stem */
	uint32_t range;
};

struct join {
	struct cold_part *parts; /* by stem, then by range */
	size_t part_cnt;
	uint32_t *part_of_range; /* NONE: no cold part */
	struct claim *claims;    /* by stem, then by range */
	size_t claim_cnt, claim_room;
	uint64_t searched_bytes;
};

/* ---------------------------------------------------------------- names */

static int compare_stems(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static int by_stem(const void *x, const void *y)
{
	const struct cold_part *a = x, *b = y;
	int order = compare_stems(a->name, a->stem_len, b->name, b->stem_len);

	return order ? order : (a->range > b->range) - (a->range < b->range);
}

static bool same_stem(const struct cold_part *a, const struct cold_part *b)
{
	return a->stem_len == b->stem_len && !memcmp(a->name, b->name, a->stem_len);
}

static int read_parts(struct join *j, const struct pp_ranges *ranges)
{
	j->parts = calloc(ranges->cnt + 1, sizeof(j->parts[0]));
	j->part_of_range = calloc(ranges->cnt + 1, sizeof(j->part_of_range[0]));
	if (!j->parts || !j->part_of_range)
		return -ENOMEM;
	for (size_t i = 0; i < ranges->cnt; i++) {
		const char *name = ranges->ranges[i].name;
		size_t len = name ? stem_len(name) : 0;

		j->part_of_range[i] = NONE;
		if (len)
			j->parts[j->part_cnt++] = (struct cold_part){name, len, (uint32_t)i, NONE};
	}
	qsort(j->parts, j->part_cnt, sizeof(j->parts[0]), by_stem);
	for (size_t i = 0; i < j->part_cnt; i++)
		j->part_of_range[j->parts[i].range] = (uint32_t)i;
	return 0;
}

/* The first part whose stem is name; NONE. */
static uint32_t find_stem(const struct join *j, const char *name)
{
	size_t len = strlen(name);
	size_t low =
		pp_first(i, 0, j->part_cnt,
			 compare_stems(j->parts[i].name, j->parts[i].stem_len, name, len) >= 0);

	if (low == j->part_cnt || j->parts[low].stem_len != len ||
	    memcmp(j->parts[low].name, name, len) != 0)
		return NONE;
	return (uint32_t)low;
}

static int add_claim(struct join *j, uint32_t first_part, uint32_t range)
{
	if (pp_grow(&j->claims, j->claim_cnt, &j->claim_room) < 0)
		return -ENOMEM;
	j->claims[j->claim_cnt++] = (struct claim){first_part, range};
	return 0;
}

static int claim_order(const void *x, const void *y)
{
	const struct claim *a = x, *b = y;

	if (a->first_part != b->first_part)
		return a->first_part < b->first_part ? -1 : 1;
	return (a->range > b->range) - (a->range < b->range);
}

/* A range that is part of a function may not own one, so every owner owns itself. */
static bool may_own(const struct join *j, const struct pp_ranges *ranges, size_t range)
{
	return j->part_of_range[range] == NONE && ranges->ranges[range].owner == range;
}

/* Reads all symbols: a cold part may be named after another symbol than its function's range. */
static int read_claims(struct join *j, const struct pp_ranges *ranges, struct pathprof_code *code)
{
	const struct pp_symbol *symbols;
	size_t cnt = pp_symbols_all(code, &symbols), kept = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < cnt; i++) {
		uint32_t part = find_stem(j, symbols[i].name);
		const struct pp_range *r =
			part == NONE ? NULL : pp_ranges_find(ranges, symbols[i].start);

		if (r && r->start == symbols[i].start &&
		    may_own(j, ranges, (size_t)(r - ranges->ranges)))
			rc = add_claim(j, part, (uint32_t)(r - ranges->ranges));
	}
	if (rc || !j->claim_cnt)
		return rc;
	qsort(j->claims, j->claim_cnt, sizeof(j->claims[0]), claim_order);
	for (size_t i = 0; i < j->claim_cnt; i++)
		if (!kept || claim_order(&j->claims[kept - 1], &j->claims[i]) != 0)
			j->claims[kept++] = j->claims[i];
	j->claim_cnt = kept;
	return 0;
}

/* ---------------------------------------------------------------- jumps */

#define CHUNK_BYTES 4096
#define JUMP_BYTES  6 /* conditional; unconditional ones are 5 long */

/* The displacement of a jump that ends 6 bytes behind byte i of buf; 0: there is none. */
static int32_t jump_distance(const uint8_t *buf, size_t i)
{
	int32_t distance = 0;

	if (buf[i + 1] == 0xe9 || (buf[i] == 0x0f && (buf[i + 1] & 0xf0) == 0x80))
		memcpy(&distance, buf + i + 2, sizeof(distance));
	return distance;
}

static void note_jump(struct join *j, const struct pp_ranges *ranges, uint32_t from,
		      uint64_t target, uint32_t first_part)
{
	const struct pp_range *to = pp_ranges_find(ranges, target);
	uint32_t part = to ? j->part_of_range[to - ranges->ranges] : NONE;

	if (part != NONE && j->parts[part].owner == NONE &&
	    same_stem(&j->parts[part], &j->parts[first_part]))
		j->parts[part].owner = from;
}

/* Tries each byte as a jump: a false one within an instruction hardly ever hits a cold part. */
static void search_jumps(struct join *j, const struct pp_ranges *ranges, struct pathprof_code *code,
			 const struct claim *claim)
{
	const struct pp_range *r = &ranges->ranges[claim->range];
	uint8_t buf[CHUNK_BYTES];
	uint64_t at = r->start;

	while (r->end - at >= JUMP_BYTES && j->searched_bytes < SEARCH_BYTES_MAX) {
		size_t want = r->end - at < CHUNK_BYTES ? r->end - at : CHUNK_BYTES;
		size_t got = pp_elf_read(code, at, buf, want);

		for (size_t i = 0; i + JUMP_BYTES <= got; i++) {
			int32_t distance = jump_distance(buf, i);

			if (distance)
				note_jump(j, ranges, claim->range,
					  at + i + JUMP_BYTES + (uint64_t)(int64_t)distance,
					  claim->first_part);
		}
		j->searched_bytes += got;
		if (got < want || got < JUMP_BYTES)
			break;
		at += got - JUMP_BYTES + 1;
	}
}

/* ---------------------------------------------------------------- owners */

static void settle(struct pp_ranges *ranges, const struct cold_part *part, uint32_t only_claim)
{
	struct pp_range *r = &ranges->ranges[part->range];
	uint32_t owner = part->owner != NONE ? part->owner : only_claim;

	if (owner == NONE || owner == part->range)
		r->maybe_cold = true;
	else
		r->owner = owner;
}

/* Parts [first, end) have one stem; *claim moves behind the claims on them. */
static void join_stem(struct join *j, struct pp_ranges *ranges, struct pathprof_code *code,
		      size_t first, size_t end, size_t *claim)
{
	size_t begin, claims_end;

	while (*claim < j->claim_cnt && j->claims[*claim].first_part < first)
		++*claim;
	begin = claims_end = *claim;
	while (claims_end < j->claim_cnt && j->claims[claims_end].first_part == first)
		claims_end++;
	if (end - first > 1 || claims_end - begin > 1)
		for (size_t i = begin; i < claims_end; i++)
			search_jumps(j, ranges, code, &j->claims[i]);
	for (size_t i = first; i < end; i++)
		settle(ranges, &j->parts[i],
		       claims_end - begin == 1 ? j->claims[begin].range : NONE);
	*claim = claims_end;
}

static int join_all(struct join *j, struct pp_ranges *ranges, struct pathprof_code *code)
{
	size_t claim = 0, end;
	int r = read_parts(j, ranges);

	r = r || !j->part_cnt ? r : read_claims(j, ranges, code);
	for (size_t first = 0; !r && first < j->part_cnt; first = end) {
		for (end = first + 1; end < j->part_cnt; end++)
			if (!same_stem(&j->parts[first], &j->parts[end]))
				break;
		join_stem(j, ranges, code, first, end, &claim);
	}
	/* A range owned by a cold part belongs to that part's owner. */
	for (size_t i = 0; i < ranges->cnt; i++)
		ranges->ranges[i].owner = ranges->ranges[ranges->ranges[i].owner].owner;
	return r;
}

int pp_cold_parts_join(struct pp_ranges *ranges, struct pathprof_code *code)
{
	struct join join = {0};
	int r = join_all(&join, ranges, code);

	free(join.claims);
	free(join.part_of_range);
	free(join.parts);
	return r;
}
