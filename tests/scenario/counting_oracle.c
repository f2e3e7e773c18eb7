// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linked into oracle builds (insert_oracle.c): writes down what is called, in order, for
 * counting_oracle.py. One thread; to the file that ORACLE_LOG names.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern uint64_t __start_pathprof_counters[];

struct event {
	uint64_t counter, activation;
	uint32_t node, what;
};

void __pathprof_oracle(const char *counter, const void *activation, uint32_t node, uint32_t what);

/* Nothing is held back, so that whatever ends the process has not lost any. */
static FILE *log_file(void)
{
	static FILE *file;

	if (!file) {
		file = fopen(getenv("ORACLE_LOG"), "a");
		if (!file)
			abort();
	}
	return file;
}

static void flush(void)
{
	fflush(log_file());
}

void __pathprof_oracle(const char *counter, const void *activation, uint32_t node, uint32_t what)
{
	static int asked;
	struct event e = {(uint64_t)(counter - (const char *)__start_pathprof_counters),
			  (uint64_t)activation, node, what};

	if (!asked++)
		atexit(flush);
	if (fwrite(&e, sizeof(e), 1, log_file()) != 1)
		abort();
}
