// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hot path tables at 7,168 bytes of state, the thesis' 512 entries of four ways (EOPP 5.4 and
 * 5.5.2) and its rivals: overlap with the exact profile over the whole run and over windows, and
 * the cost of the messages on the way. A rival's profile is what it emits and what it holds at the
 * end, so one that spills everything is exact and pays for it in messages.
 *
 * Every rival runs twice over the same stream, one instance is read out at each window's end.
 * Each process owns all it needs; paths are passed on in batches, so that a rival is timed alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "../model/exact.h"
#include "../model/path_feed.h"
#include "../rival/rival.h"
#include "experiment.h"

#define STATE_BYTES    7168
#define KEY_BITS       80 /* 47 of the start, 33 of length and outcomes */
#define ENTRY_CNT      512
#define MESSAGE_CYCLES 30 /* RPS 5.3.2 */
#define RIVALS_MAX     24
#define BATCH          4096

enum figure { COMPLETE, DYNAMIC, MESSAGES, OVERHEAD, TIME, FIGURE_CNT };

static const char *const names[FIGURE_CNT] = {"rivals-paths-complete", "rivals-paths-dynamic",
					      "rivals-paths-messages", "rivals-paths-overhead",
					      "rivals-paths-time"};
static const char *const titles[FIGURE_CNT] = {
	"Complete overlap at 7,168 bytes, %", "Dynamic overlap at 7,168 bytes, %",
	"Messages per 1000 paths", "Modelled overhead of the messages, %", "Nanoseconds a path"};

struct result {
	double figure[FIGURE_CNT][RIVALS_MAX];
	double state_bytes[RIVALS_MAX];
	double path_cnt, distinct_cnt, hottest_percent;
};

/* One instance and the profile it has given away so far. */
struct instance {
	struct lab_rival *rival;
	struct lab_exact profile;
	uint64_t emitted_cnt;
};

struct contest {
	struct instance whole[RIVALS_MAX], windowed[RIVALS_MAX];
	uint64_t time_ns[RIVALS_MAX];
	double overlap_sum[RIVALS_MAX];
	struct lab_exact exact, window;
	struct lab_path_feed feed;
	struct lab_key batch[BATCH];
	size_t batch_cnt, rival_cnt;
	uint64_t window_insns, window_end, window_cnt;
};

static void must(int64_t r)
{
	if (r < 0)
		lab_fail("rivals-paths: %s", strerror((int)-r));
}

static void emit(void *context, const struct lab_key *key, double count)
{
	struct instance *instance = context;

	must(lab_exact_add(&instance->profile, key, (uint64_t)count));
	instance->emitted_cnt++;
}

static void instance_init(struct instance *instance, const struct lab_rival_ops *ops)
{
	const struct lab_rival_config config = {.state_bytes = STATE_BYTES,
						.key_bits = KEY_BITS,
						.emit = emit,
						.context = instance,
						.seed = 1};

	lab_exact_init(&instance->profile);
	instance->rival = ops->create(&config);
}

static void instance_release(struct instance *instance)
{
	instance->rival->ops->destroy(instance->rival);
	lab_exact_release(&instance->profile);
}

static double overlap_percent(const struct lab_exact *exact, struct instance *instance)
{
	instance->rival->ops->drain(instance->rival);
	return 100 * lab_exact_overlap(exact, instance->profile.entries, instance->profile.cnt);
}

static void feed_rival(struct contest *c, struct lab_rival *rival)
{
	for (size_t i = 0; i < c->batch_cnt; i++)
		rival->ops->add(rival, &c->batch[i], 1);
}

static void flush_batch(struct contest *c)
{
	for (size_t i = 0; i < c->batch_cnt; i++) {
		must(lab_exact_add(&c->exact, &c->batch[i], 1));
		must(lab_exact_add(&c->window, &c->batch[i], 1));
	}
	for (size_t r = 0; r < c->rival_cnt; r++) {
		uint64_t start_ns = pp_monotonic_ns();

		feed_rival(c, c->whole[r].rival);
		c->time_ns[r] += pp_monotonic_ns() - start_ns;
		feed_rival(c, c->windowed[r].rival);
	}
	c->batch_cnt = 0;
}

