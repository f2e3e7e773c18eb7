// SPDX-License-Identifier: GPL-2.0-or-later
/* See value_spec.h. */
#include "value_site.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probe_place.h"

static int wrong(const char *text, const char *what, struct pathprof_error *error)
{
	return pathprof_fail(error, -EINVAL,
			     "--value %s: %s: write [FILE:]FUNCTION:ARG, ARG 1 to %d, as malloc:1",
			     text, what, PP_PROBE_ARGUMENT_MAX);
}

/* [from, end) as a string. false: it is empty or too long. */
static bool copy(char *to, size_t size, const char *from, const char *end)
{
	size_t len = (size_t)(end - from);

	if (len == 0 || len >= size)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

static const char *last_colon(const char *from, const char *end)
{
	while (end > from)
		if (*--end == ':')
			return end;
	return NULL;
}

/* A function whose name looks so does not exist. */
static bool take_offset(struct pp_value_spec *spec)
{
	if (strncmp(spec->function, "0x", 2) != 0)
		return true;
	spec->is_offset = true;
	return !pp_hex_parse(spec->function, &spec->offset);
}

int pp_value_spec_parse(struct pp_value_spec *ret_spec, const char *text,
			struct pathprof_error *error)
{
	const char *end = text + strlen(text), *at = last_colon(text, end), *name;
	struct pp_value_spec spec = {.file = ""};

	if (!at)
		return wrong(text, "no parameter", error);
	if (end - at != 2 || at[1] < '1' || at[1] > '0' + PP_PROBE_ARGUMENT_MAX)
		return wrong(text, "no such parameter", error);
	spec.argument = (uint32_t)(at[1] - '0');
	name = last_colon(text, at);
	if (name && !copy(spec.file, sizeof(spec.file), text, name))
		return wrong(text, "no file", error);
	if (!copy(spec.function, sizeof(spec.function), name ? name + 1 : text, at))
		return wrong(text, "no function", error);
	if (!take_offset(&spec))
		return wrong(text, "no such offset", error);
	*ret_spec = spec;
	return 0;
}
