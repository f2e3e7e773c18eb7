/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Control characters in text of others, which a terminal obeys and which make one line look like
 * two: those of ASCII, and of UTF-8 U+0080 to U+009F (bytes c2 80 to c2 9f) as well, since some
 * terminals obey these. Text beyond that stays as it is.
 *
 * Workload: a line at a time. Any context; the caller owns the text. Source: ECMA-48, RFC 3629.
 */
#ifndef PP_BASE_CONTROLS_H
#define PP_BASE_CONTROLS_H

#include <stddef.h>

/* Puts `with` in the place of each byte of a control character. */
static inline void pp_controls_replace(char *text, size_t len_bytes, char with)
{
	const unsigned char *at = (const unsigned char *)text;

	for (size_t i = 0; i < len_bytes; i++) {
		if (at[i] < ' ' || at[i] == 127)
			text[i] = with;
		if (at[i] == 0xc2 && i + 1 < len_bytes && at[i + 1] >= 0x80 && at[i + 1] <= 0x9f)
			text[i] = text[i + 1] = with;
	}
}

#endif
