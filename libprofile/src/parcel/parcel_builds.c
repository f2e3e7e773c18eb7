// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Builds of a parcel: see pp_parcel_builds.h. */
#include "pp_parcel_builds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/vector.h"

uint64_t pp_build_path(uint64_t start, uint32_t length, uint32_t outcomes)
{
	const uint64_t key[2] = {start, (uint64_t)length << 32 | outcomes};

	return XXH64(key, sizeof(key), 0);
}

static int compare_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

bool pp_build_has(const uint64_t *numbers, size_t cnt, uint64_t number)
{
	return cnt && bsearch(&number, numbers, cnt, sizeof(number), compare_number);
}

static int compare_build(const void *a, const void *b)
{
	const struct pathprof_build_id *x = &((const struct pp_build *)a)->id;
	const struct pathprof_build_id *y = &((const struct pp_build *)b)->id;
	int by = (x->kind > y->kind) - (x->kind < y->kind);

	if (!by)
		by = (x->len_bytes > y->len_bytes) - (x->len_bytes < y->len_bytes);
	return by ? by : memcmp(x->bytes, y->bytes, x->len_bytes);
}

static size_t sort_numbers(uint64_t *numbers, size_t cnt)
{
	size_t kept = 0;

	if (cnt)
		qsort(numbers, cnt, sizeof(*numbers), compare_number);
	for (size_t i = 0; i < cnt; i++)
		if (!kept || numbers[kept - 1] != numbers[i])
			numbers[kept++] = numbers[i];
	return kept;
}

/* ---------------------------------------------------------------- which builds */

static int list_builds(struct pp_builds *builds, const struct pathprof_parcel *parcel)
{
	size_t cnt = 0, kept = 0;

	for (uint32_t i = 0; i < parcel->part_cnt; i++)
		cnt += parcel->parts[i].profile.binary_cnt;
	builds->list = calloc(cnt + 1, sizeof(*builds->list));
	if (!builds->list)
		return -ENOMEM;
	cnt = 0;
	for (uint32_t i = 0; i < parcel->part_cnt; i++)
		for (uint32_t j = 0; j < parcel->parts[i].profile.binary_cnt; j++) {
			builds->list[cnt].id = parcel->parts[i].profile.binaries[j].id;
			builds->list[cnt++].name = parcel->parts[i].profile.binaries[j].name;
		}
	qsort(builds->list, cnt, sizeof(*builds->list), compare_build);
	for (size_t i = 0; i < cnt; i++)
		if (!kept || compare_build(&builds->list[kept - 1], &builds->list[i]))
			builds->list[kept++] = builds->list[i];
	builds->cnt = kept;
	return 0;
}

/* ---------------------------------------------------------------- where rows lie */

/* One part: its binaries' builds. */
struct part {
	const struct pathprof_profile *profile;
	struct pp_build **builds;
};

static int add_offset(const struct part *part, uint32_t binary, uint64_t offset)
{
	struct pp_build *build = part->builds[binary];

	if (pp_grow(&build->offsets, build->offset_cnt, &build->offset_room) < 0)
		return -ENOMEM;
	build->offsets[build->offset_cnt++] = offset;
	return 0;
}

static int add_path(const struct part *part, const struct pathprof_path_count *path)
{
	struct pp_build *build = part->builds[path->binary];

	if (pp_grow(&build->paths, build->path_cnt, &build->path_room) < 0)
		return -ENOMEM;
	build->paths[build->path_cnt++] = pp_build_path(path->start, path->length, path->outcomes);
	return add_offset(part, path->binary, path->start);
}

static int add_rows(const struct part *part)
{
	const struct pathprof_profile *p = part->profile;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->path_cnt; i++)
		r = add_path(part, &p->paths[i]);
	for (uint32_t i = 0; r == 0 && i < p->edge_cnt; i++) {
		r = add_offset(part, p->edges[i].from_binary, p->edges[i].from);
		if (r == 0)
			r = add_offset(part, p->edges[i].to_binary, p->edges[i].to);
	}
	for (uint32_t i = 0; r == 0 && i < p->clock_cnt; i++)
		if (p->clocks[i].binary != PATHPROF_NO_INDEX)
			r = add_offset(part, p->clocks[i].binary, p->clocks[i].place);
	return r;
}

static int add_part(struct pp_builds *builds, const struct pathprof_profile *profile)
{
	struct part part = {profile, calloc(profile->binary_cnt + 1ul, sizeof(*part.builds))};
	int r;

	if (!part.builds)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->binary_cnt; i++) {
		const struct pp_build wanted = {.id = profile->binaries[i].id};

		part.builds[i] =
			bsearch(&wanted, builds->list, builds->cnt, sizeof(wanted), compare_build);
	}
	r = add_rows(&part);
	free(part.builds);
	return r;
}

int pp_builds_of(struct pp_builds *ret_builds, const struct pathprof_parcel *parcel)
{
	struct pp_builds builds = {.cnt = 0};
	int r = list_builds(&builds, parcel);

	for (uint32_t i = 0; r == 0 && i < parcel->part_cnt; i++)
		r = add_part(&builds, &parcel->parts[i].profile);
	if (r < 0) {
		pp_builds_release(&builds);
		return r;
	}
	for (size_t i = 0; i < builds.cnt; i++) {
		struct pp_build *build = &builds.list[i];

		build->offset_cnt = sort_numbers(build->offsets, build->offset_cnt);
		build->path_cnt = sort_numbers(build->paths, build->path_cnt);
	}
	*ret_builds = builds;
	return 0;
}

void pp_builds_release(struct pp_builds *builds)
{
	for (size_t i = 0; i < builds->cnt; i++) {
		free(builds->list[i].offsets);
		free(builds->list[i].paths);
	}
	free(builds->list);
	*builds = (struct pp_builds){.cnt = 0};
}