static void end_window(struct contest *c)
{
	flush_batch(c);
	for (size_t r = 0; r < c->rival_cnt; r++) {
		c->overlap_sum[r] += overlap_percent(&c->window, &c->windowed[r]);
		lab_exact_clear(&c->windowed[r].profile);
	}
	lab_exact_clear(&c->window);
	c->window_cnt++;
	c->window_end += c->window_insns;
}

static void brought(void *context, const struct lab_brought *b)
{
	struct contest *c = context;

	if (b->path) {
		c->batch[c->batch_cnt++] =
			(struct lab_key){.a = b->path->start, .b = lab_path_word(b->path)};
		if (c->batch_cnt == BATCH)
			flush_batch(c);
	}
	if (c->feed.insn_cnt >= c->window_end)
		end_window(c);
}

static bool events(void *context, const struct pathprof_trace_event *event, size_t cnt)
{
	lab_path_feed_step(&((struct contest *)context)->feed, event, cnt);
	return true;
}

static double hottest_percent(const struct lab_exact *exact)
{
	struct lab_exact_entry *entry = calloc(exact->cnt + 1, sizeof(*entry));
	uint64_t sum = 0;

	if (!entry)
		lab_fail("out of memory");
	lab_exact_hottest(exact, entry);
	for (size_t i = 0; i < exact->cnt && i < ENTRY_CNT; i++)
		sum += entry[i].count;
	free(entry);
	return exact->total ? 100.0 * (double)sum / (double)exact->total : NAN;
}

static void fill_rival(struct contest *c, size_t r, struct result *result)
{
	struct instance *whole = &c->whole[r];
	double paths = (double)c->exact.total, messages = (double)whole->emitted_cnt;

	result->figure[COMPLETE][r] = overlap_percent(&c->exact, whole);
	result->figure[DYNAMIC][r] = c->overlap_sum[r] / (double)c->window_cnt;
	result->figure[MESSAGES][r] = 1000 * messages / paths;
	result->figure[OVERHEAD][r] = 100 * MESSAGE_CYCLES * messages / (double)c->feed.insn_cnt;
	result->figure[TIME][r] = (double)c->time_ns[r] / paths;
	result->state_bytes[r] = (double)whole->rival->ops->state_bits(whole->rival) / 8;
}

static void contest_init(struct contest *c, uint64_t window_insns)
{
	const struct pathprof_path_settings settings = {.mapping = PATHPROF_MAPPING_BL,
							.max_length = 32};

	c->window_insns = c->window_end = window_insns;
	lab_exact_init(&c->exact);
	lab_exact_init(&c->window);
	must(lab_path_feed_init(&c->feed, &settings, false, brought, c));
	for (size_t r = 0; lab_rivals[r]; r++) {
		if (r == RIVALS_MAX)
			lab_fail("rivals-paths: more than %d rivals", RIVALS_MAX);
		instance_init(&c->whole[r], lab_rivals[r]);
		instance_init(&c->windowed[r], lab_rivals[r]);
		c->rival_cnt++;
	}
}

static void contest_release(struct contest *c)
{
	for (size_t r = 0; r < c->rival_cnt; r++) {
		instance_release(&c->whole[r]);
		instance_release(&c->windowed[r]);
	}
	lab_path_feed_release(&c->feed);
	lab_exact_release(&c->exact);
	lab_exact_release(&c->window);
}

static void run_program(struct lab_run *run, const struct lab_program *program,
			const struct pathprof_trace *trace, void *result)
{
	struct contest *c = calloc(1, sizeof(*c));
	struct result *r = result;

	if (!c)
		lab_fail("out of memory");
	contest_init(c, lab_run_window_insns(run));
	lab_trace_each(trace, events, c);
	flush_batch(c);
	/* A trace shorter than a window counts as one. */
	if (!c->window_cnt)
		end_window(c);
	for (size_t i = 0; i < c->rival_cnt; i++)
		fill_rival(c, i, r);
	r->path_cnt = (double)c->exact.total;
	r->distinct_cnt = c->exact.cnt;
	r->hottest_percent = hottest_percent(&c->exact);
	contest_release(c);
	free(c);
}

static size_t rival_names(const char **ret_names)
{
	size_t cnt = 0;

	for (; lab_rivals[cnt]; cnt++)
		ret_names[cnt] = lab_rivals[cnt]->name;
	return cnt;
}

