/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unit as it is just after clang's own instrumentation (-fprofile-generate) inserted its
 * counters. The C interface of LLVM runs whole pipelines only, so clang is asked to print the
 * module at that point (pathprof-cc gives it the options), and goes on to the end of its pipeline.
 * The plugin discards its result and uses the printed module instead.
 */
#ifndef STAGE_H
#define STAGE_H

#include <llvm-c/TargetMachine.h>

/* directory: holds one printed module, which is removed. Exits on failure. */
void stage_take(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *directory);

#endif
