/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of settings out of text, where they are not numbers with a unit (base/units.h): ranges of
 * addresses, choices.
 *
 * Pure; any thread. Readers return 0, or -EINVAL for what is no such value, -ERANGE for what does
 * not fit; *ret_value untouched then.
 */
#ifndef PP_CONFIG_VALUE_H
#define PP_CONFIG_VALUE_H

#include <stdint.h>

/* "400000-4fffff", in hex with or without 0x: first and last of a range. */
int pp_value_addresses(const char *text, uint64_t *ret_first, uint64_t *ret_last);
/* choices: NULL-terminated; the value is the index. */
int pp_value_choice(const char *text, const char *const *choices, uint64_t *ret_value);
/* yes, true, on, 1; no, false, off, 0. */
int pp_value_bool(const char *text, uint64_t *ret_value);

#endif
