/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The capabilities of a machine, as facts: each has a state, a reason for limits, and a way to
 * change it. A probe tries the thing itself wherever trying is harmless, and reads settings only to
 * explain a refusal.
 */
#ifndef CTL_DOCTOR_H
#define CTL_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ctl.h"
#include "pathprof/machine.h"

enum fact_state {
	FACT_OK,
	FACT_NO,   /* not here, and something is lost by it */
	FACT_WARN, /* works, but less well or at a price */
};

struct fact {
	enum fact_state state;
	const char *name;
	char *value;
	char *why, *change; /* NULL: nothing to say */
};

struct facts {
	struct fact *list;
	size_t cnt;
	struct pathprof_machine machine; /* settings that explain refusals */
	/* the conditions for the source */
	bool can_step, clock_sampling;
	bool branch_stack;          /* perf has one for this processor's event */
	int branch_stacks_code;     /* 0: of each CPU; else -errno of the first that is refused */
	int bpf_code;               /* 0: a program that samples loads; else -errno */
	bool module, module_in_use; /* its device can be had; somebody has it */
};

void facts_release(struct facts *facts);
/*
 * Adds a fact; why and change are copied and may be NULL, name is not copied. Returns it, valid
 * until the next, for fact_value.
 */
struct fact *facts_add(struct facts *facts, enum fact_state state, const char *name,
		       const char *why, const char *change);
void fact_value(struct fact *fact, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each of these adds its facts. The machine was read before. */
void doctor_machine(struct facts *facts);
void doctor_perf(struct facts *facts);
void doctor_module(struct facts *facts);
void doctor_bpf(struct facts *facts);
void doctor_ptrace(struct facts *facts);
void doctor_oom(struct facts *facts);
void doctor_files(struct facts *facts, const struct ctl_options *options);
/* Called instead of these: examines the service, with its own rights. */
void doctor_service(struct facts *facts, const struct ctl_options *options);
/* The stepper of the service whose main process is pid. */
void doctor_service_oom(struct facts *facts, long pid);

/* A capability (CAP_* of linux/capability.h) in this process' effective set. */
bool doctor_capable(unsigned int capability);
/* Running kernel's release. Caller frees. */
char *doctor_release(void);

#endif
