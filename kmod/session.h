/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session: what runs between START and STOP. There is one at a time.
 *
 * Life: start() fills it, then events open and samples come. stop() closes the events, has the
 * source settle, sets `live` to false and waits out everyone who may have seen it true
 * (synchronize_rcu(): handlers run with preemption off). From then on nobody writes into rings or
 * tables. A burst that is still under way belongs to no session any more, and ends without a word
 * (its session_id is old).
 */
#ifndef PATHPROF_KMOD_SESSION_H
#define PATHPROF_KMOD_SESSION_H

#include "source.h"

struct pp_session {
	struct pathprof_kmod_start start;   /* checked, defaults filled in; constant while live */
	const struct pp_source_ops *source; /* NULL: none */
	u32 id;                             /* of this session, counts them */
	bool stopping;                      /* bursts are to end at their next trap */
	bool live;                          /* windows may be handed on */
};

extern struct pp_session pp_session;

/* All: process context; the caller (control.c) lets one in at a time. */
int pp_session_start(const struct pathprof_kmod_start *start);
void pp_session_stop(void);
/* Writes out what the tables hold, while windows come; nothing when there is no session. */
void pp_session_drain(void);

/* A window of session `id` may be handed on. Preemption off, and stay off until it is done. */
static inline bool pp_session_takes(u32 id)
{
	/* Pairs with the release when a session begins: its id is then there. */
	return smp_load_acquire(&pp_session.live) && READ_ONCE(pp_session.id) == id;
}

/* Selection: the current thread, interrupted at ip, is wanted. Any context. */
bool pp_session_selects(u64 ip);

#endif
