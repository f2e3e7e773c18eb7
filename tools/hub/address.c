// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and addresses in certificates: see address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 253
#define PART_MAX_BYTES 63

static bool is_number(const char *text)
{
	uint8_t bytes[16];

	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static bool is_part(const char *part, size_t len)
{
	return len >= 1 && len <= PART_MAX_BYTES && part[0] != '-' && part[len - 1] != '-' &&
	       strspn(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-_") == len;
}

/* A last part of digits alone is an address that has gone wrong. */
static bool is_name(const char *name)
{
	const char *part = strncmp(name, "*.", 2) == 0 ? name + 2 : name;
	size_t len = strcspn(part, ".");

	while (is_part(part, len) && part[len]) {
		part += len + 1;
		len = strcspn(part, ".");
	}
	return is_part(part, len) && !part[len] && strspn(part, "0123456789") < len;
}

bool hub_is_address(const char *text)
{
	return is_number(text) || (strlen(text) <= NAME_MAX_BYTES && is_name(text));
}

const char *hub_address_find_bad(const char *list, size_t *ret_len)
{
	char address[NAME_MAX_BYTES + 1];

	for (;;) {
		size_t len = strcspn(list, ",");
		int needed = snprintf(address, sizeof(address), "%.*s", (int)len, list);

		*ret_len = len;
		if (needed < 0 || (size_t)needed >= sizeof(address) || !hub_is_address(address))
			return list;
		if (!list[len])
			return NULL;
		list += len + 1;
	}
}
