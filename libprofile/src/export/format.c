// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Each format with its reader and its writer: the rows of pathprof/format.h. Read-only. */
#include "pathprof/format.h"

#include <string.h>

#include "../format/pp_recording.h"
#include "pp_export.h"

struct format {
	const char *name;
	enum pathprof_address_kind addresses;
	const struct pp_recording_ops *reader;
	pp_writer_fn *writer;
};

#define ROW(id, name, addresses, reader, writer)                                                   \
	[PATHPROF_FORMAT_##id] = {name, PATHPROF_ADDRESS_##addresses, reader, writer},
#define READ(id, name, addresses, file)    ROW(id, name, addresses, &pp_##file##_ops, NULL)
#define WRITTEN(id, name, addresses, file) ROW(id, name, addresses, NULL, pp_write_##file)
#define BOTH(id, name, addresses, file)    ROW(id, name, addresses, &pp_##file##_ops, pp_write_##file)
static const struct format formats[PATHPROF_FORMAT_CNT] = {PATHPROF_FORMATS(READ, WRITTEN, BOTH)};

static const struct format *format_of(enum pathprof_format format)
{
	return &formats[(unsigned)format < PATHPROF_FORMAT_CNT ? format : PATHPROF_FORMAT_NONE];
}

const struct pp_recording_ops *pp_format_reader(enum pathprof_format format)
{
	return format_of(format)->reader;
}

pp_writer_fn *pp_format_writer(enum pathprof_format format)
{
	return format_of(format)->writer;
}

const char *pathprof_format_name(enum pathprof_format format)
{
	return format_of(format)->name;
}

enum pathprof_format pathprof_format_named(const char *name)
{
	for (unsigned i = 0; i < PATHPROF_FORMAT_CNT; i++)
		if (formats[i].name && strcmp(formats[i].name, name) == 0)
			return (enum pathprof_format)i;
	return PATHPROF_FORMAT_NONE;
}

bool pathprof_format_reads(enum pathprof_format format)
{
	return pp_format_reader(format) != NULL;
}

bool pathprof_format_writes(enum pathprof_format format)
{
	return pp_format_writer(format) != NULL;
}

enum pathprof_address_kind pathprof_format_addresses(enum pathprof_format format)
{
	return format_of(format)->addresses;
}
