// SPDX-License-Identifier: GPL-2.0-or-later
/* Earlier judgements: see judged.h. */
#include "judged.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "judge.h"

static int begin(json_t **ret_status, struct pathprof_error *error)
{
	*ret_status = json_pack("{s:{}}", HUB_JUDGE_SPANS);
	return *ret_status ? 0 : pathprof_fail(error, -ENOMEM, "out of memory");
}

static int take(json_t *status, json_t **ret_status, struct pathprof_error *error)
{
	const json_t *spans = json_object_get(status, HUB_JUDGE_SPANS);
	/* A status without spans is the daemon's own: this is a database of pathprofd. */
	const bool is_anothers = json_is_object(status) && !spans;

	if (json_is_object(spans)) {
		*ret_status = status;
		return 0;
	}
	json_decref(status);
	if (is_anothers)
		return begin(ret_status, error);
	return pathprof_fail(error, -EBADMSG,
			     "the database's status, which says what was judged, is damaged: put "
			     "back a copy of before, or delete the row of daemon_status to judge "
			     "anew");
}

int hub_judged_read(struct pathprof_store *store, json_t **ret_status, struct pathprof_error *error)
{
	char *text = NULL;
	json_t *status;
	int r = pathprof_store_status(store, &text, error);

	if (r == -ENOENT)
		return begin(ret_status, error);
	if (r < 0)
		return r;
	status = json_loads(text, 0, NULL);
	free(text);
	return take(status, ret_status, error);
}
