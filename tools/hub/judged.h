/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Earlier judgements, as they stand in the database's status (judge.h). A status that cannot be
 * read is an error and never an empty one: alerts would be told again, and what other spans left
 * would be written over.
 */
#ifndef HUB_JUDGED_H
#define HUB_JUDGED_H

#include <jansson.h>

#include "pathprof/error.h"
#include "pathprof/store.h"

/*
 * *ret_status: an object whose member HUB_JUDGE_SPANS is one too, empty where nothing was judged
 * yet; the caller's. -EBADMSG: it is damaged.
 */
int hub_judged_read(struct pathprof_store *store, json_t **ret_status,
		    struct pathprof_error *error);

#endif
