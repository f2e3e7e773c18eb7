// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The settings under which the collector is compared with its twin and its model: each sampler and
 * table as it is used or as small as possible, and events that may happen during a run.
 */
#include "collect_check.h"

#define ALL_KINDS  ~0u
#define BOTH       (PATHPROF_PROFILE_EDGES | PATHPROF_PROFILE_CALLS)
#define COMMON     .kinds = ALL_KINDS, .profiles = BOTH, .ip_max = ~0ull
#define PERIODIC   .sampler = PP_SAMPLER_PERIODIC, .rate = 256, .bits = 11, .phased = 1
#define USUAL_HPT  .hpt = {.bits = 9, .ways = 4, .policy = PP_HPT_TAIL}
#define USUAL      .compress = {PERIODIC, .assoc_size = 16}, USUAL_HPT
#define SMALL_HPT  .hpt = {.bits = 3, .ways = 2, .policy = PP_HPT_TAIL}
#define USUAL_REST .drain_batches = 256

const struct setting settings[] = {
	{"default", {COMMON, USUAL}, USUAL_REST},
	{"small",
	 {COMMON, .compress = {.sampler = PP_SAMPLER_PERIODIC, .rate = 16, .assoc_size = 2},
	  SMALL_HPT},
	 .drain_batches = 24},
	{"lfu",
	 {COMMON, .compress = {PERIODIC, .assoc_size = 16},
	  .hpt = {.bits = 7, .ways = 16, .policy = PP_HPT_LFU}},
	 .drain_batches = 64},
	{"counting-random",
	 {COMMON,
	  .compress =
		  {.sampler = PP_SAMPLER_COUNTING_RANDOM, .rate = 64, .bits = 6, .assoc_size = 8},
	  .hpt = {.bits = 11, .ways = 1, .policy = PP_HPT_LFU}},
	 .drain_batches = 64},
	{"random",
	 {COMMON, .compress = {.sampler = PP_SAMPLER_RANDOM, .rate = 64, .bits = 11}, USUAL_HPT},
	 USUAL_REST},
	{"tagged",
	 {COMMON,
	  .compress = {.sampler = PP_SAMPLER_TAGGED,
		       .rate = 64,
		       .bits = 10,
		       .assoc_size = 16,
		       .tag_bits = 4,
		       .tagged = {.rate = 64, .ways = 2, .evict = 32, .replace = 7}},
	  USUAL_HPT},
	 USUAL_REST},
	{"no-second-level", {COMMON, .compress = {PERIODIC}, USUAL_HPT}, USUAL_REST},
	{"every-tuple",
	 {COMMON, .compress = {.sampler = PP_SAMPLER_PERIODIC, .rate = 1, .assoc_size = 16},
	  USUAL_HPT},
	 .drain_batches = 8},
	{"cycles", {COMMON, USUAL, .metric = PATHPROF_METRIC_CYCLES}, USUAL_REST},
	{"mispredict", {COMMON, USUAL, .metric = PATHPROF_METRIC_MISPREDICT}, USUAL_REST},
	{"calls", {.kinds = ALL_KINDS, .profiles = PATHPROF_PROFILE_CALLS, USUAL}, USUAL_REST},
	{"edges-of-conditionals",
	 {.kinds = 1u << PP_KIND_COND, .profiles = PATHPROF_PROFILE_EDGES, USUAL},
	 USUAL_REST},
	{"many-contexts", {COMMON, USUAL}, .spaces = 120, .drain_batches = 64},
	{"numbers-used-up",
	 {COMMON, USUAL},
	 .spaces = 120,
	 .last_context = 65000,
	 .drain_batches = 16,
	 .in_drain = true},
	{"spoiled", {COMMON, USUAL}, USUAL_REST, .spoiled = true},
	{"any-length", {COMMON, USUAL}, USUAL_REST, .any_length = true},
	{"drains", {COMMON, USUAL}, .spaces = 2, .drain_batches = 4, .in_drain = true},
	{"ring-full",
	 {COMMON, .compress = {.sampler = PP_SAMPLER_PERIODIC, .rate = 2, .assoc_size = 1},
	  SMALL_HPT},
	 .spaces = 120,
	 .drain_batches = 48,
	 .ring_batches = 64,
	 .least_windows = 4096},
};
const size_t setting_cnt = sizeof(settings) / sizeof(settings[0]);
