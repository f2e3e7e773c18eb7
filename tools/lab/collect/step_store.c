// SPDX-License-Identifier: GPL-2.0-or-later
/* Stored windows of the stepping collector. */
#include "step_store.h"

#include <stdlib.h>

#include "base/vector.h"
#include "../lab.h"

static int add_window(void *context, const struct pathprof_window_row *row)
{
	struct lab_step_store *s = context;

	if (pp_resize(&s->windows, s->cnt + 1) < 0)
		lab_fail("step: out of memory");
	if (s->cnt && row->taken_wanted != s->taken_wanted)
		lab_fail("step: windows of different length in one store");
	s->windows[s->cnt++] = (struct lab_step_window){row->id, row->totals.bursts};
	s->taken_wanted = row->taken_wanted;
	s->window_cnt += row->totals.bursts;
	return 0;
}

static void turn_round(struct lab_step_window *windows, size_t cnt)
{
	for (size_t i = 0; i < cnt / 2; i++) {
		struct lab_step_window kept = windows[i];

		windows[i] = windows[cnt - 1 - i];
		windows[cnt - 1 - i] = kept;
	}
}

void lab_step_store_open(struct lab_step_store *s, const char *file,
			 const struct pathprof_build_id *binary)
{
	struct pathprof_filter all = {.limit = 0};
	struct pathprof_error error;

	*s = (struct lab_step_store){.store = NULL};
	if (pathprof_store_open(&s->store, file, PATHPROF_STORE_READ, &error) < 0 ||
	    pathprof_store_windows(s->store, &all, add_window, s, &error) < 0)
		lab_fail("%s", error.text);
	pathprof_build_id_text(binary, s->binary);
	turn_round(s->windows, s->cnt);
}

void lab_step_store_release(struct lab_step_store *s)
{
	pathprof_store_free(s->store);
	free(s->windows);
	*s = (struct lab_step_store){.store = NULL};
}

static int add_path(void *context, const struct pathprof_path_row *row)
{
	struct lab_path_key key = {row->start, row->length, row->outcomes};

	double *columns = lab_profile_at(context, &key);

	columns[LAB_STEP_WEIGHTED] += row->weight;
	columns[LAB_STEP_PLAIN] += (double)row->samples;
	return 0;
}

void lab_step_store_read(struct lab_step_store *s, lab_step_fn *fn, void *context)
{
	struct pathprof_error error;
	struct lab_profile steps;
	uint64_t burst_cnt = 0;

	lab_profile_init(&steps, LAB_STEP_COLUMN_CNT);
	for (size_t i = 0; i < s->cnt; i++) {
		struct pathprof_filter filter = {.window = s->windows[i].id, .binary = s->binary};

		if (pathprof_store_paths(s->store, &filter, add_path, &steps, &error) < 0)
			lab_fail("%s", error.text);
		burst_cnt += s->windows[i].burst_cnt;
		fn(context, &steps, burst_cnt);
	}
	lab_profile_release(&steps);
}
