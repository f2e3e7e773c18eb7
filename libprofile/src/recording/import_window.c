// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* An import's window: see pp_import_window.h. */
#include "pp_import_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

/* Where a file can be found again, also when it ran elsewhere. */
static const char *path_of(const struct pp_import_window *window,
			   const struct pathprof_build_id *id, const char *name)
{
	return pp_import_files_path(window->files, id) ?: name;
}

/* The process' index in the profile. */
static uint32_t find_process(struct pp_import_window *window, uint32_t number)
{
	struct pathprof_recorded_space *p = pathprof_recorded_spaces_at(window->spaces, number);
	char container[] = "";
	uint32_t binary = PATHPROF_NO_INDEX;

	if (p->exe && p->exe->id.kind != PATHPROF_ID_NONE)
		binary = pathprof_profile_binary(&window->profile, &p->exe->id,
						 path_of(window, &p->exe->id, p->exe->name));
	return pathprof_profile_process(&window->profile, &(struct pathprof_process){
								  .pid = p->pid,
								  .start_time = p->start_time,
								  .exec_cnt = p->exec_cnt,
								  .comm = p->comm,
								  .container = container,
								  .binary = binary,
							  });
}

/* A binary for the end that nothing mapped holds, so that the other end is kept. */
static bool find_elsewhere(struct pp_import_window *window, uint32_t *ret_binary)
{
	static const char name[] = "[unknown]";
	struct pathprof_build_id id;

	pathprof_build_id_make(&id, PATHPROF_ID_FILE, name, strlen(name));
	*ret_binary = pathprof_profile_binary(&window->profile, &id, name);
	return *ret_binary != PATHPROF_NO_INDEX;
}

/* false: it has no place, which is counted. */
static bool find_place(struct pp_import_window *window, uint64_t address, uint32_t *ret_binary,
		       uint64_t *ret_offset)
{
	const struct pp_import_image *image;
	uint32_t number;

	if (address == PP_IMAGE_NOWHERE || address == PP_IMAGE_RETURN) {
		*ret_offset = address == PP_IMAGE_RETURN;
		return find_elsewhere(window, ret_binary);
	}
	if (pp_import_images_place(window->images, address, &number, ret_offset) < 0) {
		window->profile.totals.drops[PATHPROF_DROP_UNRESOLVED]++;
		return false;
	}
	if (!window->has_binary || window->image != number) {
		image = pp_import_images_at(window->images, number);
		window->image = number;
		window->binary = pathprof_profile_binary(&window->profile, &image->id,
							 path_of(window, &image->id, image->name));
		window->has_binary = window->binary != PATHPROF_NO_INDEX;
	}
	*ret_binary = window->binary;
	return window->has_binary;
}

void pp_import_window_add_edge(struct pp_import_window *window, uint32_t process, uint64_t from,
			       uint64_t to, uint64_t cnt, uint64_t mispredicted)
{
	struct pathprof_edge_count add = {.process = find_process(window, process),
					  .count = cnt,
					  .mispredicted = mispredicted};

	if (add.process != PATHPROF_NO_INDEX &&
	    find_place(window, from, &add.from_binary, &add.from) &&
	    find_place(window, to, &add.to_binary, &add.to))
		pathprof_profile_add_edge(&window->profile, &add);
}

void pp_import_window_add_path(struct pp_import_window *window, uint32_t process,
			       const struct pathprof_path_seen *path, uint64_t cnt)
{
	double weight = path->weight * (double)cnt;
	struct pathprof_path_count add = {
		.process = find_process(window, process),
		.length = path->length,
		.outcomes = path->outcomes,
		.samples = cnt,
		.weight = weight,
		.insns = weight * path->insns,
	};

	if (add.process == PATHPROF_NO_INDEX)
		return;
	window->profile.totals.paths += cnt;
	if (find_place(window, path->start, &add.binary, &add.start))
		pathprof_profile_add_path(&window->profile, &add);
}

