// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts of recordings whatever their format: lines, sizes, many of them, and damage. */
#include "reading.h"

#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#define PERF PATHPROF_FORMAT_PERF_SCRIPT
#define BARE PATHPROF_FORMAT_PROFGEN_PERFSCRIPT

#define PAUSE_US 20000

/* ---------------------------------------------------------------- lines */

static int refuse_count(void *context, const struct pathprof_recorded_count *c)
{
	return -ECANCELED;
}

static struct reading read_long_line(const char *before, size_t cnt, const char *after)
{
	char *text = reading_repeated(before, "a", cnt, after);
	struct reading r = reading_of_text(PATHPROF_FORMAT_BOLT_FDATA, text);

	free(text);
	return r;
}

static void test_line_length(void)
{
	static const char rest[] = " 1 1 m 2 0 3\n";
	size_t longest = (1u << 20) - strlen("1 ") - (strlen(rest) - 1);
	struct reading r;

	r = read_long_line("1 ", longest, rest);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_EQUAL(r.stats.counts, 1);
	free(r.text);
	r = read_long_line("1 ", longest + 1, rest);
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_STRING_EQUAL(r.error.text, "FILE:1: the line is longer than a MiB");
	free(r.text);
	/* It does not end at all. */
	r = read_long_line("1 a 1 1 b 2 0 3\n1 ", 2 * longest, "");
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_STRING_EQUAL(r.error.text, "FILE:2: the line is longer than a MiB");
	CU_ASSERT_EQUAL(r.stats.counts, 1);
	free(r.text);
}

static void test_line_nul(void)
{
	struct reading r;

	r = reading_of_bytes(PATHPROF_FORMAT_BOLT_PREAGG, "B 1 2 3 4\nB 1 2 3 \0004\n", 21);
	CU_ASSERT_EQUAL(r.result, -EBADMSG);
	CU_ASSERT_STRING_EQUAL(r.error.text, "FILE:2: a NUL byte: this is not a text");
	CU_ASSERT_STRING_EQUAL(r.text, "branch 1 2 3 4\n");
	free(r.text);
}

static void test_unreadable(void)
{
	int fd = open(unit_tmpdir(), O_RDONLY | O_CLOEXEC);
	struct reading r;

	CU_ASSERT_FATAL(fd >= 0);
	r = reading_of_fd(PATHPROF_FORMAT_BOLT_PREAGG, fd);
	CU_ASSERT_EQUAL(r.result, -EISDIR);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, "FILE: cannot read it"));
	free(r.text);
	close(fd);
}

static void test_sink_stops(void)
{
	struct pathprof_recording_sink sink = {.count = refuse_count};
	int fd = reading_file("B 1 2 3 4\nrubbish\n", 18);
	struct pathprof_error error = {""};
	struct pathprof_recording *recording;

	CU_ASSERT_EQUAL_FATAL(pathprof_recording_open(&recording, PATHPROF_FORMAT_BOLT_PREAGG, fd,
						      "FILE", &sink, &error),
			      0);
	CU_ASSERT_EQUAL(pathprof_recording_read(recording, &error), -ECANCELED);
	CU_ASSERT_EQUAL(pathprof_recording_read(recording, &error), -ECANCELED);
	pathprof_recording_free(recording);
	close(fd);
}

/* ---------------------------------------------------------------- many */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Any number of bits alike. */
static uint64_t any_address(uint64_t *state)
{
	return next_random(state) >> next_random(state) % 63 | 2;
}

struct generated {
	FILE *text, *log;
	char *text_at, *log_at;
	size_t text_bytes, log_bytes;
};

static void generate_open(struct generated *g)
{
	g->text = open_memstream(&g->text_at, &g->text_bytes);
	g->log = open_memstream(&g->log_at, &g->log_bytes);
	CU_ASSERT_FATAL(g->text && g->log);
}

static void generate_close(struct generated *g)
{
	fclose(g->text);
	fclose(g->log);
}

static void generate_free(struct generated *g)
{
	free(g->text_at);
	free(g->log_at);
}

