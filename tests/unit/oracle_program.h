/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A made-up program whose every instruction is known, because it was chosen and then encoded: what
 * it executes is told without reading a byte of code.
 *
 * Instructions of all kinds of transfer in all their encodings, with fillers of all lengths
 * between. It runs for ever: conditional branches and indirect targets are thrown.
 */
#ifndef ORACLE_PROGRAM_H
#define ORACLE_PROGRAM_H

#include <stdint.h>

#include "pathprof/abi.h"
#include "pathprof/code.h"
#include "pathprof/reconstruct.h"

#define ORACLE_PROGRAM_MAX  4096
#define ORACLE_PROGRAM_BASE 0x7f0000400000ull
/* The file offset of the code. */
#define ORACLE_FILE_OFFSET 0x1000

struct oracle_insn {
	uint32_t at, len, kind; /* kind: PERF_BR_*, 0: no transfer */
	uint32_t to;            /* instruction; of a direct branch */
	uint32_t form;
};

struct oracle_program {
	struct oracle_insn insns[ORACLE_PROGRAM_MAX];
	uint32_t cnt, byte_cnt;
	uint8_t bytes[ORACLE_PROGRAM_MAX * 15];
	uint64_t random;
	uint32_t pc; /* instruction that runs next */
	uint32_t callers[64];
	uint32_t depth;
};

uint32_t oracle_draw(uint64_t *random, uint32_t below);
/* cnt instructions, of 16 so many transfers. */
void oracle_program_make(struct oracle_program *p, uint32_t cnt, uint32_t transfers, uint64_t seed);
/* Runs on until the next branch was executed, taken or not. */
void oracle_program_step(struct oracle_program *p, struct pathprof_branch *ret_branch);
/* Any bytes as an ELF file with one segment at ORACLE_FILE_OFFSET. */
struct pathprof_code *oracle_file(const void *bytes, size_t byte_cnt);

#endif
