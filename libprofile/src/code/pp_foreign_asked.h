/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Names whom a process that may open nothing asks for files of others instead. From then on
 * pathprof_foreign_open() and pathprof_foreign_look() return what that one gives below the own
 * root, and -EACCES below another.
 *
 * Workload: once a process apart (pathprof/apart.h), before anything is looked for.
 */
#ifndef PP_FOREIGN_ASKED_H
#define PP_FOREIGN_ASKED_H

#include "pathprof/build_id.h"

/* Both return a descriptor or -errno. */
struct pp_foreign_asked {
	int (*open)(const char *path);
	int (*fetch)(const struct pathprof_build_id *id); /* the debug file of that id */
};

/* asked outlives the process. */
void pp_foreign_ask(const struct pp_foreign_asked *asked);
/* NULL: this process opens files itself. */
const struct pp_foreign_asked *pp_foreign_is_asked(void);

#endif
