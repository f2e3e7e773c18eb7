// SPDX-License-Identifier: GPL-2.0-or-later
/* Records but for samples: see perf_data.h. */
#include "perf_data.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- records */

void pdw_read_pid(const char *word, uint32_t *ret_pid, uint32_t *ret_tid)
{
	const char *slash = word ? strchr(word, '/') : NULL;

	if (!word)
		pdw_fail("no process");
	*ret_pid = (uint32_t)strtol(word, NULL, 0);
	*ret_tid = slash ? (uint32_t)strtol(slash + 1, NULL, 0) : *ret_pid;
}

void pdw_put_mmap(char **words)
{
	bool two = strcmp(words[0], "mmap2") == 0;
	bool muddled = two && strcmp(words[7], "muddled") == 0;
	bool inode = muddled || (two && strcmp(words[7], "inode") == 0);
	uint32_t pid, tid, prot = two ? (uint32_t)pdw_number(words[6]) : 0;
	uint16_t misc = 2;

	pdw_read_pid(words[1], &pid, &tid);
	if (!two)
		misc = words[6][0] == 'k' ? 1 : words[6][0] == 'x' ? 2 : 0x2002;
	else if (!inode || muddled)
		misc = 0x4002;
	pdw_begin(two ? 10 : 1, misc);
	pdw_put_u32(pid);
	pdw_put_u32(tid);
	for (int i = 3; i < 6; i++)
		pdw_put_u64(pdw_number(words[i]));
	if (inode) {
		pdw_put_u32(8);
		pdw_put_u32(1);
		pdw_put_u64(4242);
		pdw_put_u64(7);
	} else if (two) {
		pdw_put_u32((uint32_t)strlen(words[7]) / 2);
		pdw_put_hex(words[7], 20);
	}
	if (two) {
		pdw_put_u32(prot);
		pdw_put_u32(2);
	}
	pdw_put_text(words[two ? 8 : 7]);
	pdw_end_with_trailer(pid, tid, pdw_number(words[2]));
}

void pdw_put_comm(char **words)
{
	uint32_t pid, tid;

	pdw_read_pid(words[1], &pid, &tid);
	pdw_begin(3, words[0][0] == 'e' ? 0x2000 : 0);
	pdw_put_u32(pid);
	pdw_put_u32(tid);
	pdw_put_text(words[3]);
	pdw_end_with_trailer(pid, tid, pdw_number(words[2]));
}

void pdw_put_fork(char **words)
{
	bool is_exit = words[0][0] == 'e';
	uint32_t pid, tid, parent;

	pdw_read_pid(words[1], &pid, &tid);
	parent = is_exit ? 1 : (uint32_t)pdw_number(words[3]);
	pdw_begin(is_exit ? 4 : 7, words[0][0] == 's' ? 0x2000 : 0);
	pdw_put_u32(pid);
	pdw_put_u32(parent);
	pdw_put_u32(tid);
	pdw_put_u32(parent);
	pdw_put_u64(pdw_number(words[2]));
	pdw_end_with_trailer(pid, tid, pdw_number(words[2]));
}

void pdw_put_lost(char **words)
{
	bool samples = strcmp(words[0], "lost-samples") == 0;

	pdw_begin(samples ? 13 : 2, words[3] ? 0x8000 : 0);
	if (!samples)
		pdw_put_u64(pdw_events[0].ids[0]);
	pdw_put_u64(pdw_number(words[2]));
	pdw_end_with_trailer(0, 0, pdw_number(words[1]));
}

void pdw_put_other(char **words)
{
	pdw_begin((uint32_t)pdw_number(words[1]), 0);
	pdw_put_zeros(pdw_number(words[2]));
	if (words[3])
		pdw_end_with_trailer(0, 0, pdw_number(words[3]));
	else
		pdw_end();
}

/* A record whose size does not count what follows it. */
void pdw_put_payload(char **words)
{
	bool aux = strcmp(words[0], "aux") == 0;
	uint64_t len = pdw_number(words[1]);

	pdw_begin(aux ? 71 : 66, 0);
	pdw_put_u64(len);
	if (aux)
		pdw_put_zeros(32);
	pdw_end();
	for (uint64_t i = 0; i < len; i++)
		fputc((int)(i & 0xff), pdw_out);
}
