/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inlining of single calls by LLVM's pass always-inline. Functions that the source has inlined
 * everywhere are left to the passes behind, since their paths are counted by themselves.
 */
#ifndef INLINING_H
#define INLINING_H

#include "unit.h"

void inlining_ask(const struct unit *unit, LLVMValueRef call);
/* It was asked for, and not done: some functions cannot be inlined. */
bool inlining_is_asked(const struct unit *unit, LLVMValueRef call);
void inlining_give_up(const struct unit *unit, LLVMValueRef call);
/* All that was asked for. */
void inlining_run(const struct unit *unit);

#endif
