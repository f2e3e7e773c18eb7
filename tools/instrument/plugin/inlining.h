/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inlining of single calls by LLVM's pass always-inline. Functions that the source marks
 * always_inline are left to later passes, since their paths are counted separately.
 */
#ifndef INLINING_H
#define INLINING_H

#include "unit.h"

void inlining_ask(const struct unit *unit, LLVMValueRef call);
/* Inlining was asked for but not done: some functions cannot be inlined. */
bool inlining_is_asked(const struct unit *unit, LLVMValueRef call);
void inlining_give_up(const struct unit *unit, LLVMValueRef call);
/* Inlines all calls that were asked for. */
void inlining_run(const struct unit *unit);

#endif
