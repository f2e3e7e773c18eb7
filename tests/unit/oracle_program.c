// SPDX-License-Identifier: GPL-2.0-or-later
#include "oracle_program.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../one_segment.h"
#include "unit.h"

/* Instructions that may stand between transfers; the last byte is the instruction's length. */
static const uint8_t fillers[][16] = {
	{0x90, [15] = 1},                                           /* nop */
	{0x50, [15] = 1},                                           /* push rax */
	{0x31, 0xc0, [15] = 2},                                     /* xor eax, eax */
	{0x0f, 0x05, [15] = 2},                                     /* syscall */
	{0xf3, 0xa4, [15] = 2},                                     /* rep movsb */
	{0xcc, [15] = 1},                                           /* int3 */
	{0x48, 0x89, 0xe5, [15] = 3},                               /* mov rbp, rsp */
	{0xf3, 0x0f, 0x1e, 0xfa, [15] = 4},                         /* endbr64 */
	{0xb8, 0xe8, 0xeb, 0x74, 0xc3, [15] = 5},                   /* mov eax, ... */
	{0xc5, 0xf9, 0xef, 0xc0, [15] = 4},                         /* vpxor */
	{0x62, 0xf1, 0x7d, 0x48, 0xef, 0xc0, [15] = 6},             /* vpxord zmm */
	{0xff, 0x04, 0x25, 0xff, 0xe0, 0xc3, 0x00, [15] = 7},       /* inc [...] */
	{0xf0, 0x48, 0x0f, 0xb1, 0x4c, 0x24, 0x70, [15] = 7},       /* lock cmpxchg */
	{0x0f, 0x1f, 0x84, 0x00, 0xe9, 0x74, 0xeb, 0x0f, [15] = 8}, /* nopl */
	{0x48, 0xb8, 1, 0xc3, 3, 0xff, 5, 0xe8, 7, 8, [15] = 10},   /* movabs */
	{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0xeb, 0xe9, 0xc3, 0x74, 0x75, [15] = 10},
	{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 15},
};
#define FILLER_CNT (sizeof(fillers) / sizeof(fillers[0]))

/* rel_bytes: of the displacement, which stands at the end; 0: no direct branch. */
static const struct form {
	uint32_t kind, len, rel_bytes;
	uint8_t bytes[8];
} forms[] = {
	{PERF_BR_COND, 2, 1, {0x74}},
	{PERF_BR_COND, 2, 1, {0x7f}},
	{PERF_BR_COND, 3, 1, {0x2e, 0x75}},
	{PERF_BR_COND, 2, 1, {0xe3}},
	{PERF_BR_COND, 2, 1, {0xe2}},
	{PERF_BR_COND, 6, 4, {0x0f, 0x84}},
	{PERF_BR_COND, 7, 4, {0x3e, 0x0f, 0x8f}},
	{PERF_BR_COND, 6, 4, {0x0f, 0x82}},
	{PERF_BR_UNCOND, 2, 1, {0xeb}},
	{PERF_BR_UNCOND, 5, 4, {0xe9}},
	{PERF_BR_UNCOND, 6, 4, {0xf2, 0xe9}},
	{PERF_BR_CALL, 5, 4, {0xe8}},
	{PERF_BR_CALL, 6, 4, {0xf2, 0xe8}},
	{PERF_BR_IND, 2, 0, {0xff, 0xe0}},
	{PERF_BR_IND, 3, 0, {0x3e, 0xff, 0xe0}},
	{PERF_BR_IND, 3, 0, {0x41, 0xff, 0xe4}},
	{PERF_BR_IND, 7, 0, {0xff, 0x24, 0xc5, 0xe8, 0x75, 0xc3, 0x00}},
	{PERF_BR_IND_CALL, 2, 0, {0xff, 0xd0}},
	{PERF_BR_IND_CALL, 6, 0, {0xff, 0x15, 0x74, 0xc3, 0xeb, 0x00}},
	{PERF_BR_RET, 1, 0, {0xc3}},
	{PERF_BR_RET, 2, 0, {0xf3, 0xc3}},
	{PERF_BR_RET, 3, 0, {0xc2, 0x08, 0x00}},
};
#define FORM_CNT (sizeof(forms) / sizeof(forms[0]))

uint32_t oracle_draw(uint64_t *random, uint32_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint32_t)(((*random >> 32) * below) >> 32);
}

