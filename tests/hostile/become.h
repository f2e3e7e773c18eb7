/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A neighbour without rights: what it takes root to set up for it, a mount or a userfaultfd, is
 * there before it becomes one.
 */
#ifndef BECOME_H
#define BECOME_H

#include <grp.h>
#include <stdlib.h>
#include <unistd.h>

/* uid: a number, of the group as well; NULL: stays who it is. Ends the process when it cannot. */
static inline void become(const char *uid)
{
	uid_t id = uid ? (uid_t)atoi(uid) : 0;

	if (!uid)
		return;
	if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
		exit(1);
}

#endif
