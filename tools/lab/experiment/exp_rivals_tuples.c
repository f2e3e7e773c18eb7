// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles of tuples at equal bytes of state: the stratified samplers against the stream summaries
 * that came after them, on load values and on edges with calls. The metrics are RPS 5.3 and 5.7,
 * and the overlap of EOPP 5.5 over windows, where phases change.
 *
 * State is packed as hardware has it (rival.h): 112 bits of a tuple, 32 of a count. Messages are
 * those on the way; what is held at the end, or at a window's, is read out with the profile. Every
 * contender runs twice over the same stream, one instance is read out at each window's end.
 *
 * Each process owns all it needs; tuples are passed on in batches, so that a structure's state
 * stays in the cache while it works.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "../model/exact.h"
#include "../rival/cells.h"
#include "../rival/rivals.h"
#include "experiment.h"
#include "rps.h"
#include "value_error.h"

#define KEY_BITS       112
#define CONTENDERS_MAX 32
#define BATCH          4096
#define TIMED_TUPLES   1000000
#define SHOWN          8 /* contenders in a figure */

/* A contender: notation of a sampler, or a summary; the other one is NULL. */
struct contender {
	const char *name, *notation;
	const struct lab_rival_ops *summary;
	uint32_t read_out_rate;          /* 0: at the end only */
	uint32_t tail_rate, tail_strata; /* 0: as the structure has it */
	bool later;                      /* came after the papers */
};

/* Structures of the same bytes, NULL name at the end; the first is R256. */
struct field {
	const char *name; /* of the tables */
	uint32_t state_bytes;
	double messages_max; /* for 1000 tuples; a contender with more is out */
	struct contender contender[CONTENDERS_MAX];
};

#define SAMPLER(notation_)                                                                         \
	{                                                                                          \
		.name = (notation_), .notation = (notation_)                                       \
	}
#define TAIL(rate, strata)                                                                         \
	{                                                                                          \
		.name = "hpt-tail", .summary = &lab_rival_hpt_tail, .tail_rate = (rate),           \
		.tail_strata = (strata)                                                            \
	}
/* Contenders that are read out with the profile, which costs no messages ... */
#define AT_THE_END                                                                                 \
	{.name = "hpt-lfu", .summary = &lab_rival_hpt_lfu},                                        \
		{.name = "space-saving", .summary = &lab_rival_space_saving, .later = true},       \
		{.name = "misra-gries", .summary = &lab_rival_misra_gries, .later = true},         \
		{.name = "count-min", .summary = &lab_rival_count_min, .later = true},             \
		{.name = "heavy-keeper", .summary = &lab_rival_heavy_keeper, .later = true},       \
		{.name = "hpt-admit", .summary = &lab_rival_tiny_lfu, .later = true},              \
	{                                                                                          \
		.name = "rap", .summary = &lab_rival_rap, .later = true                            \
	}
/* ... and contenders that are read out as often as the samplers beside them send messages. */
#define READ_OUT(name_, summary_, rate)                                                            \
	{                                                                                          \
		.name = (name_), .summary = (summary_), .read_out_rate = (rate), .later = true     \
	}
#define ON_THE_WAY(rate)                                                                           \
	READ_OUT("space-saving/r", &lab_rival_space_saving, rate),                                 \
		READ_OUT("space-saving-4way/r", &lab_rival_space_saving_4, rate),                  \
		READ_OUT("misra-gries/r", &lab_rival_misra_gries, rate),                           \
		READ_OUT("count-min/r", &lab_rival_count_min, rate),                               \
		READ_OUT("heavy-keeper/r", &lab_rival_heavy_keeper, rate),                         \
		READ_OUT("hpt-admit/r", &lab_rival_tiny_lfu, rate),                                \
		READ_OUT("rap/r", &lab_rival_rap, rate)

