/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which hardware event the branch stack is sampled on. The user gives a name that libpfm4 knows, or
 * "pmu/config=0x20c4,config1=1/" as perf writes it (terms as the PMU's format files name them). The
 * default is "a branch was taken", as this processor counts it.
 *
 * Text from a settings file: every name and number is checked. Once at the start; one thread.
 */
#ifndef PP_TAKEN_EVENT_H
#define PP_TAKEN_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/machine.h"

/* The directory to pass as sysfs; tests pass one of their own. */
#define PP_TAKEN_EVENT_SYSFS PATHPROF_PMUS

struct pp_taken_event {
	uint32_t type; /* perf_event_attr.type, and so on */
	uint64_t config, config1, config2;
	uint64_t branch_sample_type; /* what to ask for of the branch stack */
	bool is_default;             /* the user named none: each CPU gets its own */
	char name[64];               /* for people */
};

/* text "" or NULL: taken branches. -EINVAL: bad text; -ENOENT: no such PMU, term or event. */
int pp_taken_event_find(struct pp_taken_event *ret_event, const char *text, const char *sysfs,
			struct pathprof_error *error);

/*
 * Replaces a default event by that of one CPU: the cores of a hybrid processor have events of their
 * own and refuse each other's. An event that the user named stays.
 */
void pp_taken_event_for_cpu(struct pp_taken_event *event, const char *sysfs, uint32_t cpu);

/*
 * The number of events between samples that gives about frequency_hz samples a second on a busy
 * CPU, by order of magnitude; 0: the default rate.
 */
uint64_t pp_taken_event_period(uint32_t frequency_hz);

#endif
