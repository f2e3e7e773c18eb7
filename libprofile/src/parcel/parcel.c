// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A parcel in memory: see pathprof/parcel.h.
 */
#include "pp_parcel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/vector.h"
#include "pathprof/parcel_names.h"

#define SLOT_NS ((int64_t)PATHPROF_PARCEL_SLOT_S * 1000000000)
/* Some 11 kB in version 1, which are 3 MB of a host in a day. */
#define FEW_ROWS 2000

int64_t pathprof_parcel_slot(int64_t end_ns)
{
	int64_t slot = end_ns / SLOT_NS;

	return (slot - (end_ns % SLOT_NS < 0)) * PATHPROF_PARCEL_SLOT_S;
}

uint64_t pathprof_parcel_window_key(const struct pathprof_parcel_window *window)
{
	const int64_t key[3] = {window->id, window->begin_ns, window->end_ns};

	return XXH64(key, sizeof(key), 0);
}

uint32_t pathprof_parcel_window_cnt(const struct pathprof_parcel *parcel)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < parcel->part_cnt; i++)
		cnt += parcel->parts[i].window_cnt;
	return cnt;
}

static size_t count_rows(const struct pathprof_parcel *parcel)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < parcel->part_cnt; i++) {
		const struct pathprof_profile *p = &parcel->parts[i].profile;

		cnt += (size_t)p->path_cnt + p->edge_cnt + p->clock_cnt;
	}
	return cnt;
}

uint32_t pathprof_parcel_version_to_send(const struct pathprof_parcel *parcel, uint32_t newest)
{
	return newest >= PP_PARCEL_ROWS && count_rows(parcel) < FEW_ROWS ? 1 : newest;
}

/* Each hash is the seed of the next, so that no two texts run into one another. */
uint64_t pathprof_parcel_workload(const char *comm, const char *container,
				  const struct pathprof_build_id *binary)
{
	uint64_t hash = XXH64(comm, strlen(comm), 0);

	hash = XXH64(container, strlen(container), hash);
	if (binary)
		hash = XXH64(binary->bytes, binary->len_bytes, hash + 1 + binary->kind);
	return hash & INT64_MAX;
}

struct pathprof_parcel_part *pathprof_parcel_add_part(struct pathprof_parcel *parcel,
						      size_t max_bytes)
{
	struct pathprof_parcel_part *part;

	if (pp_resize(&parcel->parts, parcel->part_cnt + 1ul) < 0)
		return NULL;
	part = &parcel->parts[parcel->part_cnt];
	memset(part, 0, sizeof(*part));
	if (pathprof_profile_init(&part->profile, max_bytes) < 0)
		return NULL;
	parcel->part_cnt++;
	return part;
}

int pathprof_parcel_add_window(struct pathprof_parcel_part *part,
			       const struct pathprof_parcel_window *window)
{
	struct pathprof_profile *p = &part->profile;

	if (pp_resize(&part->windows, part->window_cnt + 1ul) < 0)
		return -ENOMEM;
	if (!part->window_cnt || window->begin_ns < p->begin_ns)
		p->begin_ns = window->begin_ns;
	if (!part->window_cnt || window->end_ns > p->end_ns)
		p->end_ns = window->end_ns;
	part->windows[part->window_cnt++] = *window;
	pathprof_totals_add(&p->totals, &window->totals);
	return 0;
}

void pathprof_parcel_release(struct pathprof_parcel *parcel)
{
	for (uint32_t i = 0; i < parcel->part_cnt; i++) {
		pathprof_profile_release(&parcel->parts[i].profile);
		free(parcel->parts[i].windows);
	}
	free(parcel->parts);
	pathprof_parcel_names_release(parcel);
	parcel->parts = NULL;
	parcel->part_cnt = 0;
}
