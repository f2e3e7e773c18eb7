// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A relay's sink receives what the reader handed on: all of it, in order, to the last byte,
 * whatever the sizes; a sink that fails stops the reader.
 */
#include "../../libprofile/src/recording/pp_import_relay.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle_program.h"
#include "pathprof/recording.h"

/* A sum over all that came, in order. */
struct log {
	uint64_t sum, cnt, fail_at;
	uint64_t kinds[3];
};

static void add(struct log *log, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		log->sum = (log->sum ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

static int logged(struct log *log, int kind)
{
	log->kinds[kind]++;
	return ++log->cnt == log->fail_at ? -EIO : 0;
}

static int log_mapping(void *context, const struct pathprof_recorded_mapping *m)
{
	add(context, &m->start, sizeof(m->start));
	add(context, &m->id.kind, sizeof(m->id.kind));
	add(context, m->name, strlen(m->name));
	return logged(context, 0);
}

static int log_process(void *context, const struct pathprof_recorded_process *p)
{
	add(context, &p->pid, sizeof(p->pid));
	add(context, p->comm ? p->comm : "none", p->comm ? strlen(p->comm) : 4);
	return logged(context, 1);
}

static int log_sample(void *context, const struct pathprof_recorded_sample *s)
{
	add(context, &s->time_ns, sizeof(s->time_ns));
	add(context, &s->filtered, sizeof(s->filtered));
	add(context, s->branches, s->branch_cnt * sizeof(*s->branches));
	return logged(context, 2);
}

static struct pathprof_recording_sink sink_of(struct log *log)
{
	return (struct pathprof_recording_sink){log, log_mapping, log_process, log_sample, NULL};
}

static int send_mapping(const struct pathprof_recording_sink *to, uint64_t *random)
{
	static char name[60000];
	struct pathprof_recorded_mapping m = {.start = *random, .name = name};

	memset(name, 'n', sizeof(name));
	name[oracle_draw(random, 20) ? oracle_draw(random, 90) : sizeof(name) - 1] = '\0';
	m.id.kind = (uint8_t)oracle_draw(random, 3);
	return to->mapping(to->context, &m);
}

static int send_process(const struct pathprof_recording_sink *to, uint64_t *random)
{
	struct pathprof_recorded_process p = {.pid = oracle_draw(random, 1000)};

	p.comm = p.pid % 3 ? "comm" : p.pid % 2 ? NULL : "";
	return to->process(to->context, &p);
}

static int send_sample(const struct pathprof_recording_sink *to, uint64_t *random)
{
	static struct pathprof_recorded_branch branches[PATHPROF_RECORDED_BRANCHES_MAX];
	struct pathprof_recorded_sample s = {.time_ns = *random, .branches = branches};

	s.branch_cnt = oracle_draw(random, oracle_draw(random, 50) ? 33 : 1025);
	s.filtered = oracle_draw(random, 2);
	for (uint32_t i = 0; i < s.branch_cnt; i++)
		branches[i] = (struct pathprof_recorded_branch){.from = *random + i, .flags = 1};
	return to->sample(to->context, &s);
}

/* Sends cnt records, the same ones each time; returns 0, or the error that stopped it. */
static int send_all(const struct pathprof_recording_sink *to, uint32_t cnt)
{
	uint64_t random = 0x1234567;
	int r = 0;

	for (uint32_t i = 0; i < cnt && r == 0; i++)
		switch (oracle_draw(&random, 20)) {
		case 0:
			r = send_mapping(to, &random);
			break;
		case 1:
			r = send_process(to, &random);
			break;
		default:
			r = send_sample(to, &random);
			break;
		}
	return r;
}

/* Sends all through a relay; *ret_stopped: the result that the reader got. */
static int relay_all(struct log *log, uint32_t cnt, int *ret_stopped)
{
	const struct pathprof_recording_sink behind = sink_of(log);
	struct pathprof_recording_sink sink;
	struct pp_import_relay *relay;
	int r;

	CU_ASSERT_EQUAL_FATAL(pp_import_relay_new(&relay, &behind), 0);
	sink = pp_import_relay_sink(relay);
	pthread_mutex_lock(pp_import_relay_lock(relay));
	*ret_stopped = send_all(&sink, cnt);
	pthread_mutex_unlock(pp_import_relay_lock(relay));
	r = pp_import_relay_finish(relay);
	CU_ASSERT_EQUAL(pp_import_relay_finish(relay), r);
	pp_import_relay_free(relay);
	return r;
}

static void test_same(void)
{
	static const uint32_t cnts[] = {0, 1, 2, 300, 1000, 20000};

	for (size_t i = 0; i < sizeof(cnts) / sizeof(cnts[0]); i++) {
		struct log straight = {.sum = 1}, relayed = {.sum = 1};
		const struct pathprof_recording_sink sink = sink_of(&straight);
		int stopped;

		CU_ASSERT_EQUAL(send_all(&sink, cnts[i]), 0);
		CU_ASSERT_EQUAL(relay_all(&relayed, cnts[i], &stopped), 0);
		CU_ASSERT_EQUAL(stopped, 0);
		CU_ASSERT_EQUAL(straight.cnt, cnts[i]);
		CU_ASSERT_EQUAL(memcmp(&straight, &relayed, sizeof(straight)), 0);
		/* one byte is enough to tell */
		add(&relayed, "", 1);
		CU_ASSERT(memcmp(&straight, &relayed, sizeof(straight)) != 0);
	}
}

static void test_failure(void)
{
	static const uint32_t fail_at[] = {1, 300, 5000};

	for (size_t i = 0; i < sizeof(fail_at) / sizeof(fail_at[0]); i++) {
		struct log log = {.fail_at = fail_at[i]};
		int stopped;

		CU_ASSERT_EQUAL(relay_all(&log, 20000, &stopped), -EIO);
		CU_ASSERT_EQUAL(stopped, -EIO);
		CU_ASSERT_EQUAL(log.cnt, fail_at[i]);
		/* in the last block: the reader has ended before */
		log = (struct log){.fail_at = 2};
		CU_ASSERT_EQUAL(relay_all(&log, 3, &stopped), -EIO);
		CU_ASSERT_EQUAL(stopped, 0);
	}
}

/* Never read from, as when a recording cannot be opened. */
static void test_unused(void)
{
	struct log log = {.sum = 1};
	const struct pathprof_recording_sink sink = sink_of(&log);
	struct pp_import_relay *relay;

	CU_ASSERT_EQUAL_FATAL(pp_import_relay_new(&relay, &sink), 0);
	pp_import_relay_free(relay);
	pp_import_relay_free(NULL);
	CU_ASSERT_EQUAL(log.cnt, 0);
}

static const struct unit_test tests[] = {
	{"everything arrives, in order", test_same},
	{"a sink that fails stops the reader", test_failure},
	{"one that was not used", test_unused},
};
UNIT_SUITE(import_relay, tests)