static void write_figure(struct lab_run *run, const struct result *results, enum figure figure)
{
	const struct lab_plot plot = {.form = LAB_PLOT_BARS, .x = "program", .y = titles[figure]};
	const char *columns[RIVALS_MAX];
	size_t cnt = rival_names(columns);
	struct lab_table *table =
		lab_table_new(names[figure], titles[figure], "program", columns, cnt);

	for (size_t p = 0; p < lab_run_program_cnt(run); p++)
		lab_table_add(table, lab_run_program(run, p)->name, results[p].figure[figure]);
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

/* The share of the 512 hottest paths is the upper bound for any table of 512 entries. */
static void write_programs(struct lab_run *run, const struct result *results)
{
	static const char *const columns[] = {"paths", "distinct paths", "512 hottest, %"};
	struct lab_table *table = lab_table_new("rivals-paths-programs", "Paths of the programs",
						"program", columns, 3);

	lab_table_set_decimals(table, 0, 0);
	lab_table_set_decimals(table, 1, 0);
	for (size_t p = 0; p < lab_run_program_cnt(run); p++)
		lab_table_add(table, lab_run_program(run, p)->name,
			      (double[]){results[p].path_cnt, results[p].distinct_cnt,
					 results[p].hottest_percent});
	lab_table_add_average(table);
	lab_table_write(run, table);
	lab_table_free(table);
}

static double average(const struct lab_run *run, const struct result *results, enum figure figure,
		      size_t rival)
{
	size_t cnt = lab_run_program_cnt(run);
	double sum = 0;

	for (size_t p = 0; p < cnt; p++)
		sum += results[p].figure[figure][rival];
	return sum / (double)cnt;
}

static void write_averages(struct lab_run *run, const struct result *results)
{
	static const char *const columns[] = {"complete, %", "dynamic, %", "messages/1000",
					      "overhead, %", "ns",         "state, bytes"};
	struct lab_table *table = lab_table_new("rivals-paths", "Path profiles at equal state",
						"rival", columns, FIGURE_CNT + 1);

	for (size_t r = 0; lab_rivals[r]; r++) {
		double value[FIGURE_CNT + 1];

		for (enum figure f = 0; f < FIGURE_CNT; f++)
			value[f] = average(run, results, f, r);
		value[FIGURE_CNT] = results[0].state_bytes[r];
		lab_table_add(table, lab_rivals[r]->name, value);
	}
	lab_table_set_decimals(table, FIGURE_CNT, 0);
	lab_table_write(run, table);
	lab_table_free(table);
}

/* The best by complete overlap among those with less than 2 % of overhead. */
static size_t best_rival(const struct lab_run *run, const struct result *results)
{
	size_t best = 0;

	for (size_t r = 1; lab_rivals[r]; r++)
		if (average(run, results, OVERHEAD, r) < 2 &&
		    average(run, results, COMPLETE, r) > average(run, results, COMPLETE, best))
			best = r;
	return best;
}

static void write_headlines(struct lab_run *run, const struct result *results)
{
	size_t best = best_rival(run, results);
	char why[128];

	snprintf(why, sizeof(why), "%s, %.2f messages per 1000 paths", lab_rivals[best]->name,
		 average(run, results, MESSAGES, best));
	lab_headline(run, &(struct lab_headline){.what = "best table of 7 KB, complete overlap",
						 .paper = "88 %",
						 .ours = average(run, results, COMPLETE, best),
						 .unit = "%",
						 .aim = 95,
						 .why = why});
	lab_headline(run, &(struct lab_headline){.what = "best table of 7 KB, dynamic overlap",
						 .paper = "95.5 %",
						 .ours = average(run, results, DYNAMIC, best),
						 .unit = "%",
						 .aim = 98,
						 .why = why});
}

static void run_all(struct lab_run *run)
{
	size_t cnt = lab_run_program_cnt(run);
	struct result *results = calloc(cnt ? cnt : 1, sizeof(*results));

	if (!results)
		lab_fail("out of memory");
	lab_run_each_program(run, LAB_TRACE_BRANCHES, run_program, results, sizeof(*results));
	write_programs(run, results);
	for (enum figure f = 0; f < FIGURE_CNT; f++)
		write_figure(run, results, f);
	write_averages(run, results);
	if (cnt)
		write_headlines(run, results);
	free(results);
}

const struct lab_experiment exp_rivals_paths = {"rivals-paths", "hot path tables at equal state",
						"EOPP 5.4, and later summaries", run_all};
