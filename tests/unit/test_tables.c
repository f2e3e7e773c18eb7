// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of frames, asked for by whoever met the file last: a child reads a file that is there. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../daemon/callers/tables.h"

static int find(struct pp_tables *tables, const struct pathprof_build_id *id, const char *name,
		const struct pathprof_unwind_table **ret_table)
{
	return pp_tables_find(tables, getpid(), &(struct pp_location){.id = *id, .name = name},
			      ret_table);
}

/* One build under two names, of which the first leads nowhere any more. */
static void test_name_of_the_last_to_ask(void)
{
	const struct pathprof_unwind_table *table = NULL;
	struct pp_tables *tables = NULL;
	struct pathprof_build_id id;
	sd_event *event = NULL;
	char file[PATH_MAX];
	int r;

	CU_ASSERT_PTR_NOT_NULL_FATAL(realpath("/bin/true", file));
	CU_ASSERT_EQUAL_FATAL(pathprof_build_id_read_file(&id, file, NULL), 0);
	CU_ASSERT_FATAL(sd_event_new(&event) >= 0);
	CU_ASSERT_EQUAL_FATAL(pp_tables_new(&tables, event, SIZE_MAX), 0);
	CU_ASSERT_EQUAL(find(tables, &id, "/nowhere/true", &table), -EAGAIN);
	while ((r = find(tables, &id, file, &table)) == -EAGAIN)
		CU_ASSERT_FATAL(sd_event_run(event, UINT64_MAX) >= 0);
	CU_ASSERT_EQUAL(r, 0);
	CU_ASSERT(table && table->row_cnt > 0);
	pp_tables_free(tables);
	sd_event_unref(event);
}

static const struct unit_test tests[] = {
	{"a file is asked for by the name that was met last", test_name_of_the_last_to_ask},
};
UNIT_SUITE(tables, tests)
