/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One translation unit on its way through the plugin: what its functions share.
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

/* What counting has in memory: counters, and where a thread's are. */
enum alias_type { ALIAS_COUNTER, ALIAS_PLACE, ALIAS_TYPES };

struct unit {
	LLVMModuleRef module;
	LLVMTargetMachineRef machine;
	LLVMContextRef context;
	LLVMBuilderRef builder;
	LLVMTypeRef i64, pointer;
	LLVMValueRef table; /* its counters; replaced when their number is known */
	LLVMValueRef place; /* place.c; NULL: not asked for yet */
	LLVMAttributeRef counter_type, increment_attributes[UNIT_INCREMENT_ATTRIBUTES];
	unsigned int alias_kind;              /* alias.h */
	LLVMValueRef alias_tags[ALIAS_TYPES]; /* NULL: the language's types are not known */
	/* What is inlined where paths end; NULL: not asked for yet. */
	LLVMValueRef cached, in_table, in_hot_table;
	LLVMValueRef crossing;                  /* crossing.h; NULL: nothing was inlined */
	struct counters *counters;              /* counters.h; NULL: clang's are not asked for */
	const struct pathprof_interesting *ran; /* paths of the build before; NULL: no matter */
	uint32_t depth;                         /* of calls that paths follow */
	char **names; /* by order in the module, when calls are followed */
	uint32_t name_cnt;
	const struct pathprof_interesting *interesting; /* NULL: no paths are */
	uint64_t counter_cnt;
	uint32_t function_cnt, left_out_cnt;
	uint32_t changed_cnt; /* functions that interesting paths or clang's profile do not fit */
	uint32_t misfit_cnt;  /* and those that `ran` is not of */
	unsigned int returns_twice, noprofile, naked, coroutine,
		always_inline; /* kinds of attributes */
	bool cut_calls, oracle;
	bool practical; /* cold paths are not told apart; by interesting paths, or clang's profile
			 */
	enum pathprof_warm_rules rules; /* if so */
	FILE *description;              /* of its functions, as directives for the assembler */
	char *description_text;
	size_t description_bytes;
};

void unit_init(struct unit *unit, LLVMModuleRef module, LLVMTargetMachineRef machine);
/* Puts the table and the description into the module. */
void unit_finish(struct unit *unit);
/* Counters for a function: the number of the first. */
uint64_t unit_take_counters(struct unit *unit, uint64_t cnt);
/*
 * Adds a symbol to a list of those to be kept: llvm.compiler.used by optimisations, llvm.used by
 * the linker as well. The list may be there already.
 */
void unit_keep(struct unit *unit, LLVMValueRef symbol, const char *list);
/* As the linker knows it; free() it. */
char *unit_name_of(LLVMValueRef function);
/* Other units may have one of that name. */
bool unit_is_local(LLVMValueRef function);

/* Passes of LLVM, as opt takes them. */
void unit_run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes);
/* Its paths are not to be counted. */
bool unit_leaves_out(const struct unit *unit, LLVMValueRef function);
bool unit_has_attribute(LLVMValueRef function, unsigned int kind);

/* calloc() that does not fail. */
void *must_allocate(size_t cnt, size_t size);

/* Numbers its paths and makes it count them; false: this cannot be done, and nothing was changed.
 */
bool function_instrument(struct unit *unit, LLVMValueRef function);

#endif
