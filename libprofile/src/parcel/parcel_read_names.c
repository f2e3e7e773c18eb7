// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Names of functions out of a message that anybody may have made. How many there are was checked,
 * and what came of them is checked with the whole parcel.
 *
 * Workload: some thousand names once, none in most parcels.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parcel.pb-c.h"
#include "pathprof/parcel_names.h"
#include "pp_parcel.h"

static int malformed(struct pathprof_error *error, const char *what)
{
	return pathprof_fail(error, -EBADMSG, "the parcel is malformed: %s", what);
}

static int no_memory(struct pathprof_error *error)
{
	return pathprof_fail(error, -ENOMEM, "out of memory");
}

/* A name ends by a zero byte. NULL: the bytes hold none. */
static const char *next_name(const ProtobufCBinaryData *names, size_t *at)
{
	const char *name, *end;

	if (*at >= names->len)
		return NULL;
	name = (const char *)names->data + *at;
	end = memchr(name, 0, names->len - *at);
	if (!end)
		return NULL;
	*at += (size_t)(end - name) + 1;
	return name;
}

static int read_functions(struct pathprof_parcel *parcel, struct pathprof_parcel_names *names,
			  const Pathprof__Names *m, struct pathprof_error *error)
{
	uint64_t start = 0;
	size_t at = 0;
	int r = 0;

	if (m->n_length != m->n_start)
		return malformed(error, "columns of functions have different lengths");
	for (size_t i = 0; r == 0 && i < m->n_start; i++) {
		const char *name = next_name(&m->names, &at);

		start += (uint64_t)m->start[i];
		if (!name)
			return malformed(error, "a function without a name");
		r = pathprof_parcel_add_function(parcel, names, start, m->length[i], name);
	}
	if (r == -E2BIG)
		return malformed(error, "a function's name is longer than 1024 bytes");
	if (r < 0)
		return no_memory(error);
	return at == m->names.len ? 0 : malformed(error, "names without functions");
}

static int read_portables(struct pathprof_parcel *parcel, struct pathprof_parcel_names *names,
			  const Pathprof__Names *m, struct pathprof_error *error)
{
	struct pathprof_parcel_portable row = {.start = 0};
	size_t cnt = m->n_function;

	if (m->n_path_start != cnt || m->n_path_length != cnt || m->n_path_outcomes != cnt ||
	    m->n_place != cnt)
		return malformed(error, "columns of paths' names have different lengths");
	for (size_t i = 0; i < cnt; i++) {
		row.start += (uint64_t)m->path_start[i];
		row.length = m->path_length[i];
		row.outcomes = m->path_outcomes[i];
		row.function = m->function[i];
		row.place = m->place[i];
		if (pathprof_parcel_add_portable(parcel, names, &row) < 0)
			return no_memory(error);
	}
	return 0;
}

static int read_keys(struct pathprof_parcel_names *names, const Pathprof__Names *m,
		     struct pathprof_error *error)
{
	if (!m->n_keys)
		return 0;
	names->keys = calloc(m->n_keys, sizeof(*names->keys));
	if (!names->keys)
		return no_memory(error);
	memcpy(names->keys, m->keys, m->n_keys * sizeof(*names->keys));
	names->key_cnt = (uint32_t)m->n_keys;
	return 0;
}

/* Builds are not looked for among those that came before: an enemy may name very many. */
static int read_build(struct pathprof_parcel *parcel, const Pathprof__Names *m,
		      struct pathprof_error *error)
{
	struct pathprof_parcel_names *names = &parcel->names[parcel->name_cnt];
	int r;

	if (m->id.len > PATHPROF_BUILD_ID_MAX || m->kind > PATHPROF_ID_JIT)
		return malformed(error, "the identity of a build with names");
	names->id.kind = (uint8_t)m->kind;
	names->id.len_bytes = (uint8_t)m->id.len;
	if (m->id.len)
		memcpy(names->id.bytes, m->id.data, m->id.len);
	parcel->name_cnt++;
	r = read_functions(parcel, names, m, error);
	if (r == 0)
		r = read_portables(parcel, names, m, error);
	return r ? r : read_keys(names, m, error);
}

int pp_parcel_read_names(struct pathprof_parcel *parcel, const Pathprof__Parcel *m,
			 struct pathprof_error *error)
{
	int r = 0;

	if (!m->n_names)
		return 0;
	parcel->names = calloc(m->n_names, sizeof(*parcel->names));
	if (!parcel->names)
		return no_memory(error);
	parcel->name_room = (uint32_t)m->n_names;
	for (size_t i = 0; r == 0 && i < m->n_names; i++)
		r = read_build(parcel, m->names[i], error);
	return r;
}
