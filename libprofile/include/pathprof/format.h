/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* The formats of others that are read or written, by the names `pathprofctl` knows them under. */
#ifndef PATHPROF_FORMAT_H
#define PATHPROF_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A row a format, by whether it is READ, WRITTEN or BOTH: what follows PATHPROF_FORMAT_, the name
 * that pathprofctl knows it under, what its addresses count from (PATHPROF_ADDRESS_), and what
 * its reader pp_X_ops (src/format) and its writer pp_write_X (src/export) are called.
 */
#define PATHPROF_FORMATS(READ, WRITTEN, BOTH)                                                      \
	READ(PERF_DATA, "perf.data", RUN, perf_data)                                               \
	READ(PERF_SCRIPT, "perf-script", RUN, perf_script)                                         \
	READ(PROFGEN_PERFSCRIPT, "profgen-perfscript", RUN, profgen_perfscript)                    \
	BOTH(PROFGEN_RAW, "profgen-raw", TEXT, profgen_raw)                                        \
	BOTH(BOLT_PREAGG, "bolt-preagg", OFFSET, bolt_preagg)                                      \
	BOTH(BOLT_FDATA, "bolt-fdata", SYMBOL, bolt_fdata)                                         \
	BOTH(AUTOFDO_TEXT, "autofdo-text", FILE, autofdo_text)                                     \
	WRITTEN(LLVM_SAMPLE, "llvm-sample", SYMBOL, llvm_sample)                                   \
	WRITTEN(PPROF, "pprof", ELF, pprof)                                                        \
	WRITTEN(FOLDED, "folded", SYMBOL, folded)                                                  \
	WRITTEN(CSV, "csv", ELF, csv)

#define PATHPROF_FORMAT_ID_(id, name, addresses, file)   PATHPROF_FORMAT_##id,
#define PATHPROF_FORMAT_NAME_(id, name, addresses, file) " " name
#define PATHPROF_FORMAT_SKIP_(id, name, addresses, file)

enum pathprof_format {
	PATHPROF_FORMAT_NONE = 0,
	PATHPROF_FORMATS(PATHPROF_FORMAT_ID_, PATHPROF_FORMAT_ID_, PATHPROF_FORMAT_ID_)
		PATHPROF_FORMAT_CNT
};

/* For texts of help: their names, a blank before each. */
#define PATHPROF_FORMATS_READ                                                                      \
	PATHPROF_FORMATS(PATHPROF_FORMAT_NAME_, PATHPROF_FORMAT_SKIP_, PATHPROF_FORMAT_NAME_)
#define PATHPROF_FORMATS_WRITTEN                                                                   \
	PATHPROF_FORMATS(PATHPROF_FORMAT_SKIP_, PATHPROF_FORMAT_NAME_, PATHPROF_FORMAT_NAME_)

/* The origin that an aggregated format's addresses are relative to. */
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
/* The format of a name; 0: there is none. */
enum pathprof_format pathprof_format_named(const char *name);
bool pathprof_format_reads(enum pathprof_format format);
bool pathprof_format_writes(enum pathprof_format format);
enum pathprof_address_kind pathprof_format_addresses(enum pathprof_format format);

#ifdef __cplusplus
}
#endif

#endif
