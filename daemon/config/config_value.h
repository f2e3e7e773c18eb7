/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of settings, to and from text: percentages, spans of time, sizes, counts, choices. No
 * floating point and no locale: a decimal is its whole part and its billionths.
 *
 * Pure; any thread. Readers return 0, or -EINVAL for what is no such value, -ERANGE for what does
 * not fit; *ret_value untouched then.
 */
#ifndef PP_CONFIG_VALUE_H
#define PP_CONFIG_VALUE_H

#include <stddef.h>
#include <stdint.h>

/* "0.5%" or "0.5": parts per million. */
int pp_value_percent(const char *text, uint64_t *ret_value);
/* "90", "1.5min", "1h 30min", "30d": nanoseconds; a bare number is seconds. */
int pp_value_span(const char *text, uint64_t *ret_value);
/* "512M", "1.5G", "4096": bytes; K, M, G, T are powers of 1024. */
int pp_value_size(const char *text, uint64_t *ret_value);
int pp_value_count(const char *text, uint64_t *ret_value);
/* "0.01": millionths. */
int pp_value_decimal(const char *text, uint64_t *ret_value);
/* "400000-4fffff", in hex with or without 0x: first and last of a range. */
int pp_value_addresses(const char *text, uint64_t *ret_first, uint64_t *ret_last);
/* choices: NULL-terminated; the value is the index. */
int pp_value_choice(const char *text, const char *const *choices, uint64_t *ret_value);
/* yes, true, on, 1; no, false, off, 0. */
int pp_value_bool(const char *text, uint64_t *ret_value);

/* The shortest text that reads back as the same value. */
void pp_format_percent(uint64_t ppm, char *text, size_t size);
void pp_format_span(uint64_t ns, char *text, size_t size);
void pp_format_size(uint64_t bytes, char *text, size_t size);
void pp_format_decimal(uint64_t millionths, char *text, size_t size);

#endif
