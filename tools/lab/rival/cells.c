// SPDX-License-Identifier: GPL-2.0-or-later
#include "cells.h"

#include <stdlib.h>

#include "../lab.h"

void *lab_rival_alloc(size_t cnt, size_t size_bytes)
{
	void *p = calloc(cnt, size_bytes);

	if (!p)
		lab_fail("out of memory");
	return p;
}

uint32_t lab_cells_fit(const struct lab_rival_config *config, uint64_t side_bits)
{
	uint64_t bits = (uint64_t)config->state_bytes * 8;
	uint64_t cnt =
		bits > side_bits ? (bits - side_bits) / (config->key_bits + LAB_COUNT_BITS) : 0;

	return cnt ? (uint32_t)cnt : 1;
}

static uint32_t at_least_one(uint32_t cnt)
{
	return cnt ? cnt : 1;
}

void lab_cells_init(struct lab_cells *cells, const struct lab_rival_config *config,
		    uint32_t way_cnt, uint64_t side_bits)
{
	uint32_t fit = lab_cells_fit(config, side_bits);

	cells->config = *config;
	cells->way_cnt = at_least_one(way_cnt < fit ? way_cnt : fit);
	cells->set_cnt = at_least_one(fit / cells->way_cnt);
	cells->cell =
		lab_rival_alloc((size_t)cells->set_cnt * cells->way_cnt, sizeof(*cells->cell));
}

void lab_cells_release(struct lab_cells *cells)
{
	free(cells->cell);
}

uint64_t lab_cells_bits(const struct lab_cells *cells)
{
	return (uint64_t)cells->set_cnt * cells->way_cnt *
	       (cells->config.key_bits + LAB_COUNT_BITS);
}

void lab_cells_drain(struct lab_cells *cells)
{
	for (size_t i = 0; i < (size_t)cells->set_cnt * cells->way_cnt; i++) {
		struct lab_cell *cell = &cells->cell[i];

		if (cell->used && cell->count)
			lab_cells_emit(cells, &cell->key, (double)cell->count);
		*cell = (struct lab_cell){.used = false};
	}
}
