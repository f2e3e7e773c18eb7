/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of a collector (pathprof/record_abi.h), held against the interface one by one: a
 * collector of another making, or a fault in it, must not take the daemon down.
 *
 * Workload: 10^2 to 10^5 a second. Pure functions over the caller's memory.
 */
#ifndef PP_CHAIN_RECORDS_H
#define PP_CHAIN_RECORDS_H

#include <stdbool.h>

#include "pathprof/record_abi.h"

/* Most branches that a window of hardware may have. */
#define PP_CHAIN_LBR_MAX 128
/* Most branches of a segment. */
#define PP_CHAIN_SEGMENT_MAX 32

/* Whether a record, of which size_bytes are there, at least its head's, fits type and counts. */
bool pp_chain_record_is_sound(const struct pathprof_record *record);

/* A sound record. Valid during the call. */
typedef void pp_chain_record_fn(void *context, const struct pathprof_record *record);

#endif
