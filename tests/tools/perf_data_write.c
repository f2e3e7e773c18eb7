// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a perf.data from a script: any kind of header, event and record, for tests of the reader
 * and for `perf script` to read beside it.
 *
 *     perf_data_write FILE <SCRIPT
 *
 * Words are split by blanks; # begins a comment. Numbers as in C.
 *
 *     file [v1] [old] [unclosed] [big] | pipe    first; old: a header without features; unclosed:
 *                                      its writer was killed; big: of a big-endian machine
 *     event [type=N] [config=N] [sample=ip+tid+...] [branch=N] [read=N] [period=N] [freq=N]
 *           [flags=N] [size=N] [clockid=N] [ids=N+N] [name=S] [group=N]
 *                                      in the order of their indices; group: so many from this
 *                                      one on are read together
 *     feature hostname|osrelease|arch|cpudesc|cmdline WORDS | clock WALL CLOCK |
 *             directory VERSION | build-id kernel|user[-sized] HEX NAME |
 *             raw NUMBER HEX           bytes at the end of what is there of it
 *     begin                            of records; then, TIME in nanoseconds, any of
 *     mmap PID TIME START LENGTH OFFSET x|-|k NAME
 *     mmap2 PID TIME START LENGTH OFFSET PROT inode|muddled|HEX NAME
 *                                      muddled: an inode that is flagged as a build-id, as kernels
 *                                      do
 *     comm|exec PID[/TID] TIME NAME
 *     fork|spawn PID[/TID] TIME PARENT
 *     exit PID[/TID] TIME
 *     lost TIME COUNT
 *     lost-samples TIME COUNT [by-filter]
 *     sample EVENT PID TIME IP [cpu=N] [period=N] [mode=N] [hw=N] [chain=N] [raw=N]
 *            [FROM>TO[:MPXAN[:CYCLES[:KIND[:SPEC[:NEW[:PRIV]]]]]] ...]
 *     round | other TYPE BYTES [TIME] | aux BYTES | tracing BYTES
 *     zip|zip2 [LEVEL [WINDOWLOG]]     compressed from here on, cut into pieces as perf does
 *     unzip
 *     update EVENT NAME | build-id ... as the feature
 *     many COUNT CPUS BRANCHES SEED [flat|CPU]
 *                                      samples of event 0, in rounds that overlap; flat: the rounds
 *                                      are not told; CPU: those of one only
 *     part                             what follows goes to a file of its own, FILE.0 and so on
 *     raw HEX                          bytes as they are
 *     cut BYTES                        off the end of the file, at last
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define EVENTS_MAX   64
#define IDS_MAX      64
#define WORDS_MAX    1100
#define ENDS         16 /* a word that is missing is NULL */
#define RECORD_MAX   65535
#define PLAIN_MAX    (60u << 10) /* compressed at a time */
#define FEATURE_MAX  32
#define FEATURE_ROOM (1u << 16)

struct event {
	uint8_t attr[256];
	uint32_t size;
	uint64_t sample_type, branch_type, read_format, flags, ids[IDS_MAX];
	uint32_t id_cnt, group_cnt;
	char name[128];
};

struct feature {
	uint8_t bytes[FEATURE_ROOM];
	size_t len;
};

static struct event events[EVENTS_MAX];
static uint32_t event_cnt;
static struct feature features[FEATURE_MAX];
static bool is_pipe, is_v1, is_old, is_unclosed, is_big;
static FILE *out, *main_out; /* out: a part's, or main_out */
static const char *out_name;
static unsigned part_cnt;
static uint64_t data_at;
static uint8_t record[RECORD_MAX + 64];
static size_t record_len;
static uint8_t plain[PLAIN_MAX + RECORD_MAX];
static size_t plain_len;
static uint32_t zip_type;
static ZSTD_CCtx *zip;
static unsigned line;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "perf_data_write: line %u: ", line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t number(const char *word)
{
	char *end;
	uint64_t value = strtoull(word ? word : "", &end, 0);

	if (!word || end == word || *end)
		fail("not a number: %s", word ? word : "(nothing)");
	return value;
}

