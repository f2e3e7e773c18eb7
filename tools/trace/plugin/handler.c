// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The signal handlers that the program sets: where one begins is no branch.
 *
 * Workload: a few dozen. Locking: plugin_lock(). Ownership: static.
 */
#include "plugin.h"

#include "pathprof/trace_format.h"

#define SIGNAL_CNT 65

static uint64_t handlers[SIGNAL_CNT];

static void define(uint32_t signal)
{
	struct pathprof_trace_handler record = {
		.address = handlers[signal],
		.process = process_number(),
		.signal = signal,
	};

	process_define(PATHPROF_TRACE_HANDLERS, &record, sizeof(record), NULL, 0);
}

/* address 0 and 1 are SIG_DFL and SIG_IGN. */
void handler_set(uint32_t signal, uint64_t address)
{
	if (signal >= SIGNAL_CNT || handlers[signal] == address)
		return;
	handlers[signal] = address;
	if (address > 1)
		define(signal);
}

void handler_define_again(void)
{
	for (uint32_t i = 0; i < SIGNAL_CNT; i++)
		if (handlers[i] > 1)
			define(i);
}