static void generate_branch(struct generated *g, uint64_t *state)
{
	static const char *const specs[] = {"-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH",
					    "SPEC_CORRECT_PATH"};
	uint64_t bits = next_random(state);
	struct pathprof_recorded_branch b = {.from = any_address(state),
					     .to = any_address(state),
					     .cycles = bits & 1 ? (uint16_t)(bits >> 48) : 0,
					     .spec = bits >> 1 & 3};

	if (bits & 8)
		b.flags |= bits & 16 ? PATHPROF_RECORDED_PREDICTED : PATHPROF_RECORDED_MISPREDICTED;
	if (bits & 32)
		b.flags |= PATHPROF_RECORDED_IN_TX;
	if (bits & 64)
		b.flags |= PATHPROF_RECORDED_ABORT;
	fprintf(g->text, " 0x%" PRIx64 "/0x%" PRIx64 "/%s/%s/%s/%u//%s ", b.from, b.to,
		bits & 8 ? bits & 16 ? "P" : "M" : "-", bits & 32 ? "X" : "-",
		bits & 64 ? "A" : "-", b.cycles, specs[b.spec]);
	reading_note_branch(g->log, &b);
}

static void generate_sample(struct generated *g, uint64_t *state)
{
	uint32_t pid = (uint32_t)next_random(state) >> 12, tid = pid + 1;
	unsigned int cpu = (unsigned int)next_random(state) % 256, s, ns;
	uint64_t ip = any_address(state), cnt = 1 + next_random(state) % 40;

	s = (unsigned int)next_random(state) >> 8;
	ns = (unsigned int)(next_random(state) % 1000000000);
	fprintf(g->text, "%16s %7u/%-7u [%03u] %5u.%09u: %10u %s: %17" PRIx64 " ", "some name", pid,
		tid, cpu, s, ns, cpu + 7, "br:u", ip);
	fprintf(g->log, "%s %" PRIu64 " %u/%u cpu %u event 0*%u ip %" PRIx64 " x1",
		ip >> 63 ? "kernel" : "user", s * UINT64_C(1000000000) + ns, pid, tid, cpu, cpu + 7,
		ip);
	while (cnt--)
		generate_branch(g, state);
	fprintf(g->text, "\n");
	fprintf(g->log, "\n");
}

static void test_many_samples(void)
{
	uint64_t state = 88172645463325252u;
	struct generated g;

	generate_open(&g);
	for (int i = 0; i < 3000; i++)
		generate_sample(&g, &state);
	generate_close(&g);
	CU_ASSERT(g.text_bytes > 3u << 20);
	reading_is(PERF, g.text_at, g.log_at);
	generate_free(&g);
}

static void generate_trace(struct generated *g, uint64_t *state)
{
	uint64_t from = any_address(state) >> 2 | 2, to = any_address(state) >> 2 | 2,
		 end = any_address(state) >> 2 | 2, count = next_random(state);

	fprintf(g->text, "T %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", from, to, end,
		count);
	fprintf(g->log, "trace %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 " 0\n", from, to, end,
		count);
}

struct slow_pipe {
	int fd;
	const char *text;
	size_t len;
};

/* In pieces of odd lengths, so that lines are cut anywhere. */
static void *write_slowly(void *argument)
{
	struct slow_pipe *pipe = argument;
	size_t done = 0, step = 1;

	while (done < pipe->len) {
		size_t part = pipe->len - done < step ? pipe->len - done : step;
		ssize_t got = write(pipe->fd, pipe->text + done, part);

		if (got <= 0)
			break;
		done += (size_t)got;
		step = step * 5 % 8191 + 1;
	}
	close(pipe->fd);
	return NULL;
}

static void test_many_counts_from_a_pipe(void)
{
	uint64_t state = 1234567890123u;
	struct slow_pipe writer;
	struct generated g;
	struct reading r;
	pthread_t thread;
	int ends[2];

	generate_open(&g);
	for (int i = 0; i < 40000; i++)
		generate_trace(&g, &state);
	generate_close(&g);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	writer = (struct slow_pipe){ends[1], g.text_at, g.text_bytes};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_slowly, &writer), 0);
	r = reading_of_fd(PATHPROF_FORMAT_BOLT_PREAGG, ends[0]);
	pthread_join(thread, NULL);
	close(ends[0]);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT_EQUAL(r.stats.bytes, g.text_bytes);
	CU_ASSERT_EQUAL(r.stats.bytes_total, 0);
	CU_ASSERT(strcmp(r.text, g.log_at) == 0);
	free(r.text);
	generate_free(&g);
}