/* The paper's samplers with a table, those of 4,096 bytes, and those with half as many messages. */
enum { SMALL_FIELD, MAIN_FIELD, HALF_FIELD, FIELD_CNT };
static const struct field fields[FIELD_CNT] = {
	{"rivals-tuples-2368",
	 2368,
	 1000.0 / 240,
	 {SAMPLER("R256"), SAMPLER("H[P256]2048"), SAMPLER("H[P256]2048A16"),
	  SAMPLER("H[PR244]2048"), SAMPLER("F16H[PR236]2048"), SAMPLER("F64H[PR192]1024"),
	  SAMPLER("F64H[PR216]1024"), SAMPLER("T[384]1024"), TAIL(244, 2048), ON_THE_WAY(244)}},
	{"rivals-tuples-4096",
	 4096,
	 1000.0 / 240,
	 {SAMPLER("R256"), SAMPLER("H[P256]4096"), SAMPLER("H[PR244]4096"), SAMPLER("H[R244]4096"),
	  SAMPLER("F64H[PR216]2048"), SAMPLER("F64H[PR244]2048"), SAMPLER("F128H[PR208]1024"),
	  SAMPLER("T[256]2048"), SAMPLER("T[384]2048"), TAIL(244, 3072), ON_THE_WAY(244),
	  AT_THE_END}},
	{"rivals-tuples-20480",
	 20480,
	 1000.0 / 510,
	 {SAMPLER("R256"), SAMPLER("R512"), SAMPLER("H[PR520]16384"), SAMPLER("F256H[PR464]8192"),
	  SAMPLER("F256H[PR320]8192"), SAMPLER("T[800]8192"), TAIL(520, 12288), ON_THE_WAY(520)}}};

enum { LOADS, EDGES, STREAM_CNT };
static lab_rps_tuple_fn *const streams[STREAM_CNT] = {lab_rps_load, lab_rps_edge_or_call};
static const char *const stream_names[STREAM_CNT] = {"loads", "edges"};

enum figure { ERROR, DYNAMIC, MESSAGES, OVERHEAD, TIME, FIGURE_CNT };

struct scores {
	double figure[FIGURE_CNT][CONTENDERS_MAX];
	double state_bytes[CONTENDERS_MAX];
	double tuple_cnt, distinct_cnt, hottest_percent; /* of the stream */
};
struct result {
	struct scores scores[FIELD_CNT][STREAM_CNT];
};

static size_t contender_cnt(const struct field *field)
{
	size_t cnt = 0;

	while (cnt < CONTENDERS_MAX && field->contender[cnt].name)
		cnt++;
	return cnt;
}

static struct lab_rival *create(const struct field *field, size_t which, lab_emit_fn *emit,
				void *context)
{
	const struct contender *c = &field->contender[which];
	const struct lab_rival_config config = {.state_bytes = field->state_bytes,
						.key_bits = KEY_BITS,
						.emit = emit,
						.context = context,
						.seed = 1,
						.tail_rate = c->tail_rate,
						.tail_strata = c->tail_strata};

	if (c->notation)
		return lab_rival_sampler(c->notation, &config);
	return c->read_out_rate ? lab_rival_read_out(c->summary, &config, c->read_out_rate)
				: c->summary->create(&config);
}

/* ---------------------------------------------------------------- one pass over a trace */

/* The two instances of a contender. */
struct entrant {
	struct lab_rival *whole, *windowed;
	struct lab_values *values; /* of all; this one's profile is number + 1 */
	size_t number;
	uint64_t emitted_cnt;
	struct lab_exact window; /* its profile of this window */
	double overlap_sum;
};

struct contest {
	const struct field *field;
	lab_rps_tuple_fn *tuple;
	struct entrant entrant[CONTENDERS_MAX];
	struct lab_values *values; /* 0: the ideal profile */
	struct lab_exact window, all;
	struct lab_key batch[BATCH];
	size_t batch_cnt, entrant_cnt;
	uint64_t event_cnt, end_events, insn_cnt, window_insns, window_end, window_cnt;
};

