// SPDX-License-Identifier: GPL-2.0-or-later
/* Events, features and the header that points at them: see perf_data.h. */
#include "perf_data.h"

#include <stdlib.h>
#include <string.h>

#define FEATURE_MAX  32
#define FEATURE_ROOM (1u << 16)

struct feature {
	uint8_t bytes[FEATURE_ROOM];
	size_t len;
};

static struct feature features[FEATURE_MAX];
static uint64_t data_at;
struct pdw_event pdw_events[EVENTS_MAX];
uint32_t pdw_event_cnt;
bool pdw_is_pipe;
bool pdw_is_v1;
bool pdw_is_old;
bool pdw_is_unclosed;
bool pdw_is_big;

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
			pdw_fail("no part of a sample: %s", w);
		bits |= i == 12 ? 0x10000 : 1ull << i;
	}
	return bits;
}

static void set_u64(struct pdw_event *e, size_t at, uint64_t value)
{
	memcpy(e->attr + at, &value, 8);
}

/* mmap, comm, task, sample_id_all, mmap2, comm_exec, and no guest */
#define FLAGS_USUAL (1ull << 8 | 1ull << 9 | 1ull << 13 | 1ull << 18 | 1ull << 20 | 3ull << 23)

void pdw_add_event(char **words)
{
	struct pdw_event *e = &pdw_events[pdw_event_cnt];
	const char *ids = pdw_option(words, "ids"), *sample = pdw_option(words, "sample");
	const char *name = pdw_option(words, "name"), *freq = pdw_option(words, "freq");
	uint32_t type = (uint32_t)pdw_option_number(words, "type", 0);
	uint32_t clockid = (uint32_t)pdw_option_number(words, "clockid", 0);

	if (pdw_event_cnt++ == EVENTS_MAX)
		pdw_fail("too many events");
	e->size = (uint32_t)pdw_option_number(words, "size", 128);
	if (e->size < 64 || e->size > sizeof(e->attr))
		pdw_fail("an attribute of %u bytes", e->size);
	e->sample_type = sample ? sample_bits(sample) : 0x7;
	e->branch_type = pdw_option_number(words, "branch", e->sample_type & 0x800 ? 0x8 : 0);
	e->read_format = pdw_option_number(words, "read", 0);
	e->group_cnt = (uint32_t)pdw_option_number(words, "group", 1);
	e->flags = pdw_option_number(words, "flags", FLAGS_USUAL) | (freq ? 1ull << 10 : 0) |
		   (clockid ? 1ull << 25 : 0);
	memcpy(e->attr, &type, 4);
	memcpy(e->attr + 4, &e->size, 4);
	set_u64(e, 8, pdw_option_number(words, "config", 0));
	set_u64(e, 16, freq ? pdw_number(freq) : pdw_option_number(words, "period", 1000));
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
	for (uint32_t i = 0; i < pdw_event_cnt; i++) {
		pdw_begin(64, 0);
		pdw_put(pdw_events[i].attr, pdw_events[i].size);
		pdw_put(pdw_events[i].ids, 8 * pdw_events[i].id_cnt);
		pdw_end();
	}
}

/* ---------------------------------------------------------------- features */

static void add_to_feature(unsigned number_of, const void *bytes, size_t len)
{
	struct feature *f = &features[number_of];

	if (f->len + len > FEATURE_ROOM)
		pdw_fail("a feature too long");
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
void pdw_begin_build_id(char **words)
{
	size_t len = strlen(words[1]) / 2;
	bool sized = strstr(words[0], "-sized") != NULL;

	pdw_begin(67, (uint16_t)((words[0][0] == 'k' ? 1 : 2) | (sized ? 0x8000 : 0)));
	pdw_put_u32(words[0][0] == 'k' ? UINT32_MAX : 0);
	pdw_put_hex(words[1], 20);
	pdw_put_u32(sized ? (uint32_t)len : 0);
	pdw_put_text(words[2]);
	memcpy(pdw_record + 6, &(uint16_t){(uint16_t)pdw_record_len}, 2);
}

void pdw_add_feature(char **words)
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
		clocks[0] = pdw_number(words[1]);
		clocks[1] = pdw_number(words[2]);
		add_to_feature(29, version, 8);
		add_to_feature(29, clocks, 16);
	} else if (strcmp(words[0], "directory") == 0) {
		clocks[0] = pdw_number(words[1]);
		add_to_feature(24, clocks, 8);
	} else if (strcmp(words[0], "build-id") == 0) {
		pdw_begin_build_id(words + 1);
		add_to_feature(2, pdw_record, pdw_record_len);
	} else if (strcmp(words[0], "raw") == 0) {
		pdw_record_len = 0;
		pdw_put_hex(words[2], 0);
		add_to_feature((unsigned)pdw_number(words[1]) % FEATURE_MAX, pdw_record,
			       pdw_record_len);
	}
}

