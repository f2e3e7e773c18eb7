/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The owner of a build-id. Anybody can write any build-id into a file of theirs, and what such a
 * file does would be counted for the program that really has it. So a build-id belongs to the user
 * whose file showed it first, but root's file takes it from anybody, and any user's from a file
 * whose owner is not known. Files of other users get an identity of their own:
 *
 *   the first 16 bytes of the build-id, the user id in four bytes (big-endian), kind "file"
 *
 * so that a search for the build-id's beginning finds both. Until root's file comes, a forger's
 * counts stand under the build-id; windows say whose files were counted (struct pathprof_file), and
 * a reader can leave these out.
 *
 * Files of one user with one build-id are taken for copies of one program.
 *
 * Workload: one look-up a place that is counted; a few hundred build-ids. Bounded: of more than
 * PP_OWNERS_MAX others are as if seen for the first time; a user's never take the place of root's
 * while there are users' to take. One owner, not thread-safe.
 */
#ifndef PP_OWNERS_H
#define PP_OWNERS_H

#include <stdbool.h>

#include "pathprof/profile.h"

#define PP_OWNERS_MAX  4096
#define PP_OWNERS_TOLD 8

struct pp_owners;

int pp_owners_new(struct pp_owners **ret_owners);
/* NULL-safe. */
void pp_owners_free(struct pp_owners *owners);
/*
 * ret_id: the identity under which the file's code is counted, id itself or one of this owner's
 * own. true: the log is to tell, for the first time of this build-id and user, that the file
 * differs from ret_owner's; never without may_tell, so that a later call says so, and of the first
 * PP_OWNERS_TOLD users only.
 */
bool pp_owners_judge(struct pp_owners *owners, const struct pathprof_build_id *id,
		     const struct pathprof_file *file, bool may_tell,
		     struct pathprof_build_id *ret_id, uint32_t *ret_owner);

#endif