static void must(int64_t r)
{
	if (r < 0)
		lab_fail("rivals-tuples: %s", strerror((int)-r));
}

static void emit_whole(void *context, const struct lab_key *key, double count)
{
	struct entrant *e = context;

	e->emitted_cnt++;
	lab_values_add(e->values, e->number + 1, key->a, key->b, (uint32_t)count);
}

static void emit_window(void *context, const struct lab_key *key, double count)
{
	must(lab_exact_add(&((struct entrant *)context)->window, key, (uint64_t)count));
}

static void flush_batch(struct contest *c)
{
	for (size_t i = 0; i < c->batch_cnt; i++) {
		lab_values_add(c->values, 0, c->batch[i].a, c->batch[i].b, 1);
		must(lab_exact_add(&c->window, &c->batch[i], 1));
		must(lab_exact_add(&c->all, &c->batch[i], 1));
	}
	for (size_t e = 0; e < c->entrant_cnt; e++) {
		struct entrant *entrant = &c->entrant[e];

		for (size_t i = 0; i < c->batch_cnt; i++)
			entrant->whole->ops->add(entrant->whole, &c->batch[i], 1);
		for (size_t i = 0; i < c->batch_cnt; i++)
			entrant->windowed->ops->add(entrant->windowed, &c->batch[i], 1);
	}
	c->batch_cnt = 0;
}

static void end_window(struct contest *c)
{
	flush_batch(c);
	for (size_t i = 0; i < c->entrant_cnt; i++) {
		struct entrant *e = &c->entrant[i];

		e->windowed->ops->drain(e->windowed);
		e->overlap_sum +=
			100 * lab_exact_overlap(&c->window, e->window.entries, e->window.cnt);
		lab_exact_clear(&e->window);
	}
	lab_exact_clear(&c->window);
	c->window_cnt++;
	c->window_end = c->insn_cnt + c->window_insns;
}

static bool take(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	struct contest *c = context;

	for (size_t i = 0; i < cnt && c->event_cnt < c->end_events; i++) {
		struct lab_key *key = &c->batch[c->batch_cnt];

		c->insn_cnt += events[i].insn_cnt;
		if (!c->tuple(&events[i], &key->a, &key->b))
			continue;
		c->event_cnt++;
		if (++c->batch_cnt == BATCH)
			flush_batch(c);
		if (c->insn_cnt >= c->window_end)
			end_window(c);
	}
	return c->event_cnt < c->end_events;
}

static void contest_init(struct contest *c)
{
	c->entrant_cnt = contender_cnt(c->field);
	c->values = lab_values_new(c->entrant_cnt + 1);
	c->window_end = c->window_insns;
	lab_exact_init(&c->window);
	lab_exact_init(&c->all);
	for (size_t i = 0; i < c->entrant_cnt; i++) {
		struct entrant *e = &c->entrant[i];

		*e = (struct entrant){.values = c->values, .number = i};
		lab_exact_init(&e->window);
		e->whole = create(c->field, i, emit_whole, e);
		e->windowed = create(c->field, i, emit_window, e);
	}
}

static void contest_release(struct contest *c)
{
	for (size_t i = 0; i < c->entrant_cnt; i++) {
		c->entrant[i].whole->ops->destroy(c->entrant[i].whole);
		c->entrant[i].windowed->ops->destroy(c->entrant[i].windowed);
		lab_exact_release(&c->entrant[i].window);
	}
	lab_exact_release(&c->window);
	lab_exact_release(&c->all);
	lab_values_free(c->values);
}

/* Finds the share of the hottest tuples that fit into these bytes: the best that any summary could
 * reach. */
