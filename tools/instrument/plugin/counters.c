// SPDX-License-Identifier: GPL-2.0-or-later
#include "counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "inlining.h"

/*
 * The intrinsics' arguments. INCREMENT: name, hash, number of counters, index; STEP: those and the
 * increment; VALUE: name, hash, value, kind, index of the site.
 */
#define INTRINSICS     "llvm.instrprof."
#define INCREMENT      INTRINSICS "increment"
#define STEP           INTRINSICS "increment.step"
#define VALUE          INTRINSICS "value.profile"
#define INCREMENT_ARGS 4
#define STEP_ARGS      5
#define SELECT_SYMBOL  "__pathprof_select"
#define NAMES          "__profn_"

/* The name of the instrprof intrinsic that the instruction calls; NULL: it calls none. */
static const char *intrinsic_of(LLVMValueRef instruction)
{
	LLVMValueRef callee = LLVMIsACallInst(instruction) ? LLVMGetCalledValue(instruction) : NULL;
	const char *name;
	size_t bytes;

	if (!callee || !LLVMIsAFunction(callee))
		return NULL;
	name = LLVMGetValueName2(callee, &bytes);
	return strncmp(name, INTRINSICS, strlen(INTRINSICS)) == 0 ? name : NULL;
}

/* ---------------------------------------------------------------- selects */

/* Makes an inlined function that counts one if its step is not 0. */
static LLVMValueRef make_select(struct unit *unit)
{
	LLVMValueRef increment = LLVMGetNamedFunction(unit->module, INCREMENT);
	LLVMTypeRef type = LLVMGlobalGetValueType(LLVMGetNamedFunction(unit->module, STEP));
	LLVMValueRef function = LLVMAddFunction(unit->module, SELECT_SYMBOL, type);
	LLVMValueRef arguments[STEP_ARGS];
	LLVMBasicBlockRef blocks[3];
	LLVMBuilderRef b = unit->builder;

	LLVMSetLinkage(function, LLVMInternalLinkage);
	LLVMGetParams(function, arguments);
	for (size_t i = 0; i < 3; i++)
		blocks[i] = LLVMAppendBasicBlockInContext(unit->context, function, "");
	LLVMPositionBuilderAtEnd(b, blocks[0]);
	LLVMBuildCondBr(b, LLVMBuildIsNotNull(b, arguments[STEP_ARGS - 1], ""), blocks[1],
			blocks[2]);
	LLVMPositionBuilderAtEnd(b, blocks[1]);
	LLVMBuildCall2(b, LLVMGlobalGetValueType(increment), increment, arguments, INCREMENT_ARGS,
		       "");
	LLVMBuildBr(b, blocks[2]);
	LLVMPositionBuilderAtEnd(b, blocks[2]);
	LLVMBuildRetVoid(b);
	return function;
}

static void branch_select(struct unit *unit, LLVMValueRef step, LLVMValueRef function)
{
	LLVMValueRef arguments[STEP_ARGS], call;

	for (unsigned int i = 0; i < STEP_ARGS; i++)
		arguments[i] = LLVMGetArgOperand(step, i);
	LLVMPositionBuilderBefore(unit->builder, step);
	call = LLVMBuildCall2(unit->builder, LLVMGlobalGetValueType(function), function, arguments,
			      STEP_ARGS, "");
	inlining_ask(unit, call);
	LLVMInstructionEraseFromParent(step);
}

static void branch_selects(struct unit *unit)
{
	LLVMValueRef step = LLVMGetNamedFunction(unit->module, STEP), function;

	if (!step || !LLVMGetFirstUse(step))
		return;
	function = make_select(unit);
	for (LLVMUseRef use = LLVMGetFirstUse(step); use; use = LLVMGetFirstUse(step))
		branch_select(unit, LLVMGetUser(use), function);
	inlining_run(unit);
	if (!LLVMGetFirstUse(function))
		LLVMDeleteFunction(function);
}

/* ---------------------------------------------------------------- counters */

static uint64_t argument_of(LLVMValueRef call, unsigned int which)
{
	return LLVMConstIntGetZExtValue(LLVMGetArgOperand(call, which));
}

