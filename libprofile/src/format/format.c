// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* What is known of each format beside its contents. Workload: once a command. */
#include "pathprof/format.h"

#include <string.h>

enum direction { READS = 1, WRITES = 2, BOTH = READS | WRITES };

struct description {
	const char *name;
	enum direction direction;
	enum pathprof_address_kind addresses;
};

static const struct description formats[PATHPROF_FORMAT_CNT] = {
	[PATHPROF_FORMAT_PERF_DATA] = {"perf.data", READS, PATHPROF_ADDRESS_RUN},
	[PATHPROF_FORMAT_PERF_SCRIPT] = {"perf-script", READS, PATHPROF_ADDRESS_RUN},
	[PATHPROF_FORMAT_BOLT_PREAGG] = {"bolt-preagg", BOTH, PATHPROF_ADDRESS_OFFSET},
	[PATHPROF_FORMAT_BOLT_FDATA] = {"bolt-fdata", BOTH, PATHPROF_ADDRESS_SYMBOL},
	[PATHPROF_FORMAT_PROFGEN_PERFSCRIPT] = {"profgen-perfscript", READS, PATHPROF_ADDRESS_RUN},
	[PATHPROF_FORMAT_PROFGEN_RAW] = {"profgen-raw", BOTH, PATHPROF_ADDRESS_TEXT},
	[PATHPROF_FORMAT_AUTOFDO_TEXT] = {"autofdo-text", BOTH, PATHPROF_ADDRESS_FILE},
	[PATHPROF_FORMAT_LLVM_SAMPLE] = {"llvm-sample", WRITES, PATHPROF_ADDRESS_SYMBOL},
	[PATHPROF_FORMAT_PPROF] = {"pprof", WRITES, PATHPROF_ADDRESS_ELF},
	[PATHPROF_FORMAT_FOLDED] = {"folded", WRITES, PATHPROF_ADDRESS_SYMBOL},
	[PATHPROF_FORMAT_CSV] = {"csv", WRITES, PATHPROF_ADDRESS_ELF},
};

static const struct description *described(enum pathprof_format format)
{
	static const struct description none;

	return (unsigned)format < PATHPROF_FORMAT_CNT ? &formats[format] : &none;
}

const char *pathprof_format_name(enum pathprof_format format)
{
	return described(format)->name;
}

enum pathprof_format pathprof_format_named(const char *name)
{
	for (unsigned i = 0; i < PATHPROF_FORMAT_CNT; i++)
		if (formats[i].name && strcmp(formats[i].name, name) == 0)
			return (enum pathprof_format)i;
	return (enum pathprof_format)0;
}

bool pathprof_format_reads(enum pathprof_format format)
{
	return described(format)->direction & READS;
}

bool pathprof_format_writes(enum pathprof_format format)
{
	return described(format)->direction & WRITES;
}

enum pathprof_address_kind pathprof_format_addresses(enum pathprof_format format)
{
	return described(format)->addresses;
}
