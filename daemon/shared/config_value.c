// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of settings: see config_value.h. */
#include "config_value.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"

int pp_value_addresses(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first = 0, last = 0;
	int r = pp_hex_take(&text, &first);

	if (!r && *text++ != '-')
		r = -EINVAL;
	if (!r)
		r = pp_hex_take(&text, &last);
	if (!r && *text)
		r = -EINVAL;
	/* both 0 would mean all to whoever gets them */
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
