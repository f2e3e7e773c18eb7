/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A store's slots, as parcels are made of them and added. */
#ifndef PARCEL_SLOTS_H
#define PARCEL_SLOTS_H

#include <stdio.h>

#include "test_store.h"
#include "unit.h"
#include "pathprof/parcel_names.h"
#include "pathprof/parcel_store.h"

/* Windows 290 to 309 end from second 291 to 310: nine in the first slot, eleven in the next. */
#define FIRST  290
#define CNT    20
#define IN_ONE 9
#define PATHS  60

struct slots {
	struct pathprof_slot_row rows[8];
	uint32_t cnt;
};

static inline int take_slot(void *context, const struct pathprof_slot_row *row)
{
	struct slots *slots = context;

	CU_ASSERT_FATAL(slots->cnt < 8);
	slots->rows[slots->cnt++] = *row;
	return 0;
}

static inline struct pathprof_store *filled(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);

	world_fill(store, FIRST, CNT, PATHS);
	return store;
}

static inline struct pathprof_parcel taken(struct pathprof_store *store, int64_t slot_s)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel = {.slot_s = -1};
	int code = pathprof_store_parcel(store, slot_s, &parcel, &error);

	if (code)
		printf("%s\n", error.text);
	CU_ASSERT_EQUAL_FATAL(code, 0);
	return parcel;
}

/* Sums over the windows, by looking at all of them for each row. */
struct oracle {
	struct pathprof_profile windows[CNT];
};

static inline int code_of(struct pathprof_store *store, int64_t slot_s,
			  struct pathprof_error *error)
{
	struct pathprof_parcel parcel;
	int code = pathprof_store_parcel(store, slot_s, &parcel, error);

	if (code == 0)
		pathprof_parcel_release(&parcel);
	return code;
}

#define ROWS_MAX 4096

struct rows {
	struct pathprof_path_row rows[ROWS_MAX];
	uint32_t cnt;
};

#endif