/* The value of a word KEY=VALUE; NULL: there is none. */
static const char *option(char **words, const char *key)
{
	size_t len = strlen(key);

	for (; *words; words++)
		if (strncmp(*words, key, len) == 0 && (*words)[len] == '=')
			return *words + len + 1;
	return NULL;
}

static uint64_t option_number(char **words, const char *key, uint64_t otherwise)
{
	const char *value = option(words, key);

	return value ? number(value) : otherwise;
}

static bool has_word(char **words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* ---------------------------------------------------------------- bytes */

static void put_file(const void *bytes, size_t len)
{
	if (fwrite(bytes, 1, len, out) != len)
		fail("cannot write");
}

static void put(const void *bytes, size_t len)
{
	if (record_len + len > RECORD_MAX)
		fail("a record of more than %d bytes", RECORD_MAX);
	memcpy(record + record_len, bytes, len);
	record_len += len;
}

static void put_u16(uint16_t value)
{
	put(&value, 2);
}

static void put_u32(uint32_t value)
{
	put(&value, 4);
}

static void put_u64(uint64_t value)
{
	put(&value, 8);
}

static void put_zeros(size_t len)
{
	static const uint8_t zeros[RECORD_MAX];

	put(zeros, len);
}

/* With its end, padded to words of 8 bytes. */
static void put_text(const char *text)
{
	put(text, strlen(text) + 1);
	put_zeros(-record_len & 7);
}

static void put_hex(const char *hex, size_t room)
{
	uint8_t bytes[RECORD_MAX / 2] = {0};
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len && i < sizeof(bytes); i++) {
		const char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	put(bytes, room ? room : len);
}

static void begin(uint32_t type, uint16_t misc)
{
	record_len = 0;
	put_u32(type);
	put_u16(misc);
	put_u16(0);
}

static void zip_some(void)
{
	uint8_t packed[RECORD_MAX];
	ZSTD_inBuffer in = {plain, plain_len, 0};
	ZSTD_outBuffer result = {packed, sizeof(packed) - 32, 0};
	size_t head = zip_type == 83 ? 16 : 8, padded;

	if (!plain_len)
		return;
	if (ZSTD_isError(ZSTD_compressStream2(zip, &result, &in, ZSTD_e_flush)) || in.pos < in.size)
		fail("cannot compress");
	padded = zip_type == 83 ? (head + result.pos + 7) & ~7ul : head + result.pos;
	begin(zip_type, 0);
	if (zip_type == 83)
		put_u64(result.pos);
	put(packed, result.pos);
	put_zeros(padded - record_len);
	memcpy(record + 6, &(uint16_t){(uint16_t)padded}, 2);
	put_file(record, record_len);
	plain_len = 0;
}

static void end(void)
{
	memcpy(record + 6, &(uint16_t){(uint16_t)record_len}, 2);
	if (!zip_type) {
		put_file(record, record_len);
		return;
	}
	/* Half of a record stays for the next piece, as perf cuts them. */
	memcpy(plain + plain_len, record, record_len);
	plain_len += record_len;
	if (plain_len >= PLAIN_MAX / 2) {
		size_t rest = record_len / 2;
		uint8_t kept[RECORD_MAX];

		memcpy(kept, plain + plain_len - rest, rest);
		plain_len -= rest;
		zip_some();
		memcpy(plain, kept, rest);
		plain_len = rest;
	}
}

/* Closes any record but a sample: who, when and whose. */
static void end_with_trailer(uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct event *e = &events[0];
	uint64_t type = e->flags >> 18 & 1 ? e->sample_type : 0, id = e->id_cnt ? e->ids[0] : 0;

	if (type & 0x2) {
		put_u32(pid);
		put_u32(tid);
	}
	if (type & 0x4)
		put_u64(time);
	if (type & 0x40)
		put_u64(id);
	if (type & 0x200)
		put_u64(id);
	if (type & 0x80)
		put_u64(0);
	if (type & 0x10000)
		put_u64(id);
	end();
}

/* ---------------------------------------------------------------- events */

static uint64_t sample_bits(const char *list)
{
	static const char *const names[] = {"ip", "tid", "time",   "addr",   "read", "chain",
					    "id", "cpu", "period", "stream", "raw",  "branches"};
	char copy[256], *save = NULL;
	uint64_t bits = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *w = strtok_r(copy, "+", &save); w; w = strtok_r(NULL, "+", &save)) {
		size_t i = 0;

		while (i < 12 && strcmp(names[i], w) != 0)
			i++;
		if (i == 12 && strcmp(w, "identifier") != 0)
			fail("no part of a sample: %s", w);
		bits |= i == 12 ? 0x10000 : 1ull << i;
	}
	return bits;
}