static void describe(const struct contest *c, struct scores *ret_scores)
{
	struct lab_exact_entry *entry = calloc(c->all.cnt + 1, sizeof(*entry));
	size_t room = (size_t)c->field->state_bytes * 8 / (KEY_BITS + LAB_COUNT_BITS);
	uint64_t sum = 0;

	if (!entry)
		lab_fail("out of memory");
	lab_exact_hottest(&c->all, entry);
	for (size_t i = 0; i < c->all.cnt && i < room; i++)
		sum += entry[i].count;
	free(entry);
	ret_scores->tuple_cnt = (double)c->all.total;
	ret_scores->distinct_cnt = c->all.cnt;
	ret_scores->hottest_percent = c->all.total ? 100 * (double)sum / (double)c->all.total : NAN;
}

/* Messages are counted before the structures are read out; errors are computed after that. */
static void score(struct contest *c, struct scores *ret_scores)
{
	double error[CONTENDERS_MAX + 1];

	for (size_t i = 0; i < c->entrant_cnt; i++) {
		struct entrant *e = &c->entrant[i];
		double messages = (double)e->emitted_cnt;

		ret_scores->figure[MESSAGES][i] = 1000 * messages / (double)c->event_cnt;
		ret_scores->figure[OVERHEAD][i] =
			100 * LAB_RPS_CYCLES_A_MESSAGE * messages /
			((double)c->insn_cnt * LAB_RPS_CYCLES_AN_INSTRUCTION);
		ret_scores->figure[DYNAMIC][i] = e->overlap_sum / (double)c->window_cnt;
		ret_scores->state_bytes[i] = (double)e->whole->ops->state_bits(e->whole) / 8;
		e->whole->ops->drain(e->whole);
	}
	lab_values_errors(c->values, error);
	memcpy(ret_scores->figure[ERROR], error + 1, c->entrant_cnt * sizeof(*error));
}

static void hold(const struct pathprof_trace *trace, struct contest *c, struct scores *ret_scores)
{
	contest_init(c);
	lab_trace_each(trace, take, c);
	flush_batch(c);
	/* A trace shorter than a window counts as one. */
	if (!c->window_cnt)
		end_window(c);
	describe(c, ret_scores);
	score(c, ret_scores);
	contest_release(c);
}

/* ---------------------------------------------------------------- time of an event */

struct timed {
	lab_rps_tuple_fn *tuple;
	struct lab_key *key; /* TIMED_TUPLES of them */
	size_t cnt;
};

static bool keep(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	struct timed *t = context;

	for (size_t i = 0; i < cnt && t->cnt < TIMED_TUPLES; i++)
		t->cnt += t->tuple(&events[i], &t->key[t->cnt].a, &t->key[t->cnt].b);
	return t->cnt < TIMED_TUPLES;
}

static void emit_nowhere(void *context, const struct lab_key *key, double count)
{
	(void)key;
	*(double *)context += count;
}

static double time_one(const struct timed *t, const struct field *field, size_t which)
{
	double sum = 0, start_ns;
	struct lab_rival *rival = create(field, which, emit_nowhere, &sum);

	start_ns = (double)pp_monotonic_ns();
	for (size_t i = 0; i < t->cnt; i++)
		rival->ops->add(rival, &t->key[i], 1);
	start_ns = (double)pp_monotonic_ns() - start_ns;
	rival->ops->destroy(rival);
	return t->cnt ? start_ns / (double)t->cnt : NAN;
}

static void time_all(const struct pathprof_trace *trace, lab_rps_tuple_fn *tuple,
		     const struct field *field, struct scores *ret_scores)
{
	struct timed t = {.tuple = tuple, .key = calloc(TIMED_TUPLES, sizeof(*t.key))};

	if (!t.key)
		lab_fail("out of memory");
	lab_trace_each(trace, keep, &t);
	for (size_t i = 0; i < contender_cnt(field); i++)
		ret_scores->figure[TIME][i] = time_one(&t, field, i);
	free(t.key);
}

/* ---------------------------------------------------------------- programs and tables */

/* The compiler runs to the paper's 16 M even in the small setting, since the aims are set for that
 * length. */
