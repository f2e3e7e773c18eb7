// SPDX-License-Identifier: GPL-2.0-or-later
#include "inlining.h"

#include <stdlib.h>

#define AT LLVMAttributeFunctionIndex

static LLVMAttributeRef attribute(const struct unit *unit)
{
	return LLVMCreateEnumAttribute(unit->context, unit->always_inline, 0);
}

void inlining_ask(const struct unit *unit, LLVMValueRef call)
{
	LLVMAddCallSiteAttribute(call, AT, attribute(unit));
}

bool inlining_is_asked(const struct unit *unit, LLVMValueRef call)
{
	return LLVMGetCallSiteEnumAttribute(call, AT, unit->always_inline) != NULL;
}

void inlining_give_up(const struct unit *unit, LLVMValueRef call)
{
	LLVMRemoveCallSiteEnumAttribute(call, AT, unit->always_inline);
}

static uint32_t count_functions(LLVMModuleRef module)
{
	uint32_t cnt = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		cnt++;
	return cnt;
}

void inlining_run(const struct unit *unit)
{
	uint32_t cnt = 0;
	LLVMValueRef *held = must_allocate(count_functions(unit->module), sizeof(LLVMValueRef));

	for (LLVMValueRef f = LLVMGetFirstFunction(unit->module); f; f = LLVMGetNextFunction(f)) {
		if (!unit_has_attribute(f, unit->always_inline))
			continue;
		LLVMRemoveEnumAttributeAtIndex(f, AT, unit->always_inline);
		held[cnt++] = f;
	}
	unit_run_passes(unit->module, unit->machine, "always-inline");
	while (cnt-- > 0)
		LLVMAddAttributeAtIndex(held[cnt], AT, attribute(unit));
	free(held);
}
