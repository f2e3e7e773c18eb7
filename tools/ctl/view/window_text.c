// SPDX-License-Identifier: GPL-2.0-or-later
/* A window's figures as text and JSON: see window_text.h. */
#include "window_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "../text/cleanup.h"
#include "json.h"

static const char *or_unknown(const char *name)
{
	return name ? name : "?";
}

const char *window_source_name(const struct pathprof_window_row *row)
{
	return or_unknown(pathprof_source_name(row->source));
}

const char *window_basis_name(const struct pathprof_window_row *row)
{
	return or_unknown(pathprof_basis_name(row->basis));
}

const char *window_kind_name(const struct pathprof_window_row *row)
{
	return or_unknown(pathprof_window_kind_name(
		pathprof_window_kind(row->basis, row->horizon, row->weighed)));
}

char *window_drops_text(const struct pathprof_totals *totals)
{
	char text[512] = "";
	size_t at = 0;

	for (unsigned int i = 0; i < PATHPROF_DROP_CNT; i++) {
		if (!totals->drops[i] || at >= sizeof(text) - 1)
			continue;
		at += (size_t)snprintf(
			text + at, sizeof(text) - at, "%s%s:%" PRIu64, at ? ", " : "",
			or_unknown(pathprof_drop_name((enum pathprof_drop)i)), totals->drops[i]);
	}
	return ctl_strdup(at ? text : "-");
}

double window_held_ratio(const struct pathprof_window_row *row)
{
	int64_t length_ns = row->end_ns - row->begin_ns;

	return length_ns > 0 ? (double)row->totals.stopped_ns / (double)length_ns : 0;
}

static json_t *counters(const uint64_t *counts, unsigned int cnt, const char *(*name)(uint32_t))
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < cnt; i++)
		if (counts[i])
			json_add_count(object, or_unknown(name(i)), counts[i]);
	return object;
}

static const char *drop_name(uint32_t drop)
{
	return pathprof_drop_name((enum pathprof_drop)drop);
}

json_t *window_json(const struct pathprof_window_row *row)
{
	const struct pathprof_totals *totals = &row->totals;
	json_t *object = json_object();

	json_add_ns(object, "id", row->id);
	json_add_ns(object, "begin_ns", row->begin_ns);
	json_add_ns(object, "end_ns", row->end_ns);
	json_add_text(object, "source", window_source_name(row));
	json_add_text(object, "basis", window_basis_name(row));
	json_add_text(object, "kind", window_kind_name(row));
	json_add_count(object, "taken_wanted", row->taken_wanted);
	json_add_count(object, "horizon", row->horizon);
	json_add_count(object, "clock_hz", row->clock_hz);
	json_add(object, "clock_kernel", json_boolean(row->clock_kernel));
	json_add_count(object, "clock_samples", totals->clock_samples);
	json_add_count(object, "bursts", totals->bursts);
	json_add_count(object, "branches", totals->branches);
	json_add_count(object, "taken", totals->taken);
	json_add_count(object, "steps", totals->steps);
	json_add_count(object, "paths", totals->paths);
	json_add_count(object, "pathless", totals->pathless);
	json_add_count(object, "insns", totals->insns);
	json_add_count(object, "stopped_ns", totals->stopped_ns);
	json_add_count(object, "source_cpu_ns", totals->source_cpu_ns);
	json_add_real(object, "held_ratio", window_held_ratio(row));
	json_add(object, "ends", counters(totals->ends, PATHPROF_END_CNT, pathprof_end_name));
	json_add(object, "drops", counters(totals->drops, PATHPROF_DROP_CNT, drop_name));
	return object;
}
