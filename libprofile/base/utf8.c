// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Text of unknown origin as UTF-8: see utf8.h. */
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

char *pp_utf8_text(const char *text)
{
	char *valid = malloc(strlen(text) * strlen(PP_UTF8_REPLACEMENT) + 1), *to = valid;

	while (valid && *text) {
		size_t len_bytes = pp_utf8_len(text);

		to = len_bytes ? mempcpy(to, text, len_bytes) : stpcpy(to, PP_UTF8_REPLACEMENT);
		text += len_bytes ? len_bytes : 1;
	}
	if (valid)
		*to = 0;
	return valid;
}

json_t *pp_utf8_json(const char *text)
{
	char *valid = text ? pp_utf8_text(text) : NULL;
	json_t *json = valid ? json_string(valid) : NULL;

	free(valid);
	return json ? json : json_null();
}