/* The check must see one wrong digit among thousands. */
static void test_planted_fault_is_found(void)
{
	uint64_t state = 88172645463325252u;
	struct generated g;
	struct reading r;
	char *digit;

	generate_open(&g);
	for (int i = 0; i < 200; i++)
		generate_sample(&g, &state);
	generate_close(&g);
	digit = strstr(g.text_at + g.text_bytes / 2, "/0x") + 3;
	*digit = *digit == '1' ? '2' : '1';
	r = reading_of_text(PERF, g.text_at);
	CU_ASSERT_EQUAL(r.result, 0);
	CU_ASSERT(strcmp(r.text, g.log_at) != 0);
	CU_ASSERT_EQUAL(r.text_bytes, g.log_bytes);
	free(r.text);
	generate_free(&g);
}

/* Every text cut anywhere, and every byte of it changed: never more than was there. */
static void test_damage(void)
{
	static const struct {
		enum pathprof_format format;
		const char *text;
	} texts[] = {
		{PERF,
		 "# hostname : box\n x  1/1  1.000000: PERF_RECORD_COMM exec: x:1/1\n"
		 " x 1/2 [001] 1.000000: 12 c:u:      7f00 m (/x) 0x1(/x+0x1)/0x2(/y)/M/X/A/7"
		 "/COND/SPEC_WRONG_PATH \nx 1/2 2.000000: c: \n\t  12 x (y)\n 0x1/0x2/P/-/- \n\n"
		 "PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0 <aa55>]: r-xp /x\n"},
		{BARE,
		 "3\n\t  4005dc\n\t  400684\n 0x1/0x2/P/-/-/0 \n 12 400684 0x3/0x4/M/-/-/0//- \n"},
		{PATHPROF_FORMAT_BOLT_PREAGG,
		 "E c\nT X:1 aa55:2 3 4\nS 1 2\nB 1 2 3 4\nR 0 2 3 4\n"},
		{PATHPROF_FORMAT_BOLT_FDATA, "no_lbr c\n1 a\\ b 1 2\n4 a 1 3 b 2 3\n"},
		{PATHPROF_FORMAT_BOLT_FDATA, "1 a\\\\b 1 0 b 2 3 4\n"},
		{PATHPROF_FORMAT_PROFGEN_RAW,
		 "[aa55:0x1 @ bb66:0x2]\n  1\n  1-2:3\n  1\n  1->2:3\n"},
		{PATHPROF_FORMAT_AUTOFDO_TEXT, "1\n1-2:3\n1\n1:2\n1\n1->2:3\n# x\n"},
	};

	for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
		size_t len = strlen(texts[t].text);
		char text[1024];

		for (size_t i = 0; i < len * 16; i++) {
			struct reading r;

			memcpy(text, texts[t].text, len);
			text[i / 16] = "\0\n\t 0x9f(-/:)~\xff["[i % 16];
			r = reading_of_bytes(texts[t].format, text, i % 16 ? len : i / 16);
			CU_ASSERT(r.result == 0 || r.result == -EBADMSG || r.result == -EPROTO);
			CU_ASSERT(r.result == 0 || strncmp(r.error.text, "FILE:", 5) == 0);
			CU_ASSERT(r.stats.records <= 12);
			free(r.text);
		}
	}
}

/* ---------------------------------------------------------------- packed */

/* The text, as zstd packs it in two frames, reads as it is. */
static void check_packed(const char *text, size_t len)
{
	struct reading plain = reading_of_bytes(PATHPROF_FORMAT_BOLT_PREAGG, text, len), packed;
	size_t room = ZSTD_compressBound(len), first, second;
	char *bytes = malloc(2 * room);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	first = ZSTD_compress(bytes, room, text, len / 2, 1);
	CU_ASSERT_FATAL(!ZSTD_isError(first));
	second = ZSTD_compress(bytes + first, room, text + len / 2, len - len / 2, 1);
	CU_ASSERT_FATAL(!ZSTD_isError(second));
	packed = reading_of_bytes(PATHPROF_FORMAT_BOLT_PREAGG, bytes, first + second);
	CU_ASSERT_EQUAL(plain.result, 0);
	CU_ASSERT_EQUAL(packed.result, 0);
	CU_ASSERT_STRING_EQUAL(packed.error.text, "");
	CU_ASSERT_STRING_EQUAL(packed.text, plain.text);
	free(plain.text);
	free(packed.text);
	free(bytes);
}

static void *write_later(void *argument)
{
	usleep(PAUSE_US);
	return write_slowly(argument);
}

