// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The blocks of a path: by hand on a few bytes of code, and at random over real code against a
 * naive interpreter, which reads whole sections, decodes with Zydis alone and throws a coin at
 * each conditional branch. It makes the descriptor on the way, so it never needs one.
 */
#include "pathprof/code.h"
#include "unit.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BLOCKS 40

struct way {
	uint64_t start;
	uint32_t length, outcomes;
	struct pathprof_block blocks[MAX_BLOCKS];
	unsigned int block_cnt;
};

static int record(void *context, const struct pathprof_block *block)
{
	struct way *way = context;

	CU_ASSERT_FATAL(way->block_cnt < MAX_BLOCKS);
	way->blocks[way->block_cnt++] = *block;
	return 0;
}

static bool same_blocks(const struct way *a, const struct way *b)
{
	if (a->block_cnt != b->block_cnt)
		return false;
	for (unsigned int i = 0; i < a->block_cnt; i++)
		if (a->blocks[i].start != b->blocks[i].start ||
		    a->blocks[i].end != b->blocks[i].end ||
		    a->blocks[i].kind != b->blocks[i].kind ||
		    a->blocks[i].taken != b->blocks[i].taken)
			return false;
	return true;
}

/* ---------------------------------------------------------------- by hand */

#define HAND_OFFSET 0x200
#define HAND_VADDR  0x400200

/* Two executable segments: `len` bytes, and `more` bytes behind them in memory but not on disk. */
static struct pathprof_code *open_hand(const void *bytes, size_t len, const void *more,
				       size_t more_len)
{
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};
	Elf64_Phdr segments[2] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_X,
		 .p_offset = HAND_OFFSET,
		 .p_vaddr = HAND_VADDR},
		{.p_type = PT_LOAD, .p_flags = PF_X, .p_offset = HAND_OFFSET + 0x1000},
	};
	struct pathprof_code *code = NULL;
	char path[256];
	FILE *f;

	segments[0].p_filesz = len;
	segments[1].p_filesz = more_len;
	segments[1].p_vaddr = HAND_VADDR + len;
	snprintf(path, sizeof(path), "%s/hand", unit_tmpdir());
	f = fopen(path, "we");
	if (!f || fwrite(&header, sizeof(header), 1, f) != 1 ||
	    fwrite(segments, sizeof(segments), 1, f) != 1 || fseek(f, HAND_OFFSET, SEEK_SET) ||
	    fwrite(bytes, 1, len, f) != len || fseek(f, HAND_OFFSET + 0x1000, SEEK_SET) ||
	    fwrite(more, 1, more_len, f) != more_len || fclose(f))
		abort();
	CU_ASSERT_EQUAL_FATAL(pathprof_code_open(&code, path, NULL, NULL), 0);
	return code;
}

static int walk(struct pathprof_code *code, uint64_t at, uint32_t length, uint32_t outcomes,
		struct way *way)
{
	way->block_cnt = 0;
	return pathprof_code_walk(code, HAND_OFFSET + at, length, outcomes, record, way, NULL);
}

static bool is_block(const struct way *way, unsigned int i, uint64_t start, uint64_t end,
		     uint32_t kind, int taken)
{
	const struct pathprof_block *b = &way->blocks[i];

	return i < way->block_cnt && b->start == HAND_OFFSET + start &&
	       b->end == HAND_OFFSET + end && b->kind == kind && b->taken == taken;
}

static const uint8_t loop_code[] = {
	0x74, 0x02,                   /*  0: jz 4 */
	0xeb, 0x01,                   /*  2: jmp 5 */
	0x90,                         /*  4: nop */
	0xe8, 0xf6, 0xff, 0xff, 0xff, /*  5: call 0 */
	0x75, 0xf4,                   /* 10: jnz 0 */
	0xc3,                         /* 12: ret */
	0xff, 0xe0,                   /* 13: jmp rax */
	0x74, 0x01,                   /* 15: jz 18 */
	0x06,                         /* 17: no instruction */
	0xe9, 0,    0,    0,    0x10, /* 18: jmp far outside */
};

