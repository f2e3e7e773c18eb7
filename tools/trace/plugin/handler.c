// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The signal handlers that the program sets: entering one is not a branch.
 *
 * Workload: a few dozen. Locking: plugin_lock(). Ownership: static.
 */
#include "plugin.h"

#include "pathprof/trace_format.h"

#define SIGNAL_CNT 65
#define KNOWN_MAX  256

static uint64_t handlers[SIGNAL_CNT];
/* All addresses that were ever set as handlers: a signal may be under way when another handler is
 * set. */
static uint64_t known[KNOWN_MAX];
static size_t known_cnt;

bool handler_is(uint64_t address)
{
	for (size_t i = 0; i < known_cnt; i++)
		if (known[i] == address)
			return true;
	return false;
}

static void learn(uint64_t address)
{
	if (known_cnt == KNOWN_MAX || handler_is(address))
		return;
	known[known_cnt++] = address;
	block_mark_handler(address);
}

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
	if (address <= 1)
		return;
	learn(address);
	define(signal);
}

void handler_define_again(void)
{
	for (uint32_t i = 0; i < SIGNAL_CNT; i++)
		if (handlers[i] > 1)
			define(i);
}