static uint64_t end_events(const struct lab_run *run, const struct lab_program *program)
{
	return lab_run_small(run) && strcmp(program->name, "cc1") != 0 ? 4000000 : 16000000;
}

static void measure(struct lab_run *run, const struct lab_program *program,
		    const struct pathprof_trace *trace, void *result)
{
	struct result *to = result;

	for (size_t f = 0; f < FIELD_CNT; f++)
		for (size_t s = 0; s < STREAM_CNT; s++) {
			struct contest *c = calloc(1, sizeof(*c));

			if (!c)
				lab_fail("out of memory");
			c->field = &fields[f];
			c->tuple = streams[s];
			c->end_events = end_events(run, program);
			c->window_insns = lab_run_window_insns(run);
			hold(trace, c, &to->scores[f][s]);
			time_all(trace, streams[s], &fields[f], &to->scores[f][s]);
			free(c);
		}
}

/* ---------------------------------------------------------------- who is better */

static bool in_contest(const struct field *field, const struct scores *scores, size_t which)
{
	return scores->figure[MESSAGES][which] <= field->messages_max;
}

/* Less error is better; more overlap is better. */
static bool better(enum figure figure, double x, double y)
{
	return figure == DYNAMIC ? x > y : x < y;
}

/* The best contender among the later summaries, or else among ours and the papers'. */
static size_t best_of(const struct field *field, const struct scores *scores, enum figure figure,
		      bool later)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < contender_cnt(field); i++)
		if (field->contender[i].later == later && in_contest(field, scores, i) &&
		    (best == SIZE_MAX ||
		     better(figure, scores->figure[figure][i], scores->figure[figure][best])))
			best = i;
	return best;
}

static size_t best_on(const struct field *field, const struct scores *scores, enum figure figure)
{
	size_t ours = best_of(field, scores, figure, false);
	size_t later = best_of(field, scores, figure, true);
	const double *value = scores->figure[figure];

	if (ours == SIZE_MAX || later == SIZE_MAX)
		return ours == SIZE_MAX ? later : ours;
	return better(figure, value[later], value[ours]) ? later : ours;
}

static double average(const struct lab_run *run, const struct scores *scores, enum figure figure,
		      size_t which)
{
	size_t cnt = lab_run_program_cnt(run);
	double sum = 0;

	for (size_t p = 0; p < cnt; p++)
		sum += scores[p].figure[figure][which];
	return sum / (double)cnt;
}

/* The number of programs on which this one is the best of its field. */
static size_t won(const struct lab_run *run, const struct field *field, const struct scores *scores,
		  enum figure figure, size_t which)
{
	size_t cnt = 0;

	for (size_t p = 0; p < lab_run_program_cnt(run); p++)
		cnt += best_on(field, &scores[p], figure) == which;
	return cnt;
}

/* The number of programs on which one of ours or the papers' beats every later summary. */
static size_t won_by_samplers(const struct lab_run *run, const struct field *field,
			      const struct scores *scores, enum figure figure)
{
	size_t cnt = 0;

	for (size_t p = 0; p < lab_run_program_cnt(run); p++)
		cnt += !field->contender[best_on(field, &scores[p], figure)].later;
	return cnt;
}

/* ---------------------------------------------------------------- tables */

