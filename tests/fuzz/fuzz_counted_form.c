// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The form of a program's description, which root's side takes from the confined process that read
 * the program: whoever breaks into that process writes it as he likes. Input: the form.
 * fuzz_counts.c comes by forms through descriptions; this has all of them.
 *
 * Beyond "no crash": a form is read, or refused as bad; what was read is sound, and is written as a
 * form of the same length that is read again.
 */
#include <errno.h>
#include <stdio.h>

#include "../../libprofile/src/counts/pp_counted_apart.h"
#include "sound_counted.h"

/* The size of the program: it bounds the counters. */
#define FILE_BYTES (64u << 10)

/* NULL: it is refused. */
static struct pathprof_counted *read_form(const void *form, size_t bytes)
{
	struct pathprof_counted *counted = calloc(1, sizeof(*counted));
	int r;

	REQUIRE(counted);
	r = pp_form_read(counted, form, bytes);
	REQUIRE(r == 0 || r == -EBADMSG);
	if (r == 0)
		return counted;
	pathprof_counted_free(counted);
	return NULL;
}

static void write_and_read(struct pathprof_counted *counted, size_t want_bytes)
{
	struct pathprof_counted *again;
	char *form = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&form, &bytes);

	REQUIRE(out && pp_form_write(counted, out) == 0 && fclose(out) == 0);
	REQUIRE(bytes == want_bytes);
	again = read_form(form, bytes);
	REQUIRE(again && again->function_cnt == counted->function_cnt);
	pathprof_counted_free(again);
	free(form);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pathprof_counted *counted = read_form(data, size);

	if (!counted)
		return 0;
	write_and_read(counted, size);
	require_sound_form(counted, FILE_BYTES);
	pathprof_counted_free(counted);
	return 0;
}
