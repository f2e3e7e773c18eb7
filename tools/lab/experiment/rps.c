// SPDX-License-Identifier: GPL-2.0-or-later
/* One pass over a trace: ideal profile and compressors side by side. */
#include "rps.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>

#include "pathprof/compress.h"
#include "run.h"
#include "value_error.h"

/* In bits that no user address has. Edges have tag 0. */
#define CALL_TAG (UINT64_C(1) << 56)

struct pass {
	const struct lab_rps_plan *plan;
	struct lab_rps_result *result;
	struct lab_values *values; /* NULL: no errors wanted */
	struct pathprof_compressor *compressors[LAB_RPS_SAMPLERS_MAX];
	uint64_t message_cnt[LAB_RPS_SAMPLERS_MAX];
	uint64_t event_cnt, insn_cnt, next_point;
};

bool lab_rps_load(const struct pathprof_trace_event *event, uint64_t *ret_pc, uint64_t *ret_word)
{
	if (event->type != PATHPROF_TRACE_EVENT_ACCESS || event->access.store)
		return false;
	*ret_pc = event->access.pc;
	*ret_word = event->access.value;
	return true;
}

bool lab_rps_edge_or_call(const struct pathprof_trace_event *event, uint64_t *ret_pc,
			  uint64_t *ret_word)
{
	const struct pathprof_branch *branch = &event->branch;

	if (event->type != PATHPROF_TRACE_EVENT_BRANCH || branch->kind == PERF_BR_RET)
		return false;
	*ret_pc = branch->from;
	if (branch->kind == PERF_BR_CALL || branch->kind == PERF_BR_IND_CALL)
		*ret_pc ^= CALL_TAG;
	*ret_word = branch->next;
	return true;
}

static void deliver(struct pass *pass, size_t sampler, const struct pathprof_message *message)
{
	pass->message_cnt[sampler]++;
	if (pass->values)
		lab_values_add(pass->values, sampler + 1, message->pc, message->word,
			       (uint32_t)message->count);
}

static void add_point(struct pass *pass)
{
	struct lab_rps_point *point = &pass->result->points[pass->result->point_cnt];
	double errors[LAB_RPS_SAMPLERS_MAX + 1];

	if (pass->result->point_cnt == LAB_RPS_POINTS_MAX)
		return;
	pass->result->point_cnt++;
	point->event_cnt = pass->event_cnt;
	point->insn_cnt = pass->insn_cnt;
	if (pass->values)
		lab_values_errors(pass->values, errors);
	for (size_t i = 0; i < pass->plan->sampler_cnt; i++) {
		point->error[i] = pass->values ? errors[i + 1] : NAN;
		point->message_cnt[i] = pass->message_cnt[i];
	}
}

static void offer(struct pass *pass, uint64_t pc, uint64_t word)
{
	struct pathprof_message message;

	pass->event_cnt++;
	if (pass->values)
		lab_values_add(pass->values, 0, pc, word, 1);
	for (size_t i = 0; i < pass->plan->sampler_cnt; i++)
		if (pathprof_compressor_step(pass->compressors[i], pc, word, &message))
			deliver(pass, i, &message);
}

/* The last point is added after the flush, by lab_rps_measure(). */
static bool take(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	struct pass *pass = context;
	uint64_t pc, word;

	for (size_t i = 0; i < cnt; i++) {
		pass->insn_cnt += events[i].insn_cnt;
		if (!pass->plan->tuple(&events[i], &pc, &word))
			continue;
		offer(pass, pc, word);
		if (pass->event_cnt >= pass->plan->end_events)
			return false;
		if (pass->event_cnt == pass->next_point) {
			add_point(pass);
			pass->next_point += pass->plan->step_events;
		}
	}
	return true;
}

static void flush(struct pass *pass)
{
	struct pathprof_message message;

	for (size_t i = 0; i < pass->plan->sampler_cnt; i++)
		while (pathprof_compressor_flush(pass->compressors[i], &message))
			deliver(pass, i, &message);
}

void lab_rps_measure(const struct pathprof_trace *trace, const struct lab_rps_plan *plan,
		     struct lab_rps_result *ret_result)
{
	struct pass pass = {.plan = plan, .result = ret_result, .next_point = plan->step_events};
	struct pathprof_error error;

	ret_result->point_cnt = 0;
	if (plan->sampler_cnt > LAB_RPS_SAMPLERS_MAX)
		lab_fail("%zu samplers, at most %d", plan->sampler_cnt, LAB_RPS_SAMPLERS_MAX);
	for (size_t i = 0; i < plan->sampler_cnt; i++)
		if (pathprof_compressor_new(&pass.compressors[i], plan->samplers[i], NULL, &error))
			lab_fail("%s", error.text);
	if (plan->errors)
		pass.values = lab_values_new(plan->sampler_cnt + 1);
	lab_trace_each(trace, take, &pass);
	flush(&pass);
	add_point(&pass);
	lab_values_free(pass.values);
	for (size_t i = 0; i < plan->sampler_cnt; i++)
		pathprof_compressor_free(pass.compressors[i]);
}

double lab_rps_overhead(const struct lab_rps_point *point, size_t sampler)
{
	double cycles = (double)point->insn_cnt * LAB_RPS_CYCLES_AN_INSTRUCTION;

	return cycles > 0 ? 100 * LAB_RPS_CYCLES_A_MESSAGE * (double)point->message_cnt[sampler] /
				    cycles
			  : NAN;
}

const struct lab_rps_point *lab_rps_last(const struct lab_rps_result *result)
{
	static const struct lab_rps_point none;

	return result->point_cnt ? &result->points[result->point_cnt - 1] : &none;
}

double lab_rps_mean_error(const struct lab_rps_result *result, size_t sampler, uint64_t from_events)
{
	double sum = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < result->point_cnt; i++)
		if (result->points[i].event_cnt >= from_events &&
		    !isnan(result->points[i].error[sampler])) {
			sum += result->points[i].error[sampler];
			cnt++;
		}
	return cnt ? sum / (double)cnt : NAN;
}

static void label_point(const struct lab_rps_point *point, char *ret_label, size_t bytes)
{
	snprintf(ret_label, bytes, "%.2f", (double)point->event_cnt / 1e6);
}

struct lab_table *lab_rps_error_table(const char *name, const char *title,
				      const struct lab_rps_plan *plan,
				      const struct lab_rps_result *result, uint64_t end_events)
{
	struct lab_table *table =
		lab_table_new(name, title, "M events", plan->samplers, plan->sampler_cnt);
	char label[32];

	for (size_t i = 0; i < result->point_cnt; i++) {
		if (result->points[i].event_cnt > end_events)
			break;
		label_point(&result->points[i], label, sizeof(label));
		lab_table_add(table, label, result->points[i].error);
	}
	return table;
}

struct lab_table *lab_rps_overhead_table(const char *name, const char *title,
					 const struct lab_rps_plan *plan,
					 const struct lab_rps_result *result)
{
	struct lab_table *table =
		lab_table_new(name, title, "M events", plan->samplers, plan->sampler_cnt);
	double values[LAB_RPS_SAMPLERS_MAX];
	char label[32];

	for (size_t i = 0; i < result->point_cnt; i++) {
		for (size_t s = 0; s < plan->sampler_cnt; s++)
			values[s] = lab_rps_overhead(&result->points[i], s);
		label_point(&result->points[i], label, sizeof(label));
		lab_table_add(table, label, values);
	}
	return table;
}
