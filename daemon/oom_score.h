/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whom the kernel kills when memory runs out. A stepper that is killed in mid-step may take its
 * target with it, so it must never be chosen; the daemon and its other children may be.
 *
 * The kernel lets a process without CAP_SYS_RESOURCE lower its score down to the lowest that it was
 * ever given with that right, and children inherit this floor. The unit gives -1000. The daemon
 * raises its own score and keeps the floor, and each stepper, also one that is forked much later,
 * lowers itself to it.
 *
 * Any thread, any time; the score is the whole process'. Source: proc_pid_oom_score_adj(5), Linux
 * fs/proc/base.c (__set_oom_adj).
 */
#ifndef PP_OOM_SCORE_H
#define PP_OOM_SCORE_H

#define PP_OOM_SCORE_NEVER    (-1000)
#define PP_OOM_SCORE_ORDINARY 0

/* This process' score: 0, or -errno; -EACCES: it is below the floor. */
int pp_oom_score_set(int score);

/* A process that was started with PP_OOM_SCORE_NEVER becomes an ordinary one; others stay. */
void pp_oom_score_become_ordinary(void);

#endif