static void test_hand(void)
{
	struct pathprof_code *code = open_hand(loop_code, sizeof(loop_code), "", 0);
	struct way way;

	CU_ASSERT_EQUAL(walk(code, 0, 3, 6, &way), 0);
	CU_ASSERT_EQUAL(way.block_cnt, 3);
	CU_ASSERT(is_block(&way, 0, 0, 2, PERF_BR_COND, 0));
	CU_ASSERT(is_block(&way, 1, 2, 4, PERF_BR_UNCOND, 1));
	CU_ASSERT(is_block(&way, 2, 5, 12, PERF_BR_COND, 1));
	/* Out of the loop: a backward branch ends the path also when it is not taken. */
	CU_ASSERT_EQUAL(walk(code, 0, 2, 1, &way), 0);
	CU_ASSERT_EQUAL(way.block_cnt, 2);
	CU_ASSERT(is_block(&way, 1, 4, 12, PERF_BR_COND, 0));
	CU_ASSERT_EQUAL(walk(code, 12, 0, 0, &way), 0);
	CU_ASSERT_EQUAL(way.block_cnt, 1);
	CU_ASSERT(is_block(&way, 0, 12, 13, PERF_BR_RET, 1));
	CU_ASSERT_EQUAL(walk(code, 13, 1, 1, &way), 0);
	CU_ASSERT(is_block(&way, 0, 13, 15, PERF_BR_IND, 1));
	pathprof_code_free(code);
}

static void test_hand_refused(void)
{
	static const struct {
		uint64_t at;
		uint32_t length, outcomes;
		int rc;
	} cases[] = {
		{0, 3, 4, -EBADMSG},    /* a jmp that is not taken */
		{0, 2, 2, -EBADMSG},    /* short of the branch at 10 */
		{0, 4, 6, -EBADMSG},    /* goes on after a backward branch */
		{0, 0, 0, -EBADMSG},    /* meets a branch */
		{12, 1, 1, -EBADMSG},   /* returns first */
		{13, 0, 0, -EBADMSG},   /* an indirect jump is a branch */
		{13, 1, 0, -EBADMSG},   /* ... and taken */
		{13, 2, 3, -EBADMSG},   /* ... and the end */
		{15, 1, 0, -EBADMSG},   /* no instruction */
		{15, 2, 3, -EBADMSG},   /* leaves the file */
		{17, 0, 0, -EBADMSG},   /* starts with no instruction */
		{1000, 0, 0, -EBADMSG}, /* starts outside */
		{0, 33, 0, -EINVAL},    /* longer than any */
		{0, 2, 4, -EINVAL},     /* an outcome without a branch */
		{0, 0, 1, -EINVAL},
	};
	struct pathprof_code *code = open_hand(loop_code, sizeof(loop_code), "", 0);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct way way;

		CU_ASSERT_EQUAL(walk(code, cases[i].at, cases[i].length, cases[i].outcomes, &way),
				cases[i].rc);
		CU_ASSERT_EQUAL(way.block_cnt, 0);
	}
	pathprof_code_free(code);
}

/* 40 forward branches in a row: the 32nd ends the path, and none goes without it. */
static void test_cap(void)
{
	struct pathprof_code *code;
	uint8_t bytes[81];
	struct way way;

	for (size_t i = 0; i < 80; i++)
		bytes[i] = i % 2 ? 0 : 0x74;
	bytes[80] = 0xc3;
	code = open_hand(bytes, sizeof(bytes), "", 0);
	CU_ASSERT_EQUAL(walk(code, 0, 32, 0xdeadbeef, &way), 0);
	CU_ASSERT_EQUAL(way.block_cnt, 32);
	for (unsigned int i = 0; i < 32; i++)
		CU_ASSERT(is_block(&way, i, 2ull * i, 2ull * i + 2, PERF_BR_COND,
				   0xdeadbeef >> i & 1));
	CU_ASSERT_EQUAL(walk(code, 0, 31, 0, &way), -EBADMSG);
	CU_ASSERT_EQUAL(walk(code, 16, 32, 0, &way), 0);
	CU_ASSERT_EQUAL(way.block_cnt, 32);
	CU_ASSERT_EQUAL(walk(code, 18, 31, 0, &way), 0);
	CU_ASSERT_EQUAL(way.block_cnt, 32);
	CU_ASSERT(is_block(&way, 31, 80, 81, PERF_BR_RET, 1));
	pathprof_code_free(code);
}

/* A block that would lie in two places of the file has no [start, end). */
static void test_two_segments(void)
{
	struct pathprof_code *code = open_hand("\x90\x90\xeb\x00", 4, "\x90\xc3", 2);
	struct way way;

	/* By a jump, one block each. */
	CU_ASSERT_EQUAL(walk(code, 0, 1, 1, &way), 0);
	CU_ASSERT_EQUAL(way.block_cnt, 2);
	CU_ASSERT(is_block(&way, 1, 0x1000, 0x1002, PERF_BR_RET, 1));
	pathprof_code_free(code);
	code = open_hand("\x90\x90", 2, "\x90\xc3", 2);
	CU_ASSERT_EQUAL(walk(code, 0, 0, 0, &way), -EBADMSG);
	pathprof_code_free(code);
}