/* A writer's first bytes may be too few to tell that they are packed. */
static void test_packed_in_a_slow_pipe(void)
{
	static const char text[] = "B 1 2 3 4\n";
	struct reading plain = reading_of_bytes(PATHPROF_FORMAT_BOLT_PREAGG, text, strlen(text));
	struct slow_pipe writer;
	struct reading packed;
	pthread_t thread;
	char bytes[256];
	size_t len = ZSTD_compress(bytes, sizeof(bytes), text, strlen(text), 1);
	int ends[2];

	CU_ASSERT_FATAL(!ZSTD_isError(len));
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	CU_ASSERT_EQUAL_FATAL(write(ends[1], bytes, 3), 3);
	writer = (struct slow_pipe){ends[1], bytes + 3, len - 3};
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_later, &writer), 0);
	packed = reading_of_fd(PATHPROF_FORMAT_BOLT_PREAGG, ends[0]);
	pthread_join(thread, NULL);
	close(ends[0]);
	CU_ASSERT_EQUAL(packed.result, 0);
	CU_ASSERT_STRING_EQUAL(packed.error.text, "");
	CU_ASSERT_STRING_EQUAL(packed.text, plain.text);
	free(plain.text);
	free(packed.text);
}

/* A frame as `zstd --long=31` writes it: a window of 2 GiB, then one byte as it is. */
static void test_packed_with_large_window(void)
{
	static const char frame[] = "\x28\xb5\x2f\xfd\x00\xa8\x09\x00\x00"
				    "B";
	struct reading r = reading_of_bytes(PATHPROF_FORMAT_BOLT_PREAGG, frame, sizeof(frame) - 1);

	CU_ASSERT_EQUAL(r.result, -EFBIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, "unpack it first (zstd -d --long=31)"));
	free(r.text);
}

/* In files that may not grow; the message says where they are made. */
static struct reading read_without_room(const char *bytes, size_t len)
{
	struct rlimit limit;
	struct reading r;
	int packed[2];

	CU_ASSERT_EQUAL_FATAL(pipe(packed), 0);
	CU_ASSERT_EQUAL_FATAL(write(packed[1], bytes, len), (ssize_t)len);
	close(packed[1]);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, limit.rlim_max});
	r = reading_of_fd(PATHPROF_FORMAT_BOLT_PREAGG, packed[0]);
	setrlimit(RLIMIT_FSIZE, &limit);
	signal(SIGXFSZ, SIG_DFL);
	close(packed[0]);
	return r;
}

static void test_empty_tmpdir(void)
{
	static const char text[] = "B 1 2 3 4\n";
	const char *kept = getenv("TMPDIR");
	char bytes[256], *before = kept ? strdup(kept) : NULL;
	size_t len = ZSTD_compress(bytes, sizeof(bytes), text, strlen(text), 1);
	struct reading r;

	setenv("TMPDIR", "", 1);
	r = read_without_room(bytes, len);
	if (before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
	CU_ASSERT_EQUAL(r.result, -EFBIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.error.text, "cannot be unpacked into /var/tmp: "));
	free(before);
	free(r.text);
}

/* A text of counts of len bytes; the caller frees it. */
static char *text_of(size_t len)
{
	static const char line[] = "B 1 2 3 4\n";
	size_t cnt = len / strlen(line) - 1;
	int digits = (int)(len - cnt * strlen(line) - strlen("B 1 2 3 \n"));
	char last[64];

	snprintf(last, sizeof(last), "B 1 2 3 %0*d\n", digits, 4);
	return reading_repeated("", line, cnt, last);
}

/* Frames that are as long as what is unpacked at a time, a byte less, and a byte more. */
static void test_packed_sizes(void)
{
	const size_t piece = (size_t)256 << 10;

	for (size_t frame = piece - 1; frame <= piece + 1; frame++) {
		char *text = text_of(2 * frame);

		CU_ASSERT_EQUAL(strlen(text), 2 * frame);
		check_packed(text, 2 * frame);
		free(text);
	}
}

static const struct unit_test tests[] = {
	{"lines as long as may be", test_line_length},
	{"a NUL in a line", test_line_nul},
	{"what cannot be read", test_unreadable},
	{"a sink's refusal ends the reading", test_sink_stops},
	{"many samples as they were written", test_many_samples},
	{"many counts through a pipe", test_many_counts_from_a_pipe},
	{"one wrong digit is found", test_planted_fault_is_found},
	{"packed texts of any size", test_packed_sizes},
	{"packed texts in a pipe that begins with three bytes", test_packed_in_a_slow_pipe},
	{"a packed text with a window too large is named so", test_packed_with_large_window},
	{"an empty TMPDIR is none", test_empty_tmpdir},
	{"damaged texts end in an error or the end", test_damage},
};
UNIT_SUITE(recording_text, tests)
