/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a verb in a child and watches over it. The files that the verb reads, programs and their
 * debug information, belong to others: they may lie on a file server that never answers, be cut off
 * while it is mapped, or be made so that reading them takes all memory or never ends. The child
 * then ends, and one line names the file.
 *
 * | bound                                   |                                             |
 * |-----------------------------------------|---------------------------------------------|
 * | a call or page fault on a file          | 5 s                                         |
 * | CPU time between one file and the next  | 120 s, or $PATHPROF_READ_SECONDS            |
 * | memory: the least of                    | 4 GiB, half of the machine's, RLIMIT_DATA   |
 *
 * A child that hangs in a file system cannot be killed; it is left behind and ends with that.
 * Signals that would end pathprofctl go to the child, and pathprofctl ends as the child does.
 *
 * After two seconds (base/progress.h) it says how long the verb has taken and what it is at: on a
 * terminal in one line that goes when the verb shows something or ends, elsewhere now and then,
 * each time after twice as long.
 *
 * Workload: once a command; four looks a second. One thread, before any other is started.
 */
#ifndef CTL_KEEPER_H
#define CTL_KEEPER_H

#include "../ctl.h"

/*
 * Runs the verb, then `finish` on its result, in a child and returns the exit status. Both run here
 * where no child can be had.
 */
int keeper_run(const struct ctl_options *options, int (*run)(const struct ctl_options *options),
	       int (*finish)(int result));

/*
 * Says what the verb is doing, for people who wait: "gzip: reading its code: 40 %"; "" for nothing
 * in particular. Does nothing if nobody watches.
 */
void keeper_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