static int stop_at_second(void *context, const struct pathprof_block *block)
{
	return ++*(int *)context == 2 ? 77 : 0;
}

static void test_stop(void)
{
	struct pathprof_code *code = open_hand(loop_code, sizeof(loop_code), "", 0);
	int calls = 0;

	CU_ASSERT_EQUAL(pathprof_code_walk(code, HAND_OFFSET, 3, 6, stop_at_second, &calls, NULL),
			77);
	CU_ASSERT_EQUAL(calls, 2);
	pathprof_code_free(code);
}

/* ---------------------------------------------------------------- the naive interpreter */

/* The executable segment of a file, all of it. */
struct text {
	uint8_t *bytes;
	uint64_t offset, size;
};

static void text_read(struct text *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	GElf_Phdr ph;
	Elf *elf;

	*t = (struct text){0};
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	for (int i = 0; gelf_getphdr(elf, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		*t = (struct text){malloc(ph.p_filesz), ph.p_offset, ph.p_filesz};
		if (!t->bytes || pread(fd, t->bytes, t->size, (off_t)t->offset) != (ssize_t)t->size)
			abort();
		break;
	}
	elf_end(elf);
	close(fd);
	if (!t->size)
		abort();
}

static uint64_t random_state = 0x9E3779B97F4A7C15;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* What can be planted into the interpreter. */
enum fault {
	FAULT_NONE,
	FAULT_BACKWARD_GOES_ON, /* a backward branch that is not taken does not end the path */
	FAULT_CALL_ENDS_BLOCK,
};

static uint32_t kind_of(const ZydisDecodedInstruction *in)
{
	int direct = in->raw.imm[0].is_relative;

	if (in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return PERF_BR_UNKNOWN;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_JKZD: /* of another processor: see test_decode.c */
	case ZYDIS_MNEMONIC_JKNZD:
		return PERF_BR_UNKNOWN;
	case ZYDIS_MNEMONIC_CALL:
		return PERF_BR_CALL;
	case ZYDIS_MNEMONIC_JMP:
		return direct ? PERF_BR_UNCOND : PERF_BR_IND;
	case ZYDIS_MNEMONIC_RET:
		return PERF_BR_RET;
	default:
		return in->meta.category == ZYDIS_CATEGORY_COND_BR ? PERF_BR_COND : 0;
	}
}

static bool is_end_of_world(const ZydisDecodedInstruction *in)
{
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		return in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR &&
		       in->mnemonic != ZYDIS_MNEMONIC_CALL;
	}
}

static void end_block(struct way *way, uint64_t *start, uint64_t end, uint32_t kind, int taken)
{
	way->blocks[way->block_cnt++] = (struct pathprof_block){*start, end, kind, taken};
	*start = end;
}

/* False where the code has no path to its end. */
static bool interpret(const struct text *t, uint64_t start, enum fault fault, struct way *way)
{
	uint64_t pc = start, block = start;
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	*way = (struct way){.start = start};
	while (pc - t->offset < t->size && way->block_cnt < MAX_BLOCKS - 1) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL,
							      t->bytes + (pc - t->offset),
							      t->size - (pc - t->offset), &in)) ||
		    is_end_of_world(&in))
			return false;
		uint64_t end = pc + in.length;
		uint64_t target = end + (uint64_t)in.raw.imm[0].value.s;
		uint32_t kind = kind_of(&in);
		int taken = kind == PERF_BR_COND ? (int)(next_random() >> 40 & 1) : 1;

		if (kind == PERF_BR_CALL && fault == FAULT_CALL_ENDS_BLOCK)
			end_block(way, &block, end, kind, taken);
		if (kind == PERF_BR_UNKNOWN || kind == PERF_BR_CALL) {
			pc = end;
			continue;
		}
		end_block(way, &block, end, kind, taken);
		if (kind == PERF_BR_RET)
			return true;
		way->outcomes |= (uint32_t)taken << way->length++;
		if (kind == PERF_BR_IND || way->length == 32)
			return true;
		if (target <= pc && (taken || fault != FAULT_BACKWARD_GOES_ON))
			return true;
		pc = block = taken ? target : end;
	}
	return false;
}

