// SPDX-License-Identifier: GPL-2.0-or-later
#include "alias.h"

#include <string.h>

#define KIND "tbaa"

/* The first tag of an access in a function; NULL: it has none. */
static LLVMValueRef find_tag(LLVMValueRef function, unsigned int kind)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b;
	     b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
		     i = LLVMGetNextInstruction(i)) {
			LLVMValueRef tag = LLVMHasMetadata(i) ? LLVMGetMetadata(i, kind) : NULL;

			if (tag)
				return tag;
		}
	return NULL;
}

static LLVMValueRef operand_of(LLVMValueRef node, unsigned int index)
{
	LLVMValueRef operands[8];
	unsigned int cnt = LLVMGetMDNodeNumOperands(node);

	if (index >= cnt || cnt > sizeof(operands) / sizeof(operands[0]))
		return NULL;
	LLVMGetMDNodeOperands(node, operands);
	return operands[index];
}

/* The root of a tag (base type, access type, offset): a type's second operand is its parent. */
static LLVMValueRef root_of(LLVMValueRef tag)
{
	LLVMValueRef type = operand_of(tag, 1);

	while (type && LLVMGetMDNodeNumOperands(type) > 1)
		type = operand_of(type, 1);
	return type;
}

static LLVMMetadataRef make_node(struct unit *u, LLVMMetadataRef a, LLVMMetadataRef b)
{
	LLVMMetadataRef operands[] = {a, b, LLVMValueAsMetadata(LLVMConstInt(u->i64, 0, false))};

	return LLVMMDNodeInContext2(u->context, operands, 3);
}

/* A type beside all others of the language: accesses of the two kinds never alias. */
static LLVMValueRef make_tag(struct unit *u, LLVMValueRef root, const char *name)
{
	LLVMMetadataRef type = make_node(u, LLVMMDStringInContext2(u->context, name, strlen(name)),
					 LLVMValueAsMetadata(root));

	return LLVMMetadataAsValue(u->context, make_node(u, type, type));
}

void alias_init(struct unit *unit)
{
	LLVMValueRef tag = NULL, root;

	unit->alias_kind = LLVMGetMDKindIDInContext(unit->context, KIND, strlen(KIND));
	for (LLVMValueRef f = LLVMGetFirstFunction(unit->module); f && !tag;
	     f = LLVMGetNextFunction(f))
		tag = find_tag(f, unit->alias_kind);
	root = tag ? root_of(tag) : NULL;
	if (!root)
		return;
	unit->alias_tags[ALIAS_COUNTER] = make_tag(unit, root, "pathprof counter");
	unit->alias_tags[ALIAS_PLACE] = make_tag(unit, root, "pathprof place");
}

void alias_set_apart(const struct unit *unit, LLVMValueRef access, enum alias_type type)
{
	if (unit->alias_tags[type])
		LLVMSetMetadata(access, unit->alias_kind, unit->alias_tags[type]);
}
