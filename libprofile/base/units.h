/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Spans of time, sizes and shares as people write them, on a command line and in settings alike:
 *
 *     span     90  1.5min  "1h 30min"  2weeks    numbers with units, added up; without one: seconds
 *     size     4096  1.5G  512MiB  2tb           one number; B, K, M, G, T are powers of 1024
 *     percent  0.5  0.5%
 *     decimal  0.01
 *     count    12                                digits only
 *     hex      4005d0  0x4005d0
 *
 * No floating point and no locale: a decimal is its whole part and its billionths.
 *
 * Pure; any thread. Readers return 0, or -EINVAL for what is no such value, -ERANGE for what does
 * not fit; *ret_value is untouched then.
 */
#ifndef PP_BASE_UNITS_H
#define PP_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Nanoseconds. Units: ns us ms s m min h d w M y, and their names as in systemd.time(7). */
int pp_span_parse(const char *text, uint64_t *ret_value);
/* Bytes. */
int pp_size_parse(const char *text, uint64_t *ret_value);
/* Parts per million. */
int pp_percent_parse(const char *text, uint64_t *ret_value);
/* Millionths. */
int pp_decimal_parse(const char *text, uint64_t *ret_value);
int pp_count_parse(const char *text, uint64_t *ret_value);
int pp_hex_parse(const char *text, uint64_t *ret_value);
/* The same of the digits that text begins with; it goes behind them. */
int pp_hex_take(const char **text, uint64_t *ret_value);

/* Texts that read back as the same value; spans and sizes are a whole number of a unit. */
void pp_span_format(uint64_t ns, char *text, size_t size);
void pp_size_format(uint64_t bytes, char *text, size_t size);
void pp_percent_format(uint64_t ppm, char *text, size_t size);
void pp_decimal_format(uint64_t millionths, char *text, size_t size);

#endif