static void set_u64(struct event *e, size_t at, uint64_t value)
{
	memcpy(e->attr + at, &value, 8);
}

/* mmap, comm, task, sample_id_all, mmap2, comm_exec, and no guest */
#define FLAGS_USUAL (1ull << 8 | 1ull << 9 | 1ull << 13 | 1ull << 18 | 1ull << 20 | 3ull << 23)

static void add_event(char **words)
{
	struct event *e = &events[event_cnt];
	const char *ids = option(words, "ids"), *sample = option(words, "sample");
	const char *name = option(words, "name"), *freq = option(words, "freq");
	uint32_t type = (uint32_t)option_number(words, "type", 0);
	uint32_t clockid = (uint32_t)option_number(words, "clockid", 0);

	if (event_cnt++ == EVENTS_MAX)
		fail("too many events");
	e->size = (uint32_t)option_number(words, "size", 128);
	if (e->size < 64 || e->size > sizeof(e->attr))
		fail("an attribute of %u bytes", e->size);
	e->sample_type = sample ? sample_bits(sample) : 0x7;
	e->branch_type = option_number(words, "branch", e->sample_type & 0x800 ? 0x8 : 0);
	e->read_format = option_number(words, "read", 0);
	e->group_cnt = (uint32_t)option_number(words, "group", 1);
	e->flags = option_number(words, "flags", FLAGS_USUAL) | (freq ? 1ull << 10 : 0) |
		   (clockid ? 1ull << 25 : 0);
	memcpy(e->attr, &type, 4);
	memcpy(e->attr + 4, &e->size, 4);
	set_u64(e, 8, option_number(words, "config", 0));
	set_u64(e, 16, freq ? number(freq) : option_number(words, "period", 1000));
	set_u64(e, 24, e->sample_type);
	set_u64(e, 32, e->read_format);
	set_u64(e, 40, e->flags);
	set_u64(e, 72, e->branch_type);
	memcpy(e->attr + 92, &clockid, 4);
	for (const char *at = ids; at && e->id_cnt < IDS_MAX; at = strchr(at, '+')) {
		at += *at == '+';
		e->ids[e->id_cnt++] = strtoull(at, NULL, 0);
	}
	snprintf(e->name, sizeof(e->name), "%s", name ? name : "");
}

static void put_events_of_pipe(void)
{
	for (uint32_t i = 0; i < event_cnt; i++) {
		begin(64, 0);
		put(events[i].attr, events[i].size);
		put(events[i].ids, 8 * events[i].id_cnt);
		end();
	}
}

/* ---------------------------------------------------------------- features */

