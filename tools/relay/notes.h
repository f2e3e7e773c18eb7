/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The relay's memory across restarts: for each sink the id up to which every message was told or
 * given up, and the store that these ids belong to. The file told.json, in a directory of the
 * relay's own, is replaced as a whole and is on the disk before a call returns, so a relay that is
 * killed after the call tells nothing twice. The directory is locked by one process.
 *
 * Workload: one write for each message. One owner.
 */
#ifndef PP_NOTES_H
#define PP_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/error.h"
#include "pathprof/store.h"

enum pp_notes_sink { PP_NOTES_EXEC, PP_NOTES_ALERTMANAGER, PP_NOTES_WEBHOOK, PP_NOTES_SINK_CNT };

#define PP_NOTES_NONE INT64_C(-1) /* this sink is new */

struct pp_notes {
	int directory, lock;
	char identity[PATHPROF_STORE_IDENTITY_LEN]; /* "": no store was seen yet */
	int64_t told[PP_NOTES_SINK_CNT];
};

/*
 * Makes the directory when it is missing (not those above it). -EBUSY: another relay has locked it;
 * -EBADMSG: the file is damaged. The caller releases *ret_notes after a failure, too.
 */
int pp_notes_open(struct pp_notes *ret_notes, const char *directory, struct pathprof_error *error);
int pp_notes_save(const struct pp_notes *notes);
void pp_notes_release(struct pp_notes *notes);

#endif
