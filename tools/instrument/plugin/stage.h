/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unit as it is where clang's own instrumentation for profiles (-fprofile-generate) has just
 * put its counters in. The C interface of LLVM runs whole pipelines only, so clang is asked to
 * print the module there (pathprof-cc gives it the options), and goes on to the end of its
 * pipeline. What it made by then is dropped, and the printed module takes its place.
 */
#ifndef STAGE_H
#define STAGE_H

#include <llvm-c/TargetMachine.h>

/* directory: of printed modules, with one in it, which is removed. Exits where that fails. */
void stage_take(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *directory);

#endif
