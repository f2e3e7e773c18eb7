// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples, one or many: see perf_data.h. */
#include "perf_data.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- samples */

struct sample {
	uint32_t event, pid, tid, cpu;
	uint64_t time, ip, period, hw, chain, raw;
	uint16_t misc;
	uint32_t branch_cnt;
	uint64_t branches[1100][3];
};

static void put_value(const struct pdw_event *e, uint64_t value, uint64_t id)
{
	pdw_put_u64(value);
	if (e->read_format & 4)
		pdw_put_u64(id);
	if (e->read_format & 16)
		pdw_put_u64(0);
}

/* Counters of one event, or of a group; they grow, or perf drops the sample. */
static void put_counts_read(const struct pdw_event *e, const struct sample *s, uint64_t id)
{
	uint64_t format = e->read_format;

	if (format & 8)
		pdw_put_u64(e->group_cnt);
	else
		pdw_put_u64(s->time);
	if (format & 1)
		pdw_put_u64(1);
	if (format & 2)
		pdw_put_u64(1);
	for (uint32_t i = 0; format & 8 && i < e->group_cnt; i++)
		put_value(e, s->time + i, i ? e[i].ids[s->cpu % e[i].id_cnt] : id);
	if (format & 8)
		return;
	if (format & 4)
		pdw_put_u64(id);
	if (format & 16)
		pdw_put_u64(0);
}

static void put_branches(const struct pdw_event *e, const struct sample *s)
{
	pdw_put_u64(s->branch_cnt);
	if (e->branch_type & 0x20000)
		pdw_put_u64(s->hw);
	for (uint32_t i = 0; i < s->branch_cnt; i++)
		pdw_put(s->branches[i], 24);
	if (e->branch_type & 0x80000)
		for (uint32_t i = 0; i < s->branch_cnt; i++)
			pdw_put_u64(0x0101);
}

static void put_sample(const struct sample *s)
{
	const struct pdw_event *e = &pdw_events[s->event];
	uint64_t type = e->sample_type, id = e->id_cnt ? e->ids[s->cpu % e->id_cnt] : 0;

	pdw_begin(9, s->misc);
	if (type & 0x10000)
		pdw_put_u64(id);
	if (type & 0x1)
		pdw_put_u64(s->ip);
	if (type & 0x2) {
		pdw_put_u32(s->pid);
		pdw_put_u32(s->tid);
	}
	if (type & 0x4)
		pdw_put_u64(s->time);
	if (type & 0x8)
		pdw_put_u64(0xadd4);
	if (type & 0x40)
		pdw_put_u64(id);
	if (type & 0x200)
		pdw_put_u64(id);
	if (type & 0x80)
		pdw_put_u64(s->cpu);
	if (type & 0x100)
		pdw_put_u64(s->period);
	if (type & 0x10)
		put_counts_read(e, s, id);
	if (type & 0x20) {
		pdw_put_u64(s->chain);
		for (uint64_t i = 0; i < s->chain; i++)
			pdw_put_u64(s->ip + i);
	}
	if (type & 0x400) {
		pdw_put_u32((uint32_t)s->raw);
		pdw_put_zeros(s->raw);
	}
	if (type & 0x800)
		put_branches(e, s);
	pdw_end();
}

/* FROM>TO[:FLAGS[:CYCLES[:KIND[:SPEC[:NEW[:PRIV]]]]]] */
static void read_branch(uint64_t *branch, const char *word)
{
	static const int shifts[] = {4, 20, 24, 26, 30};
	static const char letters[] = "MPXA";
	const char *at = strchr(word, ':');
	uint64_t bits = 0;

	branch[0] = strtoull(word, NULL, 0);
	branch[1] = strtoull(strchr(word, '>') + 1, NULL, 0);
	if (at)
		at++;
	for (; at && *at && *at != ':'; at++) {
		const char *letter = strchr(letters, *at);

		bits |= letter ? 1ull << (letter - letters) : *at == 'N' ? 1ull << 33 : 0;
	}
	for (int i = 0; at && *at == ':' && i < 5; i++) {
		bits |= strtoull(at + 1, NULL, 0) << shifts[i];
		at = strchr(at + 1, ':');
	}
	branch[2] = bits;
}