static void write_averages(struct lab_run *run, const struct field *field,
			   const struct scores *scores, const char *stream)
{
	static const char *const columns[] = {
		"error %", "dynamic %", "messages/1000", "overhead %",
		"ns",      "bytes",     "best by error", "best by dynamic"};
	enum { BYTES = FIGURE_CNT, WON_ERROR, WON_DYNAMIC, COLUMN_CNT };
	double value[COLUMN_CNT];
	char name[64], title[128];
	struct lab_table *table;

	snprintf(name, sizeof(name), "%s-%s", field->name, stream);
	snprintf(title, sizeof(title), "%s: mean of the programs, at most %u bytes", stream,
		 field->state_bytes);
	table = lab_table_new(name, title, "structure", columns, COLUMN_CNT);
	for (int c = BYTES; c < COLUMN_CNT; c++)
		lab_table_set_decimals(table, (size_t)c, 0);
	for (size_t i = 0; i < contender_cnt(field); i++) {
		for (enum figure f = 0; f < FIGURE_CNT; f++)
			value[f] = average(run, scores, f, i);
		value[BYTES] = scores[0].state_bytes[i];
		value[WON_ERROR] = (double)won(run, field, scores, ERROR, i);
		value[WON_DYNAMIC] = (double)won(run, field, scores, DYNAMIC, i);
		lab_table_add(table, field->contender[i].name, value);
	}
	lab_table_write(run, table);
	lab_table_free(table);
}

/* A row a structure, a column a program, then the mean. */
static void write_figure(struct lab_run *run, const struct field *field,
			 const struct scores *scores, const char *stream, enum figure figure)
{
	static const char *const figures[FIGURE_CNT] = {"error", "dynamic", "messages", "overhead",
							"time"};
	static const char *const titles[FIGURE_CNT] = {
		"error of the profile, %", "overlap in windows, %", "messages per 1000 tuples",
		"modelled overhead, %", "nanoseconds a tuple"};
	size_t cnt = lab_run_program_cnt(run);
	const char **columns = calloc(cnt + 1, sizeof(*columns));
	double *value = calloc(cnt + 1, sizeof(*value));
	char name[64], title[128];
	struct lab_table *table;

	if (!columns || !value)
		lab_fail("out of memory");
	for (size_t p = 0; p < cnt; p++)
		columns[p] = lab_run_program(run, p)->name;
	columns[cnt] = "average";
	snprintf(name, sizeof(name), "%s-%s-%s", field->name, stream, figures[figure]);
	snprintf(title, sizeof(title), "%s, at most %u bytes: %s", stream, field->state_bytes,
		 titles[figure]);
	table = lab_table_new(name, title, "structure", columns, cnt + 1);
	for (size_t i = 0; i < contender_cnt(field); i++) {
		for (size_t p = 0; p < cnt; p++)
			value[p] = scores[p].figure[figure][i];
		value[cnt] = average(run, scores, figure, i);
		lab_table_add(table, field->contender[i].name, value);
	}
	lab_table_write(run, table);
	lab_table_free(table);
	free(columns);
	free(value);
}

/* Chooses the contenders with the least mean error whose mean of messages is in the contest.
 * Returns how many. */
static size_t choose_shown(const struct lab_run *run, const struct field *field,
			   const struct scores *scores, size_t *ret_which)
{
	size_t cnt = 0;

	for (size_t i = 0; i < contender_cnt(field); i++) {
		double error = average(run, scores, ERROR, i);
		size_t at;

		if (average(run, scores, MESSAGES, i) > field->messages_max)
			continue;
		for (at = cnt; at && average(run, scores, ERROR, ret_which[at - 1]) > error; at--)
			if (at < SHOWN)
				ret_which[at] = ret_which[at - 1];
		if (at < SHOWN)
			ret_which[at] = i;
		cnt += cnt < SHOWN;
	}
	return cnt;
}

