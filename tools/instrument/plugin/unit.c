// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit.h"

#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

#include "alias.h"
#include "counters.h"
#include "describe.h"
#include "place.h"
#include "resolvers.h"
#include "pathprof/instrument_abi.h"

void *must_allocate(size_t cnt, size_t size)
{
	void *memory = calloc(cnt ? cnt : 1, size);

	if (!memory) {
		fputs("pathprof: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

static unsigned int attribute(const char *name)
{
	return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

bool unit_has_attribute(LLVMValueRef function, unsigned int kind)
{
	return LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind) != NULL;
}

/* Optimisations may assume of a counter's increment that it has no other effect. */
static void make_attributes(struct unit *unit)
{
	static const struct {
		const char *name;
		uint64_t value;
	} known[UNIT_INCREMENT_ATTRIBUTES] = {
		/* Reads and writes what its arguments point to. */
		{"memory", 3}, {"nounwind", 0}, {"willreturn", 0}, {"nosync", 0}, {"nofree", 0},
	};

	for (size_t i = 0; i < UNIT_INCREMENT_ATTRIBUTES; i++)
		unit->increment_attributes[i] = LLVMCreateEnumAttribute(
			unit->context, attribute(known[i].name), known[i].value);
	unit->counter_type =
		LLVMCreateTypeAttribute(unit->context, attribute("elementtype"), unit->i64);
}

void unit_init(struct unit *unit, LLVMModuleRef module, LLVMTargetMachineRef machine)
{
	LLVMContextRef context = LLVMGetModuleContext(module);

	*unit = (struct unit){
		.module = module,
		.machine = machine,
		.context = context,
		.builder = LLVMCreateBuilderInContext(context),
		.i64 = LLVMInt64TypeInContext(context),
		.pointer = LLVMPointerTypeInContext(context, 0),
		.returns_twice = attribute("returns_twice"),
		.noprofile = attribute("noprofile"),
		.naked = attribute("naked"),
		.coroutine = attribute("presplitcoroutine"),
		.always_inline = attribute("alwaysinline"),
	};
	make_attributes(unit);
	alias_init(unit);
	unit->table = LLVMAddGlobal(module, LLVMArrayType2(unit->i64, 0), "");
	unit->description = open_memstream(&unit->description_text, &unit->description_bytes);
	if (!unit->description)
		abort();
}

uint64_t unit_take_counters(struct unit *unit, uint64_t cnt)
{
	uint64_t first = unit->counter_cnt;

	unit->counter_cnt += cnt;
	return first;
}

char *unit_name_of(LLVMValueRef function)
{
	size_t bytes;
	const char *name = LLVMGetValueName2(function, &bytes);
	char *copy;

	/* A name that the linker must take verbatim begins with \1. */
	if (bytes && name[0] == '\1') {
		name++;
		bytes--;
	}
	copy = must_allocate(bytes + 1, 1);
	memcpy(copy, name, bytes);
	return copy;
}

bool unit_is_local(LLVMValueRef function)
{
	LLVMLinkage linkage = LLVMGetLinkage(function);

	return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

bool unit_leaves_out(const struct unit *unit, LLVMValueRef function)
{
	return unit_has_attribute(function, unit->naked) ||
	       unit_has_attribute(function, unit->noprofile) ||
	       unit_has_attribute(function, unit->coroutine) || resolvers_run(function);
}

void unit_run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;

	LLVMPassBuilderOptionsSetSLPVectorization(options, true);
	error = LLVMRunPasses(module, passes, machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (!error)
		return;
	fprintf(stderr, "pathprof: LLVM refuses the passes '%s': %s\n", passes,
		LLVMGetErrorMessage(error));
	exit(1);
}

/* ---------------------------------------------------------------- the end */

/* The final table: under its own name, in its section, of the final size. */
static LLVMValueRef make_table(struct unit *unit)
{
	LLVMTypeRef type = LLVMArrayType2(unit->i64, unit->counter_cnt);
	LLVMValueRef table = LLVMAddGlobal(unit->module, type, TABLE_SYMBOL);

	LLVMSetInitializer(table, LLVMConstNull(type));
	LLVMSetLinkage(table, LLVMInternalLinkage);
	LLVMSetSection(table, PATHPROF_COUNTERS_SECTION);
	LLVMSetAlignment(table, 64);
	LLVMReplaceAllUsesWith(unit->table, table);
	return table;
}

void unit_keep(struct unit *unit, LLVMValueRef symbol, const char *name)
{
	LLVMValueRef old = LLVMGetNamedGlobal(unit->module, name), list, made;
	unsigned int cnt = old ? (unsigned int)LLVMGetNumOperands(LLVMGetInitializer(old)) : 0;
	LLVMValueRef *symbols = must_allocate(cnt + 1, sizeof(LLVMValueRef));

	for (unsigned int i = 0; i < cnt; i++)
		symbols[i] = LLVMGetOperand(LLVMGetInitializer(old), i);
	symbols[cnt] = symbol;
	list = LLVMConstArray2(unit->pointer, symbols, cnt + 1);
	if (old)
		LLVMDeleteGlobal(old);
	made = LLVMAddGlobal(unit->module, LLVMTypeOf(list), name);
	LLVMSetInitializer(made, list);
	LLVMSetLinkage(made, LLVMAppendingLinkage);
	LLVMSetSection(made, "llvm.metadata");
	free(symbols);
}

void unit_finish(struct unit *unit)
{
	if (unit->counter_cnt) {
		place_finish(unit);
		unit_keep(unit, make_table(unit), "llvm.compiler.used");
		describe_unit(unit);
	}
	counters_release(unit);
	LLVMDeleteGlobal(unit->table);
	fclose(unit->description);
	free(unit->description_text);
	LLVMDisposeBuilder(unit->builder);
	for (uint32_t i = 0; i < unit->name_cnt; i++)
		free(unit->names[i]);
	free(unit->names);
}
