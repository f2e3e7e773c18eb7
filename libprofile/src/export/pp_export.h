/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What the writers share: the call's arguments, and small helpers over them. A writer,
 * pp_write_NAME(), returns -errno with the error filled; that the file could not be written is
 * found out by export.c.
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

/* The address of an offset as the file counts them; what is no address for PATHPROF_OUTSIDE. */
uint64_t pp_export_address(const struct pp_export *x, uint64_t offset);
/* What the binary is called, without folders. */
const char *pp_export_binary(const struct pp_export *x);
/*
 * What is known of where the profile comes from, `name=value` a line behind prefix; separator
 * instead of the line's end. The build-id's first, always there.
 */
void pp_export_origin(const struct pp_export *x, FILE *file, const char *prefix,
		      const char *separator);
/* The number of ranges, then `START-LAST:COUNT` a line; how they began is nothing to these formats.
 */
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
