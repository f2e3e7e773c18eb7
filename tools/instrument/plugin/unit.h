/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One translation unit on its way through the plugin: the state its functions share.
 *
 * Workload: a compiler's process, one unit, functions one after the other; up to 10^5 blocks each.
 * Out of memory ends the compilation.
 */
#ifndef UNIT_H
#define UNIT_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pathprof/interesting.h"
#include "pathprof/warm.h"

#define UNIT_INCREMENT_ATTRIBUTES 5

/* The kinds of counting's memory: counters, and the variables that locate a thread's. */
enum alias_type { ALIAS_COUNTER, ALIAS_PLACE, ALIAS_TYPES };

struct unit {
	LLVMModuleRef module;
	LLVMTargetMachineRef machine;
	LLVMContextRef context;
	LLVMBuilderRef builder;
	LLVMTypeRef i64, pointer;
	LLVMValueRef table; /* its counters; replaced once their number is known */
	LLVMValueRef place; /* place.c; NULL: not made yet */
	LLVMAttributeRef counter_type, increment_attributes[UNIT_INCREMENT_ATTRIBUTES];
	unsigned int alias_kind; /* alias.h */
	LLVMValueRef
		alias_tags[ALIAS_TYPES]; /* NULL: the root of the language's types is unknown */
	/* Functions that are inlined where paths end; NULL: not made yet. */
	LLVMValueRef cached, in_table, in_hot_table, counts_turns;
	LLVMValueRef crossing;     /* crossing.h; NULL: nothing was inlined */
	struct counters *counters; /* counters.h; NULL: clang's are not asked for */
	const struct pathprof_interesting
		*ran;   /* paths that an earlier build ran; NULL: calls are not followed */
	uint32_t depth; /* how many nested calls paths follow */
	char **names;   /* names in the order of the module, if calls are followed */
	uint32_t name_cnt;
	const struct pathprof_interesting *interesting; /* NULL: no paths are interesting */
	uint64_t counter_cnt;
	uint32_t function_cnt, left_out_cnt;
	uint32_t changed_cnt; /* functions that interesting paths or clang's profile do not fit */
	uint32_t misfit_cnt;  /* functions that `ran` does not fit */
	unsigned int returns_twice, noprofile, naked, coroutine,
		always_inline; /* kinds of attributes */
	bool cut_calls, oracle;
	bool defers_turns;              /* turns.h */
	bool practical;                 /* cold paths (by interesting paths or clang) are merged */
	enum pathprof_warm_rules rules; /* if practical */
	FILE *description;              /* of the unit's functions, as assembler directives */
	char *description_text;
	size_t description_bytes;
};

void unit_init(struct unit *unit, LLVMModuleRef module, LLVMTargetMachineRef machine);
/* Puts the table and the description into the module. */
void unit_finish(struct unit *unit);
/* Reserves counters for a function; returns the first one's number. */
uint64_t unit_take_counters(struct unit *unit, uint64_t cnt);
/*
 * Adds a symbol to the list of those that optimisations (llvm.compiler.used) or also the linker
 * (llvm.used) must keep. The list may be there already.
 */
void unit_keep(struct unit *unit, LLVMValueRef symbol, const char *list);
/* The function's name as the linker sees it; free() it. */
char *unit_name_of(LLVMValueRef function);
/* Whether other units may have a function of that name. */
bool unit_is_local(LLVMValueRef function);

/* Runs passes of LLVM, named as for opt. */
void unit_run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes);
/* Whether the function's paths are not to be counted. */
bool unit_leaves_out(const struct unit *unit, LLVMValueRef function);
bool unit_has_attribute(LLVMValueRef function, unsigned int kind);

/* calloc() that exits on failure. */
void *must_allocate(size_t cnt, size_t size);

/* Numbers the function's paths and makes it count them; false: impossible, nothing was changed. */
bool function_instrument(struct unit *unit, LLVMValueRef function);

#endif
