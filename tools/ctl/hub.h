/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --hub: a part of a hub's data, as a database of the command's own, which every verb reads as any
 * other. pathprof-hub fetches it: pathprofctl itself speaks to no network.
 *
 * Workload: once a command; a request a host.
 */
#ifndef CTL_HUB_H
#define CTL_HUB_H

#include <jansson.h>

#include "ctl.h"

struct scratch;

/*
 * Fetches what options select by --since, --until, --host and --label (without --since: the last
 * hour), or the alerts alone, and makes options name that database. The caller removes the scratch
 * directory, whatever comes of it. CTL_OK or CTL_FAILURE, said.
 */
int hub_fetch(struct ctl_options *options, bool alerts, struct scratch *scratch);

/*
 * The hub's words on its hosts when it was fetched from, an object a host and store; NULL: nothing
 * that can be read. Counts and times are of all that the hub keeps; a hub of an earlier
 * version says none. Caller drops the reference.
 */
json_t *hub_hosts(void);

/*
 * From now on hub_file() asks that hub; what it fetches lies in directory. For verbs that look into
 * the code of few binaries: each is a question, and has hosts asked for what nobody uploaded yet.
 */
void hub_use_files(const struct ctl_options *options, const char *directory);
/* The file of a build that a host uploaded. NULL if there is none, which is reported, or if no hub
 * is in use. The caller compares the file's build-id, and frees. */
char *hub_file(const struct pathprof_build_id *id);

#endif