static void add_place(struct counters_function *f, LLVMValueRef increment)
{
	LLVMValueRef name = LLVMGetInitializer(LLVMGetArgOperand(increment, 0));

	f->name = LLVMGetAsString(name, &f->name_bytes);
	f->hash = argument_of(increment, 1);
	f->cnt = (uint32_t)argument_of(increment, 2);
	if (pp_grow(&f->places, f->place_cnt, &f->place_room) < 0)
		must_allocate(SIZE_MAX, 1);
	f->places[f->place_cnt++] = (struct counters_place){(uint32_t)argument_of(increment, 3),
							    LLVMGetInstructionParent(increment)};
}

/* Paths do not depend on profiled values, but LLVM asks for the number of sites. */
static void add_site(struct counters_function *f, LLVMValueRef call)
{
	uint64_t kind = argument_of(call, 3);

	if (kind < PATHPROF_VALUE_KINDS)
		f->site_cnt[kind]++;
}

static void take_from_block(struct counters_function *f, LLVMBasicBlockRef block)
{
	LLVMValueRef next;

	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
		const char *intrinsic = intrinsic_of(i);

		next = LLVMGetNextInstruction(i);
		if (!intrinsic)
			continue;
		if (strcmp(intrinsic, INCREMENT) == 0)
			add_place(f, i);
		else if (strcmp(intrinsic, VALUE) == 0)
			add_site(f, i);
		LLVMInstructionEraseFromParent(i);
	}
}

static void take_from_function(struct unit *unit, LLVMValueRef function)
{
	struct counters *counters = unit->counters;
	struct counters_function f = {.function = function};

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b))
		take_from_block(&f, b);
	if (!f.place_cnt)
		return;
	if (pp_grow(&counters->functions, counters->cnt, &counters->room) < 0)
		must_allocate(SIZE_MAX, 1);
	counters->functions[counters->cnt++] = f;
}

static int by_address(const void *x, const void *y)
{
	const struct counters_function *a = x, *b = y;

	return (a->function > b->function) - (a->function < b->function);
}

void counters_take(struct unit *unit)
{
	struct counters *counters = must_allocate(1, sizeof(*counters));

	unit->counters = counters;
	branch_selects(unit);
	for (LLVMValueRef f = LLVMGetFirstFunction(unit->module); f; f = LLVMGetNextFunction(f))
		take_from_function(unit, f);
	if (counters->cnt)
		qsort(counters->functions, counters->cnt, sizeof(counters->functions[0]),
		      by_address);
}

const struct counters_function *counters_of(const struct unit *unit, LLVMValueRef function)
{
	struct counters_function key = {.function = function};

	if (!unit->counters || !unit->counters->cnt)
		return NULL;
	return bsearch(&key, unit->counters->functions, unit->counters->cnt, sizeof(key),
		       by_address);
}

/* ---------------------------------------------------------------- the end */

/* Deletes the names of functions that nothing refers to any more. */
static void delete_names(LLVMModuleRef module)
{
	LLVMValueRef next;
	size_t bytes;

	for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = next) {
		next = LLVMGetNextGlobal(g);
		if (strncmp(LLVMGetValueName2(g, &bytes), NAMES, strlen(NAMES)) == 0 &&
		    !LLVMGetFirstUse(g))
			LLVMDeleteGlobal(g);
	}
}

void counters_miss(struct unit *unit, LLVMValueRef function)
{
	struct counters *counters = unit->counters;

	if (!counters_of(unit, function))
		return;
	if (pp_grow(&counters->missing, counters->missing_cnt, &counters->missing_room) < 0)
		must_allocate(SIZE_MAX, 1);
	counters->missing[counters->missing_cnt++] = unit_name_of(function);
}

void counters_release(struct unit *unit)
{
	struct counters *counters = unit->counters;

	if (!counters)
		return;
	delete_names(unit->module);
	for (uint32_t i = 0; i < counters->cnt; i++)
		free(counters->functions[i].places);
	for (uint32_t i = 0; i < counters->missing_cnt; i++)
		free(counters->missing[i]);
	free(counters->functions);
	free(counters->missing);
	free(counters);
	unit->counters = NULL;
}
