/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations that the writers share: the call's arguments, and small helpers over them. A writer,
 * pp_write_NAME(), returns -errno with the error filled; export.c finds out whether the file could
 * be written.
 *
 * Ownership: everything is the caller's. One thread.
 */
#ifndef PP_EXPORT_H
#define PP_EXPORT_H

#include "../branch/pp_address.h"
#include "../branch/pp_branch_profile.h"
#include "pathprof/export.h"

struct pp_export {
	enum pathprof_format format;
	const struct pathprof_branch_profile *profile;
	struct pathprof_code *code;
	const struct pathprof_graph *graph;
	struct pathprof_export_options options;
	struct pp_address_base base;
	enum pathprof_address_kind addresses;
	FILE *file;
	struct pathprof_error *error;
};

/* The address of an offset as the file counts them; for PATHPROF_OUTSIDE, one in no code. */
uint64_t pp_export_address(const struct pp_export *x, uint64_t offset);
/* The binary's name without folders. */
const char *pp_export_binary(const struct pp_export *x);
/*
 * Writes what is known of the profile's origin, each `name=value` behind prefix and followed by
 * separator in place of a line's end. The build-id is always there and first.
 */
void pp_export_origin(const struct pp_export *x, FILE *file, const char *prefix,
		      const char *separator);
/* Writes the number of ranges, then `START-LAST:COUNT` a line, summed up over how they began. */
void pp_export_ranges(const struct pp_export *x);
/* Writes out what the stream still holds. -EPIPE: its reader is gone. */
int pp_export_finish(FILE *file, enum pathprof_format format, struct pathprof_error *error);
/* 2026-01-02T03:04:05Z; text holds 24 bytes and more. */
const char *pp_export_time(int64_t time_ns, char text[32]);

typedef int pp_writer_fn(const struct pp_export *x);
#define PP_WRITER_(id, name, addresses, file) pp_writer_fn pp_write_##file;
PATHPROF_FORMATS(PATHPROF_FORMAT_SKIP_, PP_WRITER_, PP_WRITER_)
#undef PP_WRITER_
/* NULL: it is not written. */
pp_writer_fn *pp_format_writer(enum pathprof_format format);

#endif
