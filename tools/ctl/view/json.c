// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON output: see json.h. */
#include "json.h"

#include <inttypes.h>
#include <math.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "pathprof/profile.h"

void json_rows_begin(struct json_rows *rows, FILE *out)
{
	*rows = (struct json_rows){.out = out};
	fputc('[', out);
}

void json_rows_add(struct json_rows *rows, json_t *row)
{
	fputs(rows->any ? ",\n " : "\n ", rows->out);
	json_dumpf(row, rows->out, JSON_REAL_PRECISION(9));
	json_decref(row);
	rows->any = true;
}

void json_rows_end(struct json_rows *rows)
{
	fputs(rows->any ? "\n]\n" : "]\n", rows->out);
}

void json_add(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

void json_add_text(json_t *object, const char *key, const char *text)
{
	_cleanup_free_ char *valid = text_valid_utf8(text ? text : "");

	json_add(object, key, json_string(valid));
}

void json_add_count(json_t *object, const char *key, uint64_t count)
{
	json_add(object, key, json_integer(count > INT64_MAX ? INT64_MAX : (json_int_t)count));
}

void json_add_ns(json_t *object, const char *key, int64_t ns)
{
	json_add(object, key, json_integer(ns));
}

void json_add_real(json_t *object, const char *key, double value)
{
	json_add(object, key, isfinite(value) ? json_real(value) : json_null());
}

void json_add_number(json_t *object, const char *key, uint64_t number)
{
	char text[21];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	json_add(object, key, json_string(text));
}

void json_add_hex(json_t *object, const char *key, uint64_t value)
{
	char text[19];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_add(object, key, json_string(text));
}

void json_add_binary(json_t *object, const char *key, const struct pathprof_build_id *id,
		     const char *name)
{
	static const char *const kinds[] = {"unknown", "build-id", "file", "jit"};
	json_t *binary = json_object();
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	json_add_text(binary, "name", name);
	json_add_text(binary, "build_id", pathprof_build_id_text(id, text));
	json_add_text(binary, "kind",
		      pathprof_is_kernel(id, name)
			      ? "kernel"
			      : kinds[id->kind <= PATHPROF_ID_JIT ? id->kind : 0]);
	json_add(object, key, binary);
}

void json_add_function(json_t *object, const char *key, const struct symbol *symbol)
{
	_cleanup_free_ char *start = ctl_printf("%s_start", key);

	if (symbol && symbol->known)
		json_add_text(object, key, symbol->linkage);
	else
		json_add(object, key, json_null());
	if (symbol)
		json_add_hex(object, start, symbol->start);
	else
		json_add(object, start, json_null());
}