static void add_to_feature(unsigned number_of, const void *bytes, size_t len)
{
	struct feature *f = &features[number_of];

	if (f->len + len > FEATURE_ROOM)
		fail("a feature too long");
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

/* Length and text, padded to 64 bytes as perf does. */
static void add_string(unsigned number_of, const char *text)
{
	uint32_t len = ((uint32_t)strlen(text) + 64) & ~63u;
	char padded[4096] = {0};

	snprintf(padded, sizeof(padded), "%s", text);
	add_to_feature(number_of, &len, 4);
	add_to_feature(number_of, padded, len);
}

/* kernel|user[-sized] HEX NAME, as a record that is not closed. */
static void begin_build_id(char **words)
{
	size_t len = strlen(words[1]) / 2;
	bool sized = strstr(words[0], "-sized") != NULL;

	begin(67, (uint16_t)((words[0][0] == 'k' ? 1 : 2) | (sized ? 0x8000 : 0)));
	put_u32(words[0][0] == 'k' ? UINT32_MAX : 0);
	put_hex(words[1], 20);
	put_u32(sized ? (uint32_t)len : 0);
	put_text(words[2]);
	memcpy(record + 6, &(uint16_t){(uint16_t)record_len}, 2);
}

static void add_feature(char **words)
{
	static const struct {
		const char *name;
		unsigned number_of;
	} strings[] = {{"hostname", 3}, {"osrelease", 4}, {"arch", 6}, {"cpudesc", 8}};
	const uint32_t version[2] = {1, 1};
	uint64_t clocks[2];
	uint32_t cnt = 0;

	for (size_t i = 0; i < 4; i++)
		if (strcmp(words[0], strings[i].name) == 0)
			add_string(strings[i].number_of, words[1]);
	if (strcmp(words[0], "cmdline") == 0) {
		while (words[1 + cnt])
			cnt++;
		add_to_feature(11, &cnt, 4);
		for (uint32_t i = 0; i < cnt; i++)
			add_string(11, words[1 + i]);
	} else if (strcmp(words[0], "clock") == 0) {
		clocks[0] = number(words[1]);
		clocks[1] = number(words[2]);
		add_to_feature(29, version, 8);
		add_to_feature(29, clocks, 16);
	} else if (strcmp(words[0], "directory") == 0) {
		clocks[0] = number(words[1]);
		add_to_feature(24, clocks, 8);
	} else if (strcmp(words[0], "build-id") == 0) {
		begin_build_id(words + 1);
		add_to_feature(2, record, record_len);
	} else if (strcmp(words[0], "raw") == 0) {
		record_len = 0;
		put_hex(words[2], 0);
		add_to_feature((unsigned)number(words[1]) % FEATURE_MAX, record, record_len);
	}
}

/* Events with names, and how records are compressed: perf wants to know. */
static void complete_features(void)
{
	const uint32_t head[2] = {event_cnt, events[0].size}, packing[5] = {1, 1, 1, 3, 1u << 19};
	bool named = event_cnt && events[0].name[0];

	if (named)
		add_to_feature(12, head, 8);
	for (uint32_t i = 0; named && i < event_cnt; i++) {
		add_to_feature(12, events[i].attr, events[0].size);
		add_to_feature(12, &events[i].id_cnt, 4);
		add_string(12, events[i].name);
		add_to_feature(12, events[i].ids, 8 * events[i].id_cnt);
	}
	add_to_feature(27, packing, sizeof(packing));
}

static void put_features_of_pipe(void)
{
	for (unsigned i = 0; i < FEATURE_MAX; i++) {
		if (!features[i].len || i == 2)
			continue;
		begin(80, 0);
		put_u64(i);
		put(features[i].bytes, features[i].len);
		put_zeros(-record_len & 7);
		end();
	}
}

/* ---------------------------------------------------------------- the head and the end */

static void put_header(uint64_t data_len, uint64_t attrs_at)
{
	uint64_t header[13] = {0}, bits = 0;
	uint32_t attr_bytes = event_cnt ? events[0].size + 16 : 80;

	for (unsigned i = 0; i < FEATURE_MAX; i++)
		bits |= features[i].len && !is_unclosed ? 1ull << i : 0;
	header[0] = is_v1 ? 0x454c494646524550ull : 0x32454c4946524550ull;
	header[1] = is_pipe ? 16 : is_old ? 72 : 104;
	header[2] = attr_bytes;
	header[3] = attrs_at;
	header[4] = (uint64_t)attr_bytes * event_cnt;
	header[5] = data_at;
	header[6] = is_unclosed ? 0 : data_len;
	header[9] = bits;
	/* The first version's magic is a text. */
	for (int i = is_v1; is_big && i < 13; i++)
		header[i] = __builtin_bswap64(header[i]);
	if (fseek(out, 0, SEEK_SET) != 0)
		fail("cannot seek");
	put_file(header, is_pipe ? 16 : is_old ? 72 : 104);
}

static uint64_t attrs_place(void)
{
	uint64_t at = is_old ? 72 : 104;

	for (uint32_t i = 0; i < event_cnt; i++)
		at += 8 * events[i].id_cnt;
	return at;
}

static void put_front(void)
{
	uint64_t ids_at = is_old ? 72 : 104;

	complete_features();
	if (is_pipe) {
		put_header(0, 0);
		put_events_of_pipe();
		put_features_of_pipe();
		return;
	}
	data_at = attrs_place();
	for (uint32_t i = 0; i < event_cnt; i++)
		data_at += events[0].size + 16;
	put_header(0, attrs_place());
	for (uint32_t i = 0; i < event_cnt; i++)
		put_file(events[i].ids, 8 * events[i].id_cnt);
	for (uint32_t i = 0; i < event_cnt; i++) {
		const uint64_t ids[2] = {ids_at, 8 * events[i].id_cnt};

		put_file(events[i].attr, events[0].size);
		put_file(ids, 16);
		ids_at += ids[1];
	}
}

static void put_end(void)
{
	uint64_t data_len = (uint64_t)ftell(out) - data_at, at = data_at + data_len;
	uint64_t cnt = 0;

	if (is_pipe)
		return;
	for (unsigned i = 0; i < FEATURE_MAX; i++)
		cnt += features[i].len != 0;
	at += 16 * cnt;
	for (unsigned i = 0; i < FEATURE_MAX && !is_old && !is_unclosed; i++) {
		const uint64_t section[2] = {at, features[i].len};

		if (features[i].len)
			put_file(section, 16);
		at += features[i].len;
	}
	for (unsigned i = 0; i < FEATURE_MAX && !is_old && !is_unclosed; i++)
		put_file(features[i].bytes, features[i].len);
	put_header(data_len, attrs_place());
}

/* ---------------------------------------------------------------- records */

static void read_pid(const char *word, uint32_t *ret_pid, uint32_t *ret_tid)
{
	const char *slash = word ? strchr(word, '/') : NULL;

	if (!word)
		fail("no process");
	*ret_pid = (uint32_t)strtol(word, NULL, 0);
	*ret_tid = slash ? (uint32_t)strtol(slash + 1, NULL, 0) : *ret_pid;
}

static void put_mmap(char **words)
{
	bool two = strcmp(words[0], "mmap2") == 0;
	bool muddled = two && strcmp(words[7], "muddled") == 0;
	bool inode = muddled || (two && strcmp(words[7], "inode") == 0);
	uint32_t pid, tid, prot = two ? (uint32_t)number(words[6]) : 0;
	uint16_t misc = 2;

	read_pid(words[1], &pid, &tid);
	if (!two)
		misc = words[6][0] == 'k' ? 1 : words[6][0] == 'x' ? 2 : 0x2002;
	else if (!inode || muddled)
		misc = 0x4002;
	begin(two ? 10 : 1, misc);
	put_u32(pid);
	put_u32(tid);
	for (int i = 3; i < 6; i++)
		put_u64(number(words[i]));
	if (inode) {
		put_u32(8);
		put_u32(1);
		put_u64(4242);
		put_u64(7);
	} else if (two) {
		put_u32((uint32_t)strlen(words[7]) / 2);
		put_hex(words[7], 20);
	}
	if (two) {
		put_u32(prot);
		put_u32(2);
	}
	put_text(words[two ? 8 : 7]);
	end_with_trailer(pid, tid, number(words[2]));
}

static void put_comm(char **words)
{
	uint32_t pid, tid;

	read_pid(words[1], &pid, &tid);
	begin(3, words[0][0] == 'e' ? 0x2000 : 0);
	put_u32(pid);
	put_u32(tid);
	put_text(words[3]);
	end_with_trailer(pid, tid, number(words[2]));
}

static void put_fork(char **words)
{
	bool is_exit = words[0][0] == 'e';
	uint32_t pid, tid, parent;

	read_pid(words[1], &pid, &tid);
	parent = is_exit ? 1 : (uint32_t)number(words[3]);
	begin(is_exit ? 4 : 7, words[0][0] == 's' ? 0x2000 : 0);
	put_u32(pid);
	put_u32(parent);
	put_u32(tid);
	put_u32(parent);
	put_u64(number(words[2]));
	end_with_trailer(pid, tid, number(words[2]));
}

static void put_lost(char **words)
{
	bool samples = strcmp(words[0], "lost-samples") == 0;

	begin(samples ? 13 : 2, words[3] ? 0x8000 : 0);
	if (!samples)
		put_u64(events[0].ids[0]);
	put_u64(number(words[2]));
	end_with_trailer(0, 0, number(words[1]));
}

static void put_other(char **words)
{
	begin((uint32_t)number(words[1]), 0);
	put_zeros(number(words[2]));
	if (words[3])
		end_with_trailer(0, 0, number(words[3]));
	else
		end();
}

/* A record whose size does not count what follows it. */
static void put_payload(char **words)
{
	bool aux = strcmp(words[0], "aux") == 0;
	uint64_t len = number(words[1]);

	begin(aux ? 71 : 66, 0);
	put_u64(len);
	if (aux)
		put_zeros(32);
	end();
	for (uint64_t i = 0; i < len; i++)
		fputc((int)(i & 0xff), out);
}

/* ---------------------------------------------------------------- samples */

struct sample {
	uint32_t event, pid, tid, cpu;
	uint64_t time, ip, period, hw, chain, raw;
	uint16_t misc;
	uint32_t branch_cnt;
	uint64_t branches[1100][3];
};

static void put_value(const struct event *e, uint64_t value, uint64_t id)
{
	put_u64(value);
	if (e->read_format & 4)
		put_u64(id);
	if (e->read_format & 16)
		put_u64(0);
}

/* Counters of one event, or of a group; they grow, or perf drops the sample. */
static void put_counts_read(const struct event *e, const struct sample *s, uint64_t id)
{
	uint64_t format = e->read_format;

	if (format & 8)
		put_u64(e->group_cnt);
	else
		put_u64(s->time);
	if (format & 1)
		put_u64(1);
	if (format & 2)
		put_u64(1);
	for (uint32_t i = 0; format & 8 && i < e->group_cnt; i++)
		put_value(e, s->time + i, i ? e[i].ids[s->cpu % e[i].id_cnt] : id);
	if (format & 8)
		return;
	if (format & 4)
		put_u64(id);
	if (format & 16)
		put_u64(0);
}

static void put_branches(const struct event *e, const struct sample *s)
{
	put_u64(s->branch_cnt);
	if (e->branch_type & 0x20000)
		put_u64(s->hw);
	for (uint32_t i = 0; i < s->branch_cnt; i++)
		put(s->branches[i], 24);
	if (e->branch_type & 0x80000)
		for (uint32_t i = 0; i < s->branch_cnt; i++)
			put_u64(0x0101);
}

static void put_sample(const struct sample *s)
{
	const struct event *e = &events[s->event];
	uint64_t type = e->sample_type, id = e->id_cnt ? e->ids[s->cpu % e->id_cnt] : 0;

	begin(9, s->misc);
	if (type & 0x10000)
		put_u64(id);
	if (type & 0x1)
		put_u64(s->ip);
	if (type & 0x2) {
		put_u32(s->pid);
		put_u32(s->tid);
	}
	if (type & 0x4)
		put_u64(s->time);
	if (type & 0x8)
		put_u64(0xadd4);
	if (type & 0x40)
		put_u64(id);
	if (type & 0x200)
		put_u64(id);
	if (type & 0x80)
		put_u64(s->cpu);
	if (type & 0x100)
		put_u64(s->period);
	if (type & 0x10)
		put_counts_read(e, s, id);
	if (type & 0x20) {
		put_u64(s->chain);
		for (uint64_t i = 0; i < s->chain; i++)
			put_u64(s->ip + i);
	}
	if (type & 0x400) {
		put_u32((uint32_t)s->raw);
		put_zeros(s->raw);
	}
	if (type & 0x800)
		put_branches(e, s);
	end();
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

static void read_sample(char **words)
{
	static struct sample s;

	s = (struct sample){.event = (uint32_t)number(words[1]),
			    .time = number(words[3]),
			    .ip = number(words[4]),
			    .cpu = (uint32_t)option_number(words, "cpu", 0),
			    .period = option_number(words, "period", 1000),
			    .hw = option_number(words, "hw", 0),
			    .chain = option_number(words, "chain", 0),
			    .raw = option_number(words, "raw", 4),
			    .misc = (uint16_t)option_number(words, "mode", 2)};
	if (s.event >= event_cnt)
		fail("no event %u", s.event);
	read_pid(words[2], &s.pid, &s.tid);
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

/* Of a process and CPU of its own each; branches as of a program that loops and calls. */
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

static void put_round(void)
{
	begin(68, 0);
	end();
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
			put_round();
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

static void do_many(char **words)
{
	uint64_t cnt = number(words[1]), seed = number(words[4]);
	uint32_t cpus = (uint32_t)number(words[2]), branches = (uint32_t)number(words[3]);
	bool flat = words[5] && strcmp(words[5], "flat") == 0;

	if (words[5] && !flat)
		put_many_of_cpu(cnt, cpus, branches, seed, number(words[5]));
	else
		put_many(cnt, cpus, branches, seed, !flat && !zip_type);
}

/* ---------------------------------------------------------------- script */

static void start_zip(uint32_t type, const char *level, const char *window_log)
{
	zip_type = type;
	if (!zip)
		zip = ZSTD_createCCtx();
	if (!zip)
		fail("no memory");
	ZSTD_CCtx_reset(zip, ZSTD_reset_session_only);
	if (level)
		ZSTD_CCtx_setParameter(zip, ZSTD_c_compressionLevel, (int)number(level));
	if (window_log)
		ZSTD_CCtx_setParameter(zip, ZSTD_c_windowLog, (int)number(window_log));
}

static void stop_zip(void)
{
	zip_some();
	zip_type = 0;
}

static void close_part(void)
{
	if (zip_type)
		stop_zip();
	if (out != main_out && fclose(out) != 0)
		fail("cannot write a part");
	out = main_out;
}

static void start_part(void)
{
	char name[4096];

	close_part();
	snprintf(name, sizeof(name), "%s.%u", out_name, part_cnt++);
	out = fopen(name, "w");
	if (!out)
		fail("cannot write %s", name);
}

static void put_update(char **words)
{
	begin(78, 0);
	put_u64(2);
	put_u64(events[number(words[1])].ids[0]);
	put_text(words[2]);
	end();
}

static void put_bytes(const char *hex)
{
	record_len = 0;
	put_hex(hex, 0);
	put_file(record, record_len);
}

static void do_marks(char **words)
{
	if (strcmp(words[0], "round") == 0) {
		put_round();
	} else if (strcmp(words[0], "zip") == 0 || strcmp(words[0], "zip2") == 0) {
		start_zip(words[0][3] ? 83 : 81, words[1], words[1] ? words[2] : NULL);
	} else if (strcmp(words[0], "part") == 0) {
		start_part();
	} else if (strcmp(words[0], "unzip") == 0) {
		stop_zip();
	} else if (strcmp(words[0], "raw") == 0) {
		put_bytes(words[1]);
	} else if (strcmp(words[0], "build-id") == 0) {
		begin_build_id(words + 1);
		end();
	} else if (strcmp(words[0], "many") == 0) {
		do_many(words);
	} else {
		fail("what is %s?", words[0]);
	}
}

static void do_record(char **words)
{
	static const struct {
		const char *name;
		void (*put)(char **words);
		int words;
	} records[] = {
		{"mmap", put_mmap, 8},         {"mmap2", put_mmap, 9},
		{"comm", put_comm, 4},         {"exec", put_comm, 4},
		{"fork", put_fork, 4},         {"spawn", put_fork, 4},
		{"exit", put_fork, 3},         {"lost", put_lost, 3},
		{"lost-samples", put_lost, 3}, {"other", put_other, 3},
		{"aux", put_payload, 2},       {"tracing", put_payload, 2},
		{"update", put_update, 3},     {"sample", read_sample, 5},
	};

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (strcmp(words[0], records[i].name) == 0) {
			for (int w = 0; w < records[i].words; w++)
				if (!words[w])
					fail("%s takes %d words", words[0], records[i].words);
			records[i].put(words);
			return;
		}
	do_marks(words);
}

static uint64_t cut;

static void do_line(char **words)
{
	if (strcmp(words[0], "file") == 0) {
		is_v1 = has_word(words, "v1");
		is_old = has_word(words, "old");
		is_unclosed = has_word(words, "unclosed");
		is_big = has_word(words, "big");
	} else if (strcmp(words[0], "pipe") == 0) {
		is_pipe = true;
	} else if (strcmp(words[0], "event") == 0) {
		add_event(words + 1);
	} else if (strcmp(words[0], "feature") == 0) {
		add_feature(words + 1);
	} else if (strcmp(words[0], "begin") == 0) {
		put_front();
	} else if (strcmp(words[0], "cut") == 0) {
		cut = number(words[1]);
	} else {
		do_record(words);
	}
}

static void read_script(void)
{
	static char text[1 << 17];
	static char *words[WORDS_MAX + ENDS];

	while (fgets(text, sizeof(text), stdin)) {
		char *save = NULL, *hash = strchr(text, '#');
		size_t cnt = 0;

		line++;
		if (hash)
			*hash = '\0';
		for (char *w = strtok_r(text, " \t\n", &save); w && cnt < WORDS_MAX;
		     w = strtok_r(NULL, " \t\n", &save))
			words[cnt++] = w;
		for (size_t i = cnt; i < cnt + ENDS; i++)
			words[i] = NULL;
		if (cnt)
			do_line(words);
	}
}

int main(int argc, char **argv)
{
	long len;

	if (argc != 2) {
		fprintf(stderr, "usage: perf_data_write FILE <SCRIPT\n");
		return 2;
	}
	out_name = argv[1];
	main_out = out = fopen(out_name, "w+");
	if (!out) {
		perror(argv[1]);
		return 1;
	}
	read_script();
	close_part();
	put_end();
	fseek(out, 0, SEEK_END);
	len = ftell(out);
	if (fflush(out) != 0 || len < 0 || cut > (uint64_t)len ||
	    ftruncate(fileno(out), len - (long)cut) != 0)
		fail("cannot write %s", argv[1]);
	ZSTD_freeCCtx(zip);
	return fclose(out) != 0;
}
