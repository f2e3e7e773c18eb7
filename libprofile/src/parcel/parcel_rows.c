// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Columns to rows and back: see pp_parcel_rows.h. Each code_...() function both writes and reads:
 * it puts what the coder returns in the place of what it gave. Contexts use what was coded before.
 */
#include "pp_parcel_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parcel.pb-c.h"
#include "pp_parcel_code.h"

/* Digits of a float: of the mantissa behind the point, of the exponent and the sign. */
#define FLOAT_DIGITS    23
#define EXPONENT_DIGITS 9
/* Rounded looks have 5 digits: 16 steps for each power of two. */
#define LOOKS_DIGITS 4

/* A weight, of which most digits are known to be 0 and the exponent follows the count. */
struct weight_model {
	struct pp_code_bit is_count, is_long;
	struct pp_code_bit exponent[25][1 << EXPONENT_DIGITS], lead[64][8], rest[8];
};

struct path_models {
	struct pp_code_number binary, start, length, outcomes, workload, samples, squares, insns;
	struct pp_code_number looks, long_looks;
	struct pp_code_bit are_looks_long, are_insns_whole, insns_digits[8];
	struct weight_model weight;
};

struct edge_models {
	struct pp_code_number from_binary, from, to_binary, to, workload, count, mispredicted;
	struct pp_code_bit is_back[2];
	struct weight_model weight;
};

struct clock_models {
	struct pp_code_number binary, place, workload, samples;
};

/* ---------------------------------------------------------------- numbers */

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t size_of(uint64_t value)
{
	return (uint64_t)pp_code_size(value);
}