static void draw_best(struct lab_run *run, const struct field *field, const struct scores *scores,
		      const char *stream)
{
	const struct lab_plot plot = {.form = LAB_PLOT_BARS, .y = "error, %"};
	const char *columns[SHOWN];
	size_t which[SHOWN], cnt = choose_shown(run, field, scores, which);
	char name[64], title[128];
	double value[SHOWN];
	struct lab_table *table;

	for (size_t i = 0; i < cnt; i++)
		columns[i] = field->contender[which[i]].name;
	snprintf(name, sizeof(name), "%s-%s-best", field->name, stream);
	snprintf(title, sizeof(title), "%s: error of the best at %u bytes, %%", stream,
		 field->state_bytes);
	table = lab_table_new(name, title, "program", columns, cnt);
	for (size_t p = 0; p < lab_run_program_cnt(run); p++) {
		for (size_t i = 0; i < cnt; i++)
			value[i] = scores[p].figure[ERROR][which[i]];
		lab_table_add(table, lab_run_program(run, p)->name, value);
	}
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

/* Writes the sizes of the streams, and the shares of the hottest tuples that fit. */
static void write_streams(struct lab_run *run, const struct result *results)
{
	static const char *const columns[] = {
		"loads", "distinct loads", "in 4096 bytes %",       "in 20480 bytes %",
		"edges", "distinct edges", "edges in 4096 bytes %", "edges in 20480 bytes %"};
	enum { COLUMN_CNT = 8 };
	struct lab_table *table = lab_table_new("rivals-tuples-streams",
						"Tuples, and the share of the hottest that fit",
						"program", columns, COLUMN_CNT);

	for (size_t s = 0; s < STREAM_CNT; s++) {
		lab_table_set_decimals(table, 4 * s, 0);
		lab_table_set_decimals(table, 4 * s + 1, 0);
	}
	for (size_t p = 0; p < lab_run_program_cnt(run); p++) {
		double value[COLUMN_CNT];

		for (size_t s = 0; s < STREAM_CNT; s++) {
			const struct scores *main = &results[p].scores[MAIN_FIELD][s];

			value[4 * s] = main->tuple_cnt;
			value[4 * s + 1] = main->distinct_cnt;
			value[4 * s + 2] = main->hottest_percent;
			value[4 * s + 3] = results[p].scores[HALF_FIELD][s].hottest_percent;
		}
		lab_table_add(table, lab_run_program(run, p)->name, value);
	}
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

/* ---------------------------------------------------------------- headlines */

static void say_winner(struct lab_run *run, const struct field *field, const struct scores *scores,
		       const char *stream, enum figure figure)
{
	const char *of = figure == ERROR ? "least error" : "most overlap in windows";
	size_t cnt = lab_run_program_cnt(run), most = cnt / 2 + 1, winner = 0;
	char what[160], why[128];

	for (size_t i = 1; i < contender_cnt(field); i++)
		if (won(run, field, scores, figure, i) > won(run, field, scores, figure, winner))
			winner = i;
	snprintf(what, sizeof(what), "%s, %u bytes, %s: programs won by samplers and hpt-tail",
		 stream, field->state_bytes, of);
	snprintf(why, sizeof(why), "of %zu; most by %s: %zu", cnt, field->contender[winner].name,
		 won(run, field, scores, figure, winner));
	lab_headline(run, &(struct lab_headline){
				  .what = what,
				  .paper = "none",
				  .ours = (double)won_by_samplers(run, field, scores, figure),
				  .unit = "programs",
				  .aim = (double)most,
				  .why = why});
}

static void say_best(struct lab_run *run, const struct field *field, const struct scores *compiler)
{
	size_t best = best_on(field, compiler, ERROR);
	char what[160], why[128];

	snprintf(why, sizeof(why), "%s, %.0f bytes", field->contender[best].name,
		 compiler->state_bytes[best]);
	snprintf(what, sizeof(what), "error on cc1, best of at most %u bytes", field->state_bytes);
	lab_headline(run, &(struct lab_headline){.what = what,
						 .paper = "< 3 % on gcc, H[P256]2048",
						 .ours = compiler->figure[ERROR][best],
						 .unit = "%",
						 .aim = 3,
						 .at_most = true,
						 .why = why});
	snprintf(what, sizeof(what), "its overhead, at most %u bytes", field->state_bytes);
	lab_headline(run, &(struct lab_headline){.what = what,
						 .paper = "3.5 % on gcc, H[P256]2048",
						 .ours = compiler->figure[OVERHEAD][best],
						 .unit = "%",
						 .aim = 3.5,
						 .at_most = true,
						 .why = why});
}

/* R256 is the first of every field. */
static void say_half(struct lab_run *run, const struct field *field, const struct scores *compiler)
{
	size_t best = best_on(field, compiler, ERROR);
	char what[160], why[128];

	snprintf(why, sizeof(why), "%s, %.0f bytes", field->contender[best].name,
		 compiler->state_bytes[best]);
	snprintf(what, sizeof(what), "messages on cc1, R256 over the best of at most %u bytes",
		 field->state_bytes);
	lab_headline(run, &(struct lab_headline){.what = what,
						 .paper = "about 2 x, H[P512]2048",
						 .ours = compiler->figure[MESSAGES][0] /
							 compiler->figure[MESSAGES][best],
						 .unit = "x",
						 .aim = 2,
						 .why = why});
	snprintf(what, sizeof(what), "its error over that of R256, at most %u bytes",
		 field->state_bytes);
	lab_headline(run, &(struct lab_headline){.what = what,
						 .paper = "about the same: 1 x",
						 .ours = compiler->figure[ERROR][best] /
							 compiler->figure[ERROR][0],
						 .unit = "x",
						 .aim = 1,
						 .at_most = true,
						 .why = why});
}

/* SIZE_MAX: it is not among the programs. */
static size_t compiler(const struct lab_run *run)
{
	for (size_t p = 0; p < lab_run_program_cnt(run); p++)
		if (strcmp(lab_run_program(run, p)->name, "cc1") == 0)
			return p;
	return SIZE_MAX;
}

static void say_all(struct lab_run *run, const struct result *results, struct scores *scores)
{
	size_t cc1 = compiler(run);

	for (size_t f = MAIN_FIELD; f <= HALF_FIELD; f++)
		for (size_t s = 0; s < STREAM_CNT; s++) {
			for (size_t p = 0; p < lab_run_program_cnt(run); p++)
				scores[p] = results[p].scores[f][s];
			say_winner(run, &fields[f], scores, stream_names[s], ERROR);
			say_winner(run, &fields[f], scores, stream_names[s], DYNAMIC);
		}
	if (cc1 == SIZE_MAX)
		return;
	say_best(run, &fields[SMALL_FIELD], &results[cc1].scores[SMALL_FIELD][LOADS]);
	say_best(run, &fields[MAIN_FIELD], &results[cc1].scores[MAIN_FIELD][LOADS]);
	say_half(run, &fields[HALF_FIELD], &results[cc1].scores[HALF_FIELD][LOADS]);
}

/* scores: room for the scores of all programs in one field and stream. */
static void write_all(struct lab_run *run, const struct result *results, struct scores *scores)
{
	for (size_t f = 0; f < FIELD_CNT; f++)
		for (size_t s = 0; s < STREAM_CNT; s++) {
			for (size_t p = 0; p < lab_run_program_cnt(run); p++)
				scores[p] = results[p].scores[f][s];
			write_averages(run, &fields[f], scores, stream_names[s]);
			for (enum figure figure = 0; figure < FIGURE_CNT; figure++)
				write_figure(run, &fields[f], scores, stream_names[s], figure);
			draw_best(run, &fields[f], scores, stream_names[s]);
		}
}

static void run(struct lab_run *run)
{
	size_t cnt = lab_run_program_cnt(run);
	struct result *results = calloc(cnt ? cnt : 1, sizeof(*results));
	struct scores *scores = calloc(cnt ? cnt : 1, sizeof(*scores));

	if (!results || !scores)
		lab_fail("out of memory");
	lab_run_each_program(run, LAB_TRACE_LOADS, measure, results, sizeof(*results));
	if (cnt) {
		write_streams(run, results);
		write_all(run, results, scores);
		say_all(run, results, scores);
	}
	free(results);
	free(scores);
}

const struct lab_experiment exp_rivals_tuples = {
	"rivals-tuples", "samplers and summaries of tuples at equal state", "RPS 5.4 to 5.7", run};
