/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Which events of a recording count: the first with branch stacks decides what the figures mean,
 * and others of its basis join. `import` and `export --recording` go by this one rule, so both come
 * to the same counts.
 *
 * Workload: a comparison a sample; a question to the recording whenever the event changes.
 */
#ifndef PP_IMPORT_EVENT_H
#define PP_IMPORT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "pp_import_chain.h"

struct pp_import_event {
	enum pathprof_basis basis; /* of what counts; 0: not known yet */
	uint32_t asked;            /* the event asked about last */
	bool joins;                /* that one does */
};

#define PP_IMPORT_EVENT_INIT ((struct pp_import_event){.asked = UINT32_MAX})

/* A sample with branches decides where none did before. */
static inline bool pp_import_event_joins(struct pp_import_event *e,
					 const struct pp_import_asked *asked, uint32_t event)
{
	enum pathprof_basis basis;

	if (event == e->asked)
		return e->joins;
	basis = pp_import_ask_basis(asked, event);
	if (!e->basis)
		e->basis = basis;
	e->asked = event;
	e->joins = basis == e->basis;
	return e->joins;
}

/* The ledger of a sample whose event does not join. */
static inline void pp_import_event_leave_out(struct pathprof_import_stats *stats,
					     const struct pathprof_recorded_sample *sample)
{
	uint64_t times = pp_import_times_counted(stats, sample),
		 branches = times * sample->branch_cnt;

	stats->other += times;
	stats->ledger.branches += branches;
	stats->ledger.left[PATHPROF_LEDGER_OTHER_EVENT] += branches;
}

#endif
