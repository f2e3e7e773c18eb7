/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Earlier judgements, as they stand in the database's status (judge.h). A status that cannot be
 * read is an error and never an empty one: otherwise alerts would be sent again, and the state of
 * other spans would be overwritten.
 */
#ifndef HUB_JUDGED_H
#define HUB_JUDGED_H

#include <jansson.h>

#include "pathprof/error.h"
#include "pathprof/store.h"

/*
 * *ret_status: an object, whose member HUB_JUDGE_SPANS is an object, empty if nothing was judged
 * yet. Caller frees. -EBADMSG: it is damaged.
 */
int hub_judged_read(struct pathprof_store *store, json_t **ret_status,
		    struct pathprof_error *error);

#endif
