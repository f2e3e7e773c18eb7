// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of settings: see config_value.h. */
#include "config_value.h"

#include <errno.h>
#include <string.h>

/* Digits of a number in hex; *text goes behind it. */
static int read_hex(const char **text, uint64_t *ret_value)
{
	const char *s = *text;
	uint64_t value = 0;
	size_t len;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	len = strspn(s, "0123456789abcdefABCDEF");
	if (!len)
		return -EINVAL;
	if (len > 16)
		return -ERANGE;
	for (size_t i = 0; i < len; i++, s++)
		value = value << 4 | (uint64_t)(*s <= '9' ? *s - '0' : (*s | 0x20) - 'a' + 10);
	*text = s;
	*ret_value = value;
	return 0;
}

int pp_value_addresses(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first = 0, last = 0;
	int r = read_hex(&text, &first);

	if (!r && *text++ != '-')
		r = -EINVAL;
	if (!r)
		r = read_hex(&text, &last);
	if (!r && *text)
		r = -EINVAL;
	/* both 0 means all, to whom it is handed */
	if (!r && (first > last || !last))
		r = -ERANGE;
	if (r)
		return r;
	*ret_first = first;
	*ret_last = last;
	return 0;
}

int pp_value_choice(const char *text, const char *const *choices, uint64_t *ret_value)
{
	for (uint64_t i = 0; choices[i]; i++)
		if (!strcmp(choices[i], text)) {
			*ret_value = i;
			return 0;
		}
	return -EINVAL;
}

int pp_value_bool(const char *text, uint64_t *ret_value)
{
	/* even: no, odd: yes */
	static const char *const words[] = {"no", "yes", "false", "true", "off",
					    "on", "0",   "1",     NULL};
	uint64_t index = 0;
	int r = pp_value_choice(text, words, &index);

	if (r < 0)
		return r;
	*ret_value = index % 2;
	return 0;
}
