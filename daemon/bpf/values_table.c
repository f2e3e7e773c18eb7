// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TNV tables: see values_table.h. The bottom half of a table is emptied every 2,000 executions, as
 * in VP, but not before 64 messages: until then two newcomers that replace each other in the last
 * slot lose what they had.
 */
#include "values_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_tnv.h"

#define CLEAR_EXECUTIONS 2000
#define CLEAR_MESSAGES   64

_Static_assert(PP_VALUES_TOP_MAX == PP_TNV_MAX, "the largest table there is");

struct pp_values_tables {
	struct pp_tnv_config config;
	uint32_t place_cnt;
	struct pp_tnv places[];
};

static uint32_t clear_interval(uint32_t rate)
{
	const uint64_t executions = (uint64_t)rate * CLEAR_MESSAGES;

	if (executions > UINT32_MAX)
		return UINT32_MAX;
	return executions > CLEAR_EXECUTIONS ? (uint32_t)executions : CLEAR_EXECUTIONS;
}

int pp_values_tables_new(struct pp_values_tables **ret_tables, uint32_t place_cnt, uint32_t rate)
{
	struct pp_values_tables *t = calloc(1, sizeof(*t) + place_cnt * sizeof(t->places[0]));

	if (!t)
		return -ENOMEM;
	t->place_cnt = place_cnt;
	t->config = (struct pp_tnv_config){PP_VALUES_TOP_MAX, clear_interval(rate)};
	*ret_tables = t;
	return 0;
}

void pp_values_tables_free(struct pp_values_tables *tables)
{
	free(tables);
}

void pp_values_tables_add(struct pp_values_tables *tables, uint32_t place, uint64_t value,
			  uint64_t count)
{
	pp_tnv_add(&tables->places[place], &tables->config, value, count);
}

uint32_t pp_values_tables_read(const struct pp_values_tables *tables, uint32_t place,
			       struct pp_values_top ret_tops[PP_VALUES_TOP_MAX],
			       uint64_t *ret_profiled)
{
	const struct pp_tnv *t = &tables->places[place];

	for (uint32_t i = 0; i < t->used; i++)
		ret_tops[i] = (struct pp_values_top){t->entry[i].value, t->entry[i].count};
	*ret_profiled = t->profiled;
	return t->used;
}

void pp_values_tables_clear(struct pp_values_tables *tables)
{
	memset(tables->places, 0, tables->place_cnt * sizeof(tables->places[0]));
}
