/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and addresses that a server's certificate may have: clients compare them with the address
 * they were given, so one that is neither helps nobody, and is mostly a slip.
 *
 * Workload: a few, when a certificate is made. Source: RFC 1123, section 2.1; RFC 6125.
 */
#ifndef HUB_ADDRESS_H
#define HUB_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An IPv4 or IPv6 address in numbers, or a host name: up to 253 letters, digits, - and _ in parts
 * of up to 63 with points between them, the last part not of digits alone; the first part may be *.
 */
bool hub_is_address(const char *text);

/* The first of a list with commas between them that is none, and its length; NULL: all are. An
 * empty list has one, which is none. */
const char *hub_address_find_bad(const char *list, size_t *ret_len);

#endif
