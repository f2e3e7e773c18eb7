/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON output: an array of objects, one a line, written as they come. Addresses and build-ids are
 * strings of hex (a 64-bit address does not fit every reader's number), times are nanoseconds
 * since the epoch, shares 0..1. Strings are valid UTF-8 whatever the database holds.
 */
#ifndef CTL_JSON_H
#define CTL_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../code/symbols.h"
#include "pathprof/build_id.h"

struct json_rows {
	FILE *out;
	bool any;
};

void json_rows_begin(struct json_rows *rows, FILE *out);
/* Takes the reference. */
void json_rows_add(struct json_rows *rows, json_t *row);
void json_rows_end(struct json_rows *rows);

/* Each adds one member to object. */
void json_add(json_t *object, const char *key, json_t *value);
void json_add_text(json_t *object, const char *key, const char *text);
void json_add_count(json_t *object, const char *key, uint64_t count);
void json_add_ns(json_t *object, const char *key, int64_t ns);
void json_add_real(json_t *object, const char *key, double value);
/* A number up to 2^64 - 1, as a string of digits, which no reader rounds. */
void json_add_number(json_t *object, const char *key, uint64_t number);
void json_add_hex(json_t *object, const char *key, uint64_t value);
/* {"name": ..., "build_id": ..., "kind": "build-id" | "file" | "jit" | "kernel" | "unknown"} */
void json_add_binary(json_t *object, const char *key, const struct pathprof_build_id *id,
		     const char *name);
/* The function as the linker calls it, and where it begins in its file (KEY_start), which code
 * without names has as well. symbol NULL: both null. */
void json_add_function(json_t *object, const char *key, const struct symbol *symbol);

#endif