void pdw_read_sample(char **words)
{
	static struct sample s;

	s = (struct sample){.event = (uint32_t)pdw_number(words[1]),
			    .time = pdw_number(words[3]),
			    .ip = pdw_number(words[4]),
			    .cpu = (uint32_t)pdw_option_number(words, "cpu", 0),
			    .period = pdw_option_number(words, "period", 1000),
			    .hw = pdw_option_number(words, "hw", 0),
			    .chain = pdw_option_number(words, "chain", 0),
			    .raw = pdw_option_number(words, "raw", 4),
			    .misc = (uint16_t)pdw_option_number(words, "mode", 2)};
	if (s.event >= pdw_event_cnt)
		pdw_fail("no event %u", s.event);
	pdw_read_pid(words[2], &s.pid, &s.tid);
	for (words += 5; *words; words++)
		if (strchr(*words, '>'))
			read_branch(s.branches[s.branch_cnt++], *words);
	put_sample(&s);
}

/* ---------------------------------------------------------------- many */

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return (*state ^ *state >> 29) * 0xbf58476d1ce4e5b9ull >> 11;
}

/*
 * Writes a sample of one of many processes, each on its own CPU, with branches of loops and calls.
 */
static void put_one_of_many(uint64_t i, uint32_t cpus, uint32_t branches, uint64_t *state)
{
	static struct sample s;
	uint64_t at = 0x401000 + next_random(state) % 0x80000;

	s.pid = s.tid = 1000 + (uint32_t)(i % cpus);
	s.cpu = (uint32_t)(i % cpus);
	s.time = 5000000000ull + i * 1000;
	s.ip = at;
	s.period = 1000;
	s.misc = 2;
	s.branch_cnt = branches;
	for (uint32_t b = 0; b < branches; b++) {
		uint64_t r = next_random(state);

		s.branches[b][1] = at - r % 64;
		at = 0x401000 + (r >> 8) % 0x80000;
		s.branches[b][0] = at;
		s.branches[b][2] = (r >> 32 & 15 ? 2 : 1) | (r >> 36 & 63) << 4;
	}
	put_sample(&s);
}

void pdw_put_round(void)
{
	pdw_begin(68, 0);
	pdw_end();
}

/* CPU after CPU, each up to a time of its own: so does perf read its buffers. */
static void put_many(uint64_t cnt, uint32_t cpus, uint32_t branches, uint64_t seed, bool rounds)
{
	enum { ROUND = 64 };
	uint64_t state = seed, *next = calloc(cpus, sizeof(*next));
	uint64_t each = cnt / cpus, left = each * cpus;

	for (uint64_t round = 1; next && left; round++) {
		for (uint32_t c = 0; c < cpus; c++) {
			uint64_t until = round * ROUND + (c * 37 + round * 13) % ROUND;

			for (; next[c] < until && next[c] < each; next[c]++, left--)
				put_one_of_many(next[c] * cpus + c, cpus, branches, &state);
		}
		if (rounds)
			pdw_put_round();
	}
	free(next);
}

/* An interrupt lets every eighth overtake the one before. */
static void put_many_of_cpu(uint64_t cnt, uint32_t cpus, uint32_t branches, uint64_t seed,
			    uint64_t cpu)
{
	uint64_t state = seed + cpu;

	for (uint64_t i = 0; i < cnt / cpus; i++) {
		uint64_t at = i % 8 == 6 ? i + 1 : i % 8 == 7 ? i - 1 : i;

		put_one_of_many(at * cpus + cpu, cpus, branches, &state);
	}
}

void pdw_do_many(char **words)
{
	uint64_t cnt = pdw_number(words[1]), seed = pdw_number(words[4]);
	uint32_t cpus = (uint32_t)pdw_number(words[2]), branches = (uint32_t)pdw_number(words[3]);
	bool flat = words[5] && strcmp(words[5], "flat") == 0;

	if (words[5] && !flat)
		put_many_of_cpu(cnt, cpus, branches, seed, pdw_number(words[5]));
	else
		put_many(cnt, cpus, branches, seed, !flat && !pdw_zip_type);
}