void pp_import_window_add_segment(struct pp_import_window *window, uint32_t process,
				  const struct pathprof_segment_seen *segment, uint64_t cnt)
{
	const struct pathprof_path_seen *first = &segment->first, *second = &segment->second;
	struct pathprof_segment_count add = {
		.first = {.length = first->length, .outcomes = first->outcomes},
		.second = {.process = find_process(window, process),
			   .length = second->length,
			   .outcomes = second->outcomes,
			   .samples = cnt,
			   .weight = segment->weight * (double)cnt},
	};

	if (add.second.process != PATHPROF_NO_INDEX &&
	    find_place(window, first->start, &add.first.binary, &add.first.start) &&
	    find_place(window, second->start, &add.second.binary, &add.second.start))
		pathprof_profile_add_segment(&window->profile, &add);
}

/* ---------------------------------------------------------------- ranges */

static uint64_t hash_of(const struct pp_import_window *window, const struct pp_import_range *r)
{
	return pp_hash_mix(pp_hash_mix(pp_hash_mix(window->seed, r->from), r->start), r->last);
}

static bool is_same(const struct pp_import_range *a, const struct pp_import_range *b)
{
	return a->from == b->from && a->start == b->start && a->last == b->last;
}

static void add_new(struct pp_import_window *window, const struct pp_import_range *add,
		    uint64_t hash)
{
	if (pp_grow(&window->ranges, window->range_cnt, &window->range_room) < 0 ||
	    window->range_cnt == UINT32_MAX) {
		window->ranges_lost = true;
		return;
	}
	window->ranges[window->range_cnt] = *add;
	if (pp_table_add(&window->range_table, hash, i, hash_of(window, &window->ranges[i])) < 0)
		window->ranges_lost = true;
	else
		window->range_cnt++;
}

void pp_import_window_add_range(struct pp_import_window *window, uint64_t from, uint64_t start,
				uint64_t last, uint64_t cnt)
{
	const struct pp_import_range add = {from, start, last, cnt};
	uint64_t hash = hash_of(window, &add);
	uint32_t number;

	/* no code runs on from one file into another */
	if (start >> PP_IMAGE_SHIFT != last >> PP_IMAGE_SHIFT)
		return;
	number = pp_table_find(&window->range_table, hash, i, is_same(&window->ranges[i], &add));
	if (number == PP_TABLE_NONE)
		add_new(window, &add, hash);
	else
		window->ranges[number].cnt += cnt;
}

/* Indices of binaries, which may move as long as new ones are found. */
struct ends {
	uint32_t from, to;
};

static bool find_range(struct pp_import_window *window, const struct pp_import_range *r,
		       struct pathprof_range_row *row, struct ends *ends)
{
	row->count = r->cnt;
	return find_place(window, r->from, &ends->from, &row->from) &&
	       find_place(window, r->start, &ends->to, &row->start) &&
	       find_place(window, r->last, &ends->to, &row->last);
}

static void set_ids(struct pp_import_window *window, const struct ends *ends)
{
	const struct pathprof_binary *binaries = window->profile.binaries;

	for (size_t i = 0; i < window->found.cnt; i++) {
		window->rows[i].from_id = &binaries[ends[i].from].id;
		window->rows[i].to_id = &binaries[ends[i].to].id;
	}
}

int pp_import_window_find_ranges(struct pp_import_window *window)
{
	size_t room = (size_t)window->range_cnt + 1, cnt = 0;
	struct ends *ends = calloc(room, sizeof(*ends));

	window->rows = calloc(room, sizeof(*window->rows));
	if (!window->rows || !ends) {
		free(ends);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < window->range_cnt; i++)
		cnt += find_range(window, &window->ranges[i], &window->rows[cnt], &ends[cnt]);
	window->found = (struct pathprof_ranges){.rows = window->rows, .cnt = cnt};
	set_ids(window, ends);
	free(ends);
	return 0;
}

/* ---------------------------------------------------------------- life */

void pp_import_window_clear(struct pp_import_window *window)
{
	pathprof_profile_clear(&window->profile);
	window->has_binary = false;
	pp_table_clear(&window->range_table);
	window->range_cnt = 0;
	window->ranges_lost = false;
	free(window->rows);
	window->rows = NULL;
	window->found = (struct pathprof_ranges){0};
}

void pp_import_window_release(struct pp_import_window *window)
{
	pathprof_profile_release(&window->profile);
	pp_table_release(&window->range_table);
	free(window->ranges);
	free(window->rows);
}