static void put_filler(struct oracle_program *p)
{
	const uint8_t *filler = fillers[oracle_draw(&p->random, FILLER_CNT)];

	p->insns[p->cnt++] = (struct oracle_insn){.at = p->byte_cnt, .len = filler[15]};
	memcpy(p->bytes + p->byte_cnt, filler, filler[15]);
	p->byte_cnt += filler[15];
}

static void put_transfer(struct oracle_program *p, uint32_t form)
{
	const struct form *f = &forms[form];

	p->insns[p->cnt++] = (struct oracle_insn){
		.at = p->byte_cnt, .len = f->len, .kind = f->kind, .form = form};
	memcpy(p->bytes + p->byte_cnt, f->bytes, f->len);
	p->byte_cnt += f->len;
}

/* A short displacement reaches eight instructions of at most 15 bytes. */
static uint32_t draw_target(struct oracle_program *p, uint32_t i, uint32_t rel_bytes)
{
	uint32_t low = i > 8 ? i - 8 : 0, high = i + 8 < p->cnt ? i + 8 : p->cnt;

	if (rel_bytes == 4)
		return oracle_draw(&p->random, p->cnt);
	return low + oracle_draw(&p->random, high - low);
}

static void set_target(struct oracle_program *p, uint32_t i)
{
	struct oracle_insn *insn = &p->insns[i];
	uint32_t rel_bytes = forms[insn->form].rel_bytes, end = insn->at + insn->len;
	int32_t rel;

	if (!insn->kind || !rel_bytes)
		return;
	if (i + 1 < p->cnt)
		insn->to = draw_target(p, i, rel_bytes);
	rel = (int32_t)(p->insns[insn->to].at - end);
	memcpy(p->bytes + end - rel_bytes, &rel, rel_bytes);
}

void oracle_program_make(struct oracle_program *p, uint32_t cnt, uint32_t transfers, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->random = seed * 0x9e3779b97f4a7c15ull + 1;
	while (p->cnt + 1 < cnt) {
		if (oracle_draw(&p->random, 16) < transfers)
			put_transfer(p, oracle_draw(&p->random, FORM_CNT));
		else
			put_filler(p);
	}
	/* Nothing runs off its end: the last one leads to the first. */
	for (uint32_t form = 0; p->cnt < cnt; form++)
		if (forms[form].kind == PERF_BR_UNCOND && forms[form].rel_bytes == 4)
			put_transfer(p, form);
	for (uint32_t i = 0; i < cnt; i++)
		set_target(p, i);
}

/* The target of a taken transfer; a return without a caller goes to a random instruction. */
static uint32_t follow(struct oracle_program *p, const struct oracle_insn *insn)
{
	uint32_t to = insn->to;

	if (insn->kind == PERF_BR_RET && p->depth)
		return p->callers[--p->depth];
	if (!forms[insn->form].rel_bytes)
		to = oracle_draw(&p->random, p->cnt);
	if ((insn->kind == PERF_BR_CALL || insn->kind == PERF_BR_IND_CALL) && p->depth < 64)
		p->callers[p->depth++] = p->pc + 1;
	return to;
}

static uint64_t address(const struct oracle_program *p, uint32_t insn)
{
	return ORACLE_PROGRAM_BASE + p->insns[insn].at;
}

void oracle_program_step(struct oracle_program *p, struct pathprof_branch *ret_branch)
{
	const struct oracle_insn *insn;
	struct pathprof_branch b = {.taken = 1};
	uint32_t next;

	while (!p->insns[p->pc].kind)
		p->pc++;
	insn = &p->insns[p->pc];
	if (insn->kind == PERF_BR_COND)
		b.taken = oracle_draw(&p->random, 2);
	next = b.taken ? follow(p, insn) : p->pc + 1;
	b.from = address(p, p->pc);
	b.kind = insn->kind;
	b.next = address(p, next);
	b.target = forms[insn->form].rel_bytes ? address(p, insn->to) : b.next;
	p->pc = next;
	*ret_branch = b;
}

struct pathprof_code *oracle_file(const void *bytes, size_t byte_cnt)
{
	static const struct one_segment place = {ET_DYN, ORACLE_FILE_OFFSET, 0x401000};
	struct pathprof_code *code = NULL;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/program", unit_tmpdir());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || one_segment_write(fd, &place, bytes, byte_cnt) || close(fd))
		abort();
	CU_ASSERT_EQUAL_FATAL(pathprof_code_open(&code, path, NULL, NULL), 0);
	return code;
}
