// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any code and any windows: the input is how long the code is, how it is mapped, the code, and then
 * windows of entries whose places are near one another.
 *
 * Beyond "no crash": a window that is not refused comes back with its taken branches as they were,
 * each branch begins at or behind where the one before led, none is beyond the bound; what was kept
 * answers as what was just read; a refusal writes nothing.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../one_segment.h"
#include "fuzz.h"
#include "pathprof/reconstruct.h"

#define OFFSET     0x1000
#define BASE       0x555555554000ull
#define TAKEN_MAX  64
#define WINDOW_MAX 16

struct input {
	const uint8_t *at;
	size_t left;
};

struct world {
	struct pathprof_code *code;
	uint64_t byte_cnt, piece;
};

static uint32_t take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static struct pathprof_code *open_bytes(const uint8_t *bytes, size_t cnt)
{
	static const struct one_segment place = {ET_DYN, OFFSET, 0x401000};
	struct pathprof_code *code;
	struct pathprof_error error;
	char path[64];
	int fd = memfd_create("code", MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(one_segment_write(fd, &place, bytes, cnt) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	REQUIRE(pathprof_code_open(&code, path, NULL, &error) == 0);
	close(fd);
	return code;
}

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	const struct world *w = context;
	uint64_t start = (address - BASE) / w->piece * w->piece;

	/* Some of what is mapped lies beyond the file. */
	if (address < BASE || address >= BASE + w->byte_cnt + 64)
		return -1;
	*ret_place = (struct pathprof_mapping_place){.code = w->code,
						     .start = BASE + start,
						     .end = BASE + start + w->piece,
						     .offset = OFFSET + start};
	return 0;
}

/* Mostly near: a few bytes behind where the last one led; else anywhere. */
static uint64_t draw_address(struct input *in, const struct world *w, uint64_t last)
{
	uint32_t word = take(in);

	if (word < 192)
		return last + word % 32;
	if (word == 255)
		return UINT64_MAX - take(in);
	return BASE + ((word & 63) << 8 | take(in)) % (w->byte_cnt + 80);
}

static uint32_t draw_window(struct input *in, const struct world *w, struct pathprof_taken *taken)
{
	uint32_t cnt = take(in) % (TAKEN_MAX + 1);
	uint64_t last = BASE;

	for (uint32_t i = 0; i < cnt; i++) {
		taken[i].from = draw_address(in, w, last);
		taken[i].to = last = draw_address(in, w, taken[i].from - 16);
	}
	return cnt;
}

static void check(const struct pathprof_taken *taken, uint32_t taken_cnt,
		  const struct pathprof_branch *branches, uint32_t cnt)
{
	uint32_t seen = 0;

	REQUIRE(cnt >= taken_cnt && cnt <= PATHPROF_BURST_MAX);
	for (uint32_t i = 0; i < cnt; i++) {
		const struct pathprof_branch *b = &branches[i];

		REQUIRE(b->kind >= PERF_BR_COND && b->kind <= PERF_BR_RET);
		REQUIRE(i == 0 || b->from >= branches[i - 1].next);
		if (b->taken) {
			REQUIRE(seen < taken_cnt && b->taken == 1 && b->target == b->next);
			REQUIRE(b->from == taken[seen].from && b->next == taken[seen].to);
			seen++;
		} else {
			REQUIRE(b->kind == PERF_BR_COND && i > 0);
			REQUIRE(b->next > b->from && b->next <= b->from + 15);
		}
	}
	REQUIRE(seen == taken_cnt && branches[cnt - 1].taken);
}

static int run(struct pathprof_reconstructor *r, const struct pathprof_taken *taken, uint32_t cnt,
	       struct pathprof_branch *branches, uint32_t *ret_cnt)
{
	uint32_t at = UINT32_MAX;
	int refusal;

	memset(branches, 0x55, PATHPROF_BURST_MAX * sizeof(branches[0]));
	*ret_cnt = 4711;
	refusal = pathprof_reconstruct(r, taken, cnt, branches, ret_cnt, &at);
	REQUIRE(refusal >= 0 && refusal < PATHPROF_REFUSED_CNT);
	if (!refusal) {
		check(taken, cnt, branches, *ret_cnt);
		return 0;
	}
	REQUIRE(*ret_cnt == 4711 && branches[0].from == 0x5555555555555555ull);
	REQUIRE(at < cnt || (!cnt && !at));
	return refusal;
}

static void run_all(struct world *w, struct input *in)
{
	static struct pathprof_branch warm[PATHPROF_BURST_MAX], cold[PATHPROF_BURST_MAX];
	struct pathprof_reconstructor *hot, *fresh;
	struct pathprof_taken taken[TAKEN_MAX];
	uint32_t warm_cnt, cold_cnt;

	REQUIRE(pathprof_reconstructor_new(&hot, locate, w) == 0);
	for (int i = 0; i < WINDOW_MAX && in->left; i++) {
		uint32_t cnt = draw_window(in, w, taken);

		REQUIRE(pathprof_reconstructor_new(&fresh, locate, w) == 0);
		REQUIRE(run(fresh, taken, cnt, cold, &cold_cnt) ==
			run(hot, taken, cnt, warm, &warm_cnt));
		REQUIRE(warm_cnt == cold_cnt && !memcmp(warm, cold, sizeof(warm)));
		pathprof_reconstructor_free(fresh);
	}
	pathprof_reconstructor_free(hot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct world w = {.byte_cnt = 1 + take(&in) * 8};

	w.piece = 1ull << take(&in) % 13;
	if (in.left < w.byte_cnt)
		return 0;
	w.code = open_bytes(in.at, w.byte_cnt);
	in.at += w.byte_cnt;
	in.left -= w.byte_cnt;
	run_all(&w, &in);
	pathprof_code_free(w.code);
	return 0;
}