/* Events with names, and how records are compressed: perf wants to know. */
static void complete_features(void)
{
	const uint32_t head[2] = {pdw_event_cnt, pdw_events[0].size},
		       packing[5] = {1, 1, 1, 3, 1u << 19};
	bool named = pdw_event_cnt && pdw_events[0].name[0];

	if (named)
		add_to_feature(12, head, 8);
	for (uint32_t i = 0; named && i < pdw_event_cnt; i++) {
		add_to_feature(12, pdw_events[i].attr, pdw_events[0].size);
		add_to_feature(12, &pdw_events[i].id_cnt, 4);
		add_string(12, pdw_events[i].name);
		add_to_feature(12, pdw_events[i].ids, 8 * pdw_events[i].id_cnt);
	}
	add_to_feature(27, packing, sizeof(packing));
}

static void put_features_of_pipe(void)
{
	for (unsigned i = 0; i < FEATURE_MAX; i++) {
		if (!features[i].len || i == 2)
			continue;
		pdw_begin(80, 0);
		pdw_put_u64(i);
		pdw_put(features[i].bytes, features[i].len);
		pdw_put_zeros(-pdw_record_len & 7);
		pdw_end();
	}
}

/* ---------------------------------------------------------------- the head and the end */

static void put_header(uint64_t data_len, uint64_t attrs_at)
{
	uint64_t header[13] = {0}, bits = 0;
	uint32_t attr_bytes = pdw_event_cnt ? pdw_events[0].size + 16 : 80;

	for (unsigned i = 0; i < FEATURE_MAX; i++)
		bits |= features[i].len && !pdw_is_unclosed ? 1ull << i : 0;
	header[0] = pdw_is_v1 ? 0x454c494646524550ull : 0x32454c4946524550ull;
	header[1] = pdw_is_pipe ? 16 : pdw_is_old ? 72 : 104;
	header[2] = attr_bytes;
	header[3] = attrs_at;
	header[4] = (uint64_t)attr_bytes * pdw_event_cnt;
	header[5] = data_at;
	header[6] = pdw_is_unclosed ? 0 : data_len;
	header[9] = bits;
	/* The first version's magic is a text. */
	for (int i = pdw_is_v1; pdw_is_big && i < 13; i++)
		header[i] = __builtin_bswap64(header[i]);
	if (fseek(pdw_out, 0, SEEK_SET) != 0)
		pdw_fail("cannot seek");
	pdw_put_file(header, pdw_is_pipe ? 16 : pdw_is_old ? 72 : 104);
}

static uint64_t attrs_place(void)
{
	uint64_t at = pdw_is_old ? 72 : 104;

	for (uint32_t i = 0; i < pdw_event_cnt; i++)
		at += 8 * pdw_events[i].id_cnt;
	return at;
}

void pdw_put_front(void)
{
	uint64_t ids_at = pdw_is_old ? 72 : 104;

	complete_features();
	if (pdw_is_pipe) {
		put_header(0, 0);
		put_events_of_pipe();
		put_features_of_pipe();
		return;
	}
	data_at = attrs_place();
	for (uint32_t i = 0; i < pdw_event_cnt; i++)
		data_at += pdw_events[0].size + 16;
	put_header(0, attrs_place());
	for (uint32_t i = 0; i < pdw_event_cnt; i++)
		pdw_put_file(pdw_events[i].ids, 8 * pdw_events[i].id_cnt);
	for (uint32_t i = 0; i < pdw_event_cnt; i++) {
		const uint64_t ids[2] = {ids_at, 8 * pdw_events[i].id_cnt};

		pdw_put_file(pdw_events[i].attr, pdw_events[0].size);
		pdw_put_file(ids, 16);
		ids_at += ids[1];
	}
}

void pdw_put_end(void)
{
	uint64_t data_len = (uint64_t)ftell(pdw_out) - data_at, at = data_at + data_len;
	uint64_t cnt = 0;

	if (pdw_is_pipe)
		return;
	for (unsigned i = 0; i < FEATURE_MAX; i++)
		cnt += features[i].len != 0;
	at += 16 * cnt;
	for (unsigned i = 0; i < FEATURE_MAX && !pdw_is_old && !pdw_is_unclosed; i++) {
		const uint64_t section[2] = {at, features[i].len};

		if (features[i].len)
			pdw_put_file(section, 16);
		at += features[i].len;
	}
	for (unsigned i = 0; i < FEATURE_MAX && !pdw_is_old && !pdw_is_unclosed; i++)
		pdw_put_file(features[i].bytes, features[i].len);
	put_header(data_len, attrs_place());
}
