/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* The formats of others that are read or written, by the names `pathprofctl` knows them under. */
#ifndef PATHPROF_FORMAT_H
#define PATHPROF_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pathprof_format {
	PATHPROF_FORMAT_PERF_DATA = 1,
	PATHPROF_FORMAT_PERF_SCRIPT, /* `perf script -F comm,pid,tid,time,event,ip,brstack` */
	PATHPROF_FORMAT_BOLT_PREAGG,
	PATHPROF_FORMAT_BOLT_FDATA,
	PATHPROF_FORMAT_PROFGEN_PERFSCRIPT,
	PATHPROF_FORMAT_PROFGEN_RAW,
	PATHPROF_FORMAT_AUTOFDO_TEXT,
	PATHPROF_FORMAT_LLVM_SAMPLE,
	PATHPROF_FORMAT_PPROF,
	PATHPROF_FORMAT_FOLDED,
	PATHPROF_FORMAT_CSV,
	PATHPROF_FORMAT_CNT
};

/* What an aggregated format's addresses count from. */
enum pathprof_address_kind {
	PATHPROF_ADDRESS_RUN = 1, /* as the process had them: mappings say where */
	PATHPROF_ADDRESS_ELF,     /* virtual addresses of the ELF file */
	PATHPROF_ADDRESS_OFFSET,  /* from the first load segment of a PIE; ELF's of another */
	PATHPROF_ADDRESS_SYMBOL,  /* from a symbol */
	PATHPROF_ADDRESS_TEXT,    /* ELF's, from the page of the first executable segment */
	PATHPROF_ADDRESS_FILE,    /* in the file */
	PATHPROF_ADDRESS_IMAGE,   /* from the first load segment of any file */
};

/* "perf.data", ...; NULL when out of range. */
const char *pathprof_format_name(enum pathprof_format format);
/* The other way round; 0: none. */
enum pathprof_format pathprof_format_named(const char *name);
bool pathprof_format_reads(enum pathprof_format format);
bool pathprof_format_writes(enum pathprof_format format);
enum pathprof_address_kind pathprof_format_addresses(enum pathprof_format format);

#ifdef __cplusplus
}
#endif

#endif
