/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events of a stream of words, found the slow way: all words at once, every rule of
 * pathprof/trace_format.h spelled out, no limit but the one on active handlers.
 */
#ifndef ORACLE_TRACE_H
#define ORACLE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/trace.h"

/* events[] has room for two events a word. Returns how many there are. */
size_t oracle_trace(const uint32_t *words, size_t word_cnt, struct pathprof_trace_event *events);

#endif
