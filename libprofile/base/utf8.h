/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Text of unknown origin as UTF-8. A file's name, a setting that was refused or text that was cut
 * off may be any bytes, and one that is not UTF-8 makes readers refuse all of a message: such bytes
 * become the replacement character.
 *
 * Workload: a name at a time. Pure; any thread. Source: Unicode, table 3-7 (well-formed byte
 * sequences).
 */
#ifndef PP_BASE_UTF8_H
#define PP_BASE_UTF8_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#define PP_UTF8_REPLACEMENT "\xef\xbf\xbd"

static inline size_t pp_utf8_len_by(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Bytes of the character that begins here, in terminated text; 0: it is not UTF-8. */
static inline size_t pp_utf8_len(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t len_bytes = pp_utf8_len_by(bytes[0]);

	for (size_t i = 1; i < len_bytes; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, halves of surrogate pairs, and numbers beyond the last character */
	if ((bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xed && bytes[1] > 0x9f) ||
	    (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f))
		return 0;
	return len_bytes;
}

/* Writes the character that begins here, or the replacement for one byte. Returns bytes taken. */
static inline size_t pp_utf8_put(const char *text, FILE *to)
{
	size_t len_bytes = pp_utf8_len(text);

	if (!len_bytes) {
		fputs(PP_UTF8_REPLACEMENT, to);
		return 1;
	}
	fwrite(text, 1, len_bytes, to);
	return len_bytes;
}

/* The whole text; the caller frees it. NULL: no memory. */
char *pp_utf8_text(const char *text);
/* The same as a JSON string; null for NULL, or without memory. */
json_t *pp_utf8_json(const char *text);

#endif
