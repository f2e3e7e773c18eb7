/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text from a database is untrusted: a process may call itself what it likes, terminal escape
 * sequences included. Whatever is shown passes text_escape, whatever becomes JSON text_valid_utf8.
 */
#ifndef CTL_TEXT_H
#define CTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/build_id.h"

/* Bytes of the UTF-8 character at text (terminated), 0 when it is none. */
unsigned int text_decode(const char *text, uint32_t *ret_code_point);
/*
 * Escapes text so that it cannot harm a terminal or deceive its reader: control, format and
 * direction characters and invalid bytes become \xNN; so does everything beyond ASCII without a
 * UTF-8 terminal. Caller frees.
 */
char *text_escape(const char *text);
/* Invalid bytes become U+FFFD. Caller frees. */
char *text_valid_utf8(const char *text);
/* Columns that escaped text takes. */
unsigned int text_width(const char *text);
/* At most width columns of escaped text. If it is longer, the middle is left out. Caller frees. */
char *text_shorten(const char *text, unsigned int width);
/*
 * The same for a list with ", " between its entries: whole entries from its beginning, since the
 * middle of two entries says nothing. If the first has no room, only the mark for a part left out.
 * Caller frees.
 */
char *text_shorten_list(const char *text, unsigned int width);

/* A bar of at most width columns for part of whole; out holds 3 * width + 1 bytes. */
void text_bar(char *out, size_t size, double part, double whole, unsigned int width);
#define TEXT_OUTCOMES_SIZE 33
/* Branch i as T or N, first branch first; "-" for a path without branches. Returns out. */
char *text_outcomes(char out[static TEXT_OUTCOMES_SIZE], uint32_t length, uint32_t outcomes);
/* "12.3 MiB"; "1h 5min"; "2026-11-21 10:00:00" in local time. Return out. */
char *text_bytes(char *out, size_t size, uint64_t bytes);
char *text_duration(char *out, size_t size, int64_t ns);
char *text_time(char *out, size_t size, int64_t ns);
/* The last part of a path name. */
const char *text_base_name(const char *path);
/* MPX and CET put a word in front: "bnd call", "notrack call". A jump may lead to "call_me". */
bool text_is_call(const char *instruction);
/* "[gzip]": the binary's code in no known function. Caller frees. */
char *text_nameless(const char *path);

#endif
