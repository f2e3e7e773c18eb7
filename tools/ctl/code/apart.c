// SPDX-License-Identifier: GPL-2.0-or-later
/* Files read by processes apart: see apart.h. */
#include "apart.h"

#include <stdlib.h>

#include "../ctl.h"
#include "pathprof/confine.h"

bool apart_is_needed(void)
{
	/* pathprof-hub sets PATHPROF_APART: it has no special rights, but reads what hosts sent. */
	return pathprof_confine_has_rights() || getenv("PATHPROF_APART");
}

void apart_say_death(void *context, const char *why)
{
	ctl_note("%s", why);
}

int apart_open_code(struct pathprof_code **ret_code, const char *path,
		    const struct pathprof_build_id *expect, struct pathprof_error *error)
{
	return apart_is_needed() ? pathprof_code_open_apart(ret_code, path, expect, apart_say_death,
							    NULL, error)
				 : pathprof_code_open(ret_code, path, expect, error);
}

int apart_read_build_id(struct pathprof_build_id *ret_id, const char *path,
			struct pathprof_error *error)
{
	return apart_is_needed()
		       ? pathprof_build_id_read_apart(ret_id, path, apart_say_death, NULL, error)
		       : pathprof_build_id_read_file(ret_id, path, error);
}

int apart_open_counted(struct pathprof_counted **ret_counted, const char *path,
		       struct pathprof_error *error)
{
	return apart_is_needed() ? pathprof_counted_open_apart(ret_counted, path, error)
				 : pathprof_counted_open(ret_counted, path, error);
}

int apart_read_run(const char *path, struct pathprof_counts_run *ret_run,
		   struct pathprof_error *error)
{
	return apart_is_needed() ? pathprof_counts_run_apart(path, ret_run, error)
				 : pathprof_counts_run(path, ret_run, error);
}