/* ---------------------------------------------------------------- one against the other */

struct tally {
	unsigned long paths, branches, different;
	unsigned long not_refused; /* descriptors that no code can have, walked nonetheless */
	unsigned long not_changed; /* another outcome, the same blocks */
};

static int walk_again(struct pathprof_code *code, const struct way *way, uint32_t length,
		      uint32_t outcomes, struct way *ret_way)
{
	ret_way->block_cnt = 0;
	return pathprof_code_walk(code, way->start, length, outcomes, record, ret_way, NULL);
}

/* A branch more or less is refused; another outcome gives another way or none. */
static void corrupt(struct pathprof_code *code, const struct way *way, struct tally *tally)
{
	uint32_t bit = way->length ? 1u << next_random() % way->length : 0;
	struct way other;

	if (!way->length)
		return;
	tally->not_refused +=
		walk_again(code, way, way->length - 1,
			   way->outcomes & (uint32_t)((1ull << (way->length - 1)) - 1),
			   &other) != -EBADMSG;
	if (way->length < 32)
		tally->not_refused +=
			walk_again(code, way, way->length + 1, way->outcomes, &other) != -EBADMSG;
	int rc = walk_again(code, way, way->length, way->outcomes ^ bit, &other);
	tally->not_changed += rc == 0 ? same_blocks(way, &other) : rc != -EBADMSG;
}

/*
 * Any byte may begin an instruction, and agreement is all that is wanted; but after some
 * instructions decoding has fallen in step with the real ones, whose paths are longer.
 */
static uint64_t random_start(const struct text *t, bool in_step)
{
	uint64_t at = next_random() % t->size;
	ZydisDecodedInstruction in;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int i = 0; in_step && i < 20; i++)
		if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, t->bytes + at,
							       t->size - at, &in)) &&
		    in.length < t->size - at)
			at += in.length;
	return t->offset + at;
}

static void compare(const char *path, unsigned long wanted, enum fault fault, struct tally *tally)
{
	struct pathprof_code *code = NULL;
	struct way way, got;
	struct text text;

	text_read(&text, path);
	CU_ASSERT_EQUAL_FATAL(pathprof_code_open(&code, path, NULL, NULL), 0);
	for (unsigned long tries = 0; tries < 50 * wanted && tally->paths < wanted; tries++) {
		uint64_t start = random_start(&text, tries & 7);

		if (!interpret(&text, start, fault, &way))
			continue;
		tally->paths++;
		tally->branches += way.length;
		if (walk_again(code, &way, way.length, way.outcomes, &got) ||
		    !same_blocks(&way, &got))
			tally->different++;
		else if (fault == FAULT_NONE)
			corrupt(code, &way, tally);
	}
	pathprof_code_free(code);
	free(text.bytes);
}

static void test_random_paths(void)
{
	static const char *const files[] = {"/proc/self/exe", "/lib/x86_64-linux-gnu/libbz2.so.1.0",
					    "/lib/x86_64-linux-gnu/libc.so.6"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct tally tally = {0};

		compare(files[i], 20000, FAULT_NONE, &tally);
		printf("  %s: %lu paths, %lu branches\n", files[i], tally.paths, tally.branches);
		CU_ASSERT_EQUAL(tally.paths, 20000);
		CU_ASSERT(tally.branches > 20000);
		CU_ASSERT_EQUAL(tally.different, 0);
		CU_ASSERT_EQUAL(tally.not_refused, 0);
		CU_ASSERT_EQUAL(tally.not_changed, 0);
	}
}

static void test_planted(void)
{
	static const enum fault faults[] = {FAULT_BACKWARD_GOES_ON, FAULT_CALL_ENDS_BLOCK};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct tally tally = {0};

		compare("/lib/x86_64-linux-gnu/libbz2.so.1.0", 2000, faults[i], &tally);
		CU_ASSERT(tally.different > 20);
	}
}

static const struct unit_test tests[] = {
	{"a loop by hand: blocks, kinds, outcomes", test_hand},
	{"a descriptor the code does not have is refused, no block handed out", test_hand_refused},
	{"the 32nd branch ends a path", test_cap},
	{"no block spans two segments", test_two_segments},
	{"a caller may stop", test_stop},
	{"random paths as a naive interpreter finds them", test_random_paths},
	{"a broken interpreter is caught", test_planted},
};
UNIT_SUITE(walk, tests)