/* 0, -1, 1, -2, ... become 0, 1, 2, 3, ... */
static uint64_t fold(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static int64_t unfold(uint64_t value)
{
	return (int64_t)(value >> 1 ^ -(value & 1));
}

static void code_step(struct pp_coder *c, struct pp_code_number *model, uint64_t context,
		      int64_t *step)
{
	*step = unfold(pp_code_number(c, model, context, fold(*step)));
}

static void code_number(struct pp_coder *c, struct pp_code_number *model, uint64_t context,
			uint64_t *number)
{
	*number = pp_code_number(c, model, context, *number);
}

/* Hostile bytes may hold a number that is too large. */
static void code_short(struct pp_coder *c, struct pp_code_number *model, uint64_t context,
		       uint32_t *number)
{
	uint64_t value = pp_code_number(c, model, context, *number);

	c->failed |= value > UINT32_MAX;
	*number = (uint32_t)value;
}

/* ---------------------------------------------------------------- weights */

static uint32_t bits_of(float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* How many of the mantissa's digits rounding left, of a weight of so many looks in 1/256. */
static int digits_left(uint64_t looks)
{
	return pp_parcel_weight_bits(looks) - 1;
}

static uint32_t code_mantissa(struct pp_coder *c, struct weight_model *m, uint64_t looks,
			      uint32_t exponent, uint32_t mantissa)
{
	int zeros = FLOAT_DIGITS - digits_left(looks);

	if (pp_code_bit(c, &m->is_long, mantissa & ((1u << zeros) - 1)))
		return (uint32_t)pp_code_digits(c, m->rest, FLOAT_DIGITS, mantissa);
	mantissa >>= zeros;
	mantissa =
		(uint32_t)pp_code_digits(c, m->lead[exponent % 64], digits_left(looks), mantissa);
	return mantissa << zeros;
}

static void code_weight(struct pp_coder *c, struct weight_model *m, uint64_t count, uint64_t looks,
			float *weight)
{
	uint32_t bits = bits_of(*weight), size = (uint32_t)size_of(count);
	uint32_t above = (bits >> FLOAT_DIGITS) - size;

	if (pp_code_bit(c, &m->is_count, bits == bits_of((float)count))) {
		*weight = (float)count;
		return;
	}
	above = pp_code_symbol(c, m->exponent[digits_left(looks)], EXPONENT_DIGITS, above);
	bits = code_mantissa(c, m, looks, above, bits & ((1u << FLOAT_DIGITS) - 1));
	*weight = float_of((above + size) << FLOAT_DIGITS | bits);
}

/* ---------------------------------------------------------------- looks and instructions */

/* Which of the numbers that rounded looks may be it is, or is next to. */
static int64_t looks_rank(uint64_t looks)
{
	int shift = pp_code_size(looks) - LOOKS_DIGITS - 1;

	return shift <= 0 ? (int64_t)looks
			  : ((int64_t)shift << LOOKS_DIGITS) + (int64_t)(looks >> shift);
}

static uint64_t looks_of_rank(int64_t rank)
{
	uint64_t shift = (uint64_t)rank >> LOOKS_DIGITS;

	if (rank < 2 << LOOKS_DIGITS)
		return rank < 0 ? UINT64_MAX : (uint64_t)rank;
	if (shift > 32)
		return UINT64_MAX;
	return ((uint64_t)rank - ((shift - 1) << LOOKS_DIGITS)) << (shift - 1);
}

/* The looks of a row whose weights are all alike. */
static int64_t looks_expected(uint64_t samples, uint64_t squares)
{
	while (samples >= 1u << 27) {
		samples >>= 1;
		squares >>= 2;
	}
	return looks_rank(squares ? 256 * samples * samples / squares : 256 * samples);
}

static void code_looks(struct pp_coder *c, struct path_models *m, uint64_t samples,
		       uint64_t squares, uint32_t *looks)
{
	int64_t expected = looks_expected(samples, squares);
	int64_t away = looks_rank(*looks) - expected;
	uint64_t context = 2 * lower(size_of(samples), 6) + (squares == samples);

	if (pp_code_bit(c, &m->are_looks_long, looks_of_rank(looks_rank(*looks)) != *looks)) {
		code_short(c, &m->long_looks, 0, looks);
		return;
	}
	code_step(c, &m->looks, context, &away);
	if (away > 1024 || away < -1024 || looks_of_rank(expected + away) > UINT32_MAX) {
		c->failed = true;
		return;
	}
	*looks = (uint32_t)looks_of_rank(expected + away);
}

static void code_insns(struct pp_coder *c, struct path_models *m, uint64_t length, float *insns)
{
	uint32_t number = *insns >= 0 && *insns < 1 << 24 ? (uint32_t)*insns : 0;
	bool is_whole = bits_of((float)number) == bits_of(*insns);

	if (pp_code_bit(c, &m->are_insns_whole, !is_whole)) {
		*insns =
			float_of((uint32_t)pp_code_digits(c, m->insns_digits, 32, bits_of(*insns)));
		return;
	}
	code_short(c, &m->insns, length, &number);
	*insns = (float)number;
}

/* ---------------------------------------------------------------- paths */

static bool is_same_place(const int64_t *binary, const int64_t *place, size_t i)
{
	return i && !binary[i] && !place[i];
}

static void code_path(struct pp_coder *c, struct path_models *m, Pathprof__Paths *p, size_t i)
{
	bool again;

	code_step(c, &m->binary, 0, &p->binary[i]);
	code_step(c, &m->start, i ? size_of(fold(p->start[i - 1])) : 0, &p->start[i]);
	again = is_same_place(p->binary, p->start, i);
	code_short(c, &m->length, again ? 1 + (uint64_t)p->length[i - 1] : 0, &p->length[i]);
	code_short(c, &m->outcomes, 2 * lower(p->length[i], 11) + again, &p->outcomes[i]);
	code_short(c, &m->workload, i ? p->workload[i - 1] : 0, &p->workload[i]);
}

/* Squares are not below samples, unless they are not known. */
static void code_path_counts(struct pp_coder *c, struct path_models *m, Pathprof__Paths *p,
			     size_t i)
{
	bool again = is_same_place(p->binary, p->start, i);
	uint64_t before = i ? lower(size_of(p->samples[i - 1]), 11) : 0, samples, over;

	code_number(c, &m->samples, 2 * before + again, &p->samples[i]);
	samples = p->samples[i];
	over = p->squares[i] ? p->squares[i] - samples + 1 : 0;
	code_number(c, &m->squares, samples < 7 ? samples : size_of(samples) + 4, &over);
	p->squares[i] = over ? over + samples - 1 : 0;
	code_looks(c, m, samples, p->squares[i], &p->looks[i]);
	code_weight(c, &m->weight, samples, p->looks[i], &p->weight[i]);
	code_insns(c, m, p->length[i], &p->insns[i]);
}

static void code_paths(struct pp_coder *c, struct path_models *m, Pathprof__Paths *p, size_t cnt)
{
	for (size_t i = 0; m && i < cnt && !c->failed; i++) {
		code_path(c, m, p, i);
		code_path_counts(c, m, p, i);
	}
}

/* ---------------------------------------------------------------- edges */

/* A branch within a binary mostly goes nearby, and back as often as on. */
static void code_to(struct pp_coder *c, struct edge_models *m, bool is_within, int64_t *to)
{
	bool is_back = pp_code_bit(c, &m->is_back[is_within], *to < 0);
	uint64_t far = *to < 0 ? ~(uint64_t)*to : (uint64_t)*to;

	code_number(c, &m->to, 2 * (uint64_t)is_within + is_back, &far);
	*to = (int64_t)(is_back ? ~far : far);
}

/* from_binary: the sum of steps, which is any number when an enemy wrote it. */
static void code_edge(struct pp_coder *c, struct edge_models *m, Pathprof__Edges *e,
		      uint64_t *from_binary, size_t i)
{
	int64_t across;

	code_step(c, &m->from_binary, 0, &e->from_binary[i]);
	code_step(c, &m->from, i ? size_of(fold(e->from[i - 1])) : 0, &e->from[i]);
	*from_binary += (uint64_t)e->from_binary[i];
	across = (int64_t)(e->to_binary[i] - *from_binary);
	code_step(c, &m->to_binary, 0, &across);
	e->to_binary[i] = (uint32_t)(*from_binary + (uint64_t)across);
	code_to(c, m, !across, &e->to[i]);
	code_short(c, &m->workload, i ? e->workload[i - 1] : 0, &e->workload[i]);
}

static void code_edge_counts(struct pp_coder *c, struct edge_models *m, Pathprof__Edges *e,
			     size_t i)
{
	bool again = is_same_place(e->from_binary, e->from, i);
	uint64_t before = i ? lower(size_of(e->count[i - 1]), 11) : 0;

	code_number(c, &m->count, 2 * before + again, &e->count[i]);
	code_number(c, &m->mispredicted, size_of(e->count[i]), &e->mispredicted[i]);
	code_weight(c, &m->weight, e->count[i], 256 * lower(e->count[i], 1ull << 48),
		    &e->weight[i]);
}

static void code_edges(struct pp_coder *c, struct edge_models *m, Pathprof__Edges *e, size_t cnt)
{
	uint64_t from_binary = 0;

	for (size_t i = 0; m && i < cnt && !c->failed; i++) {
		code_edge(c, m, e, &from_binary, i);
		code_edge_counts(c, m, e, i);
	}
}

/* ---------------------------------------------------------------- clock places */

static void code_clocks(struct pp_coder *c, struct clock_models *m, Pathprof__Clocks *k, size_t cnt)
{
	for (size_t i = 0; m && i < cnt && !c->failed; i++) {
		code_step(c, &m->binary, 0, &k->binary[i]);
		code_step(c, &m->place, i ? size_of(fold(k->place[i - 1])) : 0, &k->place[i]);
		code_short(c, &m->workload, i ? k->workload[i - 1] : 0, &k->workload[i]);
		code_number(c, &m->samples, 0, &k->samples[i]);
	}
}

/* ---------------------------------------------------------------- all of a part */

/* Models of all tables take some 250 kB, of which most pages are never touched. */
static void code_part(struct pp_coder *c, Pathprof__Part *part)
{
	struct path_models *paths = calloc(1, sizeof(*paths));
	struct edge_models *edges = calloc(1, sizeof(*edges));
	struct clock_models *clocks = calloc(1, sizeof(*clocks));

	c->failed |= !paths || !edges || !clocks;
	code_paths(c, paths, part->paths, part->path_cnt);
	code_edges(c, edges, part->edges, part->edge_cnt);
	code_clocks(c, clocks, part->clocks, part->clock_cnt);
	free(paths);
	free(edges);
	free(clocks);
}

#define TAKE(column, cnt) ((column) = pp_arena_take(arena, cnt, sizeof(*(column))))
/* A column that was left out is one of zeros. */
#define FILL(table, column, cnt)                                                                   \
	((table)->n_##column ? (void)0 : (void)TAKE((table)->column, cnt),                         \
	 (table)->n_##column = (cnt))

static void fill_paths(struct pp_arena *arena, Pathprof__Paths *p, size_t cnt)
{
	FILL(p, binary, cnt);
	FILL(p, start, cnt);
	FILL(p, length, cnt);
	FILL(p, outcomes, cnt);
	FILL(p, workload, cnt);
	FILL(p, samples, cnt);
	FILL(p, squares, cnt);
	FILL(p, weight, cnt);
	FILL(p, insns, cnt);
	FILL(p, looks, cnt);
}

static void fill_edges(struct pp_arena *arena, Pathprof__Edges *e, size_t cnt)
{
	FILL(e, from_binary, cnt);
	FILL(e, from, cnt);
	FILL(e, to_binary, cnt);
	FILL(e, to, cnt);
	FILL(e, workload, cnt);
	FILL(e, count, cnt);
	FILL(e, mispredicted, cnt);
	FILL(e, weight, cnt);
}

static void fill_clocks(struct pp_arena *arena, Pathprof__Clocks *k, size_t cnt)
{
	FILL(k, binary, cnt);
	FILL(k, place, cnt);
	FILL(k, workload, cnt);
	FILL(k, samples, cnt);
}

static bool fill(struct pp_arena *arena, Pathprof__Part *part)
{
	fill_paths(arena, part->paths, part->path_cnt);
	fill_edges(arena, part->edges, part->edge_cnt);
	fill_clocks(arena, part->clocks, part->clock_cnt);
	return !arena->failed;
}

void pp_parcel_pack_rows(struct pp_arena *arena, Pathprof__Part *part)
{
	struct pp_coder coder;

	part->path_cnt = (uint32_t)part->paths->n_workload;
	part->edge_cnt = (uint32_t)part->edges->n_workload;
	part->clock_cnt = (uint32_t)part->clocks->n_workload;
	if (!fill(arena, part))
		return;
	pp_coder_write(&coder);
	code_part(&coder, part);
	pp_coder_finish(&coder);
	part->rows.data = pp_arena_take(arena, coder.out_len, 1);
	part->rows.len = coder.out_len;
	if (part->rows.data && !coder.failed)
		memcpy(part->rows.data, coder.out, coder.out_len);
	free(coder.out);
	part->paths = NULL;
	part->edges = NULL;
	part->clocks = NULL;
	arena->failed |= coder.failed;
}

static bool take_tables(struct pp_arena *arena, Pathprof__Part *part)
{
	TAKE(part->paths, 1);
	TAKE(part->edges, 1);
	TAKE(part->clocks, 1);
	if (arena->failed)
		return false;
	pathprof__paths__init(part->paths);
	pathprof__edges__init(part->edges);
	pathprof__clocks__init(part->clocks);
	return fill(arena, part);
}

int pp_parcel_unpack_rows(struct pp_arena *arena, Pathprof__Part *part,
			  struct pathprof_error *error)
{
	struct pp_coder coder;

	if (part->paths || part->edges || part->clocks)
		return pathprof_fail(error, -EBADMSG,
				     "the parcel is malformed: columns in version 2");
	if (!take_tables(arena, part))
		return pathprof_fail(error, -E2BIG, "the parcel takes more than %zu MiB of memory",
				     arena->max_bytes >> 20);
	pp_coder_read(&coder, part->rows.data, part->rows.len);
	code_part(&coder, part);
	if (!pp_coder_is_whole(&coder))
		return pathprof_fail(error, -EBADMSG,
				     "the parcel is malformed: its rows are damaged");
	return 0;
}
