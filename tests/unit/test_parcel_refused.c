// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Untrusted parcels: damaged, made by hand, or too large. Each is refused, or read as a valid
 * parcel.
 */
#include "parcel_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* ---------------------------------------------------------------- damage */

static void refused(const void *bytes, size_t len)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel read;
	int code = pathprof_parcel_read(&read, bytes, len, &error);

	CU_ASSERT(code == -EBADMSG || code == -E2BIG);
	CU_ASSERT(error.text[0] != 0);
	if (code == 0)
		pathprof_parcel_release(&read);
}

/* Refused, or the same message: some bits of a frame say nothing. */
static void refused_or_same(const uint8_t *bytes, size_t len, const uint8_t *message,
			    size_t message_len)
{
	struct pathprof_error error = {""};
	uint8_t *unpacked = NULL;
	size_t unpacked_len = 0;

	if (pp_parcel_unpack(bytes, len, &unpacked, &unpacked_len, &error)) {
		refused(bytes, len);
		return;
	}
	CU_ASSERT_EQUAL_FATAL(unpacked_len, message_len);
	CU_ASSERT_EQUAL(memcmp(unpacked, message, message_len), 0);
	free(unpacked);
}

/* Ways to damage a byte: a brief run tries one of them at each, in turn, and fewer cuts. */
#define MASK_CNT 4

static size_t mask_step(void)
{
	return unit_rounds(MASK_CNT, 1);
}

static void test_damaged_bytes(void)
{
	static const uint8_t masks[MASK_CNT] = {1, 0x10, 0x80, 0xff};
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;
	size_t len = 0, message_len = 0;
	uint8_t *message = NULL;

	make(&parcel, 2, 10);
	uint8_t *bytes = written(&parcel, &len);
	CU_ASSERT_EQUAL_FATAL(pp_parcel_unpack(bytes, len, &message, &message_len, &error), 0);
	for (size_t i = 0; i < len; i++)
		for (size_t m = i % mask_step(); m < MASK_CNT; m += mask_step()) {
			bytes[i] ^= masks[m];
			refused_or_same(bytes, len, message, message_len);
			bytes[i] ^= masks[m];
		}
	for (size_t i = 0; i < len; i += mask_step())
		refused(bytes, i);
	uint8_t *longer = calloc(1, len + 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(longer);
	memcpy(longer, bytes, len);
	refused(longer, len + 1);
	free(longer);
	pathprof_parcel_release(&parcel);
	free(bytes);
	free(message);
}

/* Refused, or a parcel that can be: it can be written, and that can be read. */
static bool reads_soundly(const uint8_t *message, size_t message_len)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel read, again;
	uint8_t *bytes = NULL, *second = NULL;
	size_t len = 0, second_len = 0;

	CU_ASSERT_EQUAL_FATAL(pp_parcel_pack(message, message_len, 1, &bytes, &len, &error), 0);
	int code = pathprof_parcel_read(&read, bytes, len, &error);
	free(bytes);
	if (code) {
		CU_ASSERT(error.text[0] != 0);
		return false;
	}
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_write(&read, &second, &second_len, &error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&again, second, second_len, &error), 0);
	CU_ASSERT_EQUAL(pathprof_parcel_window_cnt(&read), pathprof_parcel_window_cnt(&again));
	pathprof_parcel_release(&read);
	pathprof_parcel_release(&again);
	free(second);
	return true;
}

/* The writer of the message writes a checksum as well. */
static void check_damaged_message(uint32_t version)
{
	static const uint8_t masks[MASK_CNT] = {1, 4, 0x80, 0xff};
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;
	size_t len = 0, message_len = 0, sound = 0, bad = 0;
	uint8_t *message = NULL;

	make(&parcel, 2, 6);
	parcel.version = version;
	uint8_t *bytes = written(&parcel, &len);
	CU_ASSERT_EQUAL_FATAL(pp_parcel_unpack(bytes, len, &message, &message_len, &error), 0);
	CU_ASSERT(reads_soundly(message, message_len));
	for (size_t i = 0; i < message_len; i++)
		for (size_t m = i % mask_step(); m < MASK_CNT; m += mask_step()) {
			message[i] ^= masks[m];
			*(reads_soundly(message, message_len) ? &sound : &bad) += 1;
			message[i] ^= masks[m];
		}
	/* counts may have any value, lengths and numbers of fields may not */
	CU_ASSERT(sound > 0);
	CU_ASSERT(bad > 0);
	for (size_t i = 0; i < message_len; i += mask_step())
		reads_soundly(message, i);
	pathprof_parcel_release(&parcel);
	free(bytes);
	free(message);
}

static void test_damaged_message(void)
{
	for (uint32_t version = 1; version <= PATHPROF_PARCEL_VERSION; version++)
		check_damaged_message(version);
}

/* ---------------------------------------------------------------- messages by hand */

struct message {
	uint8_t *bytes;
	size_t len;
};

static void put_varint(struct message *m, uint64_t value)
{
	m->bytes = realloc(m->bytes, m->len + 10);
	for (; value > 127; value >>= 7)
		m->bytes[m->len++] = (uint8_t)(value | 128);
	m->bytes[m->len++] = (uint8_t)value;
}

static void put_number(struct message *m, uint32_t field, uint64_t value)
{
	put_varint(m, field << 3);
	put_varint(m, value);
}

static void put_bytes(struct message *m, uint32_t field, const void *bytes, size_t len)
{
	put_varint(m, field << 3 | 2);
	put_varint(m, len);
	m->bytes = realloc(m->bytes, m->len + len + 1);
	if (len)
		memcpy(m->bytes + m->len, bytes, len);
	m->len += len;
}

/* Takes sub. */
static void put_message(struct message *m, uint32_t field, struct message sub)
{
	put_bytes(m, field, sub.bytes, sub.len);
	free(sub.bytes);
}

enum field { VERSION = 1, STORE = 2, SLOT = 3, HOST = 4, PARTS = 5 };
enum part_field {
	BASIS = 2,
	WINDOWS = 8,
	BINARIES = 9,
	WORKLOADS = 10,
	PATHS = 11,
	EDGES,
	CLOCKS,
	PATH_CNT,
	ROWS = 17
};

static struct message part_of(uint64_t basis)
{
	struct message part = {NULL, 0}, window = {NULL, 0};

	put_number(&part, BASIS, basis);
	put_number(&window, 1, 7);
	put_number(&window, 2, SLOT_NS);
	put_number(&window, 3, SLOT_NS);
	put_message(&part, WINDOWS, window);
	return part;
}

static struct message whole(uint64_t version, uint64_t slot, struct message part)
{
	struct message m = {NULL, 0};

	put_number(&m, VERSION, version);
	put_bytes(&m, STORE, "0123456789abcdef", PATHPROF_PARCEL_STORE_BYTES);
	put_number(&m, SLOT, slot);
	put_message(&m, PARTS, part);
	return m;
}

/* Reads the message m, which it frees; returns the reader's result. */
static int code_of(struct message m, const char *said)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel read;
	uint8_t *bytes = NULL;
	size_t len = 0;
	int code;

	CU_ASSERT_EQUAL_FATAL(pp_parcel_pack(m.bytes, m.len, 1, &bytes, &len, &error), 0);
	code = pathprof_parcel_read(&read, bytes, len, &error);
	if (code == 0)
		pathprof_parcel_release(&read);
	if (!strstr(error.text, said))
		CU_ASSERT_STRING_EQUAL(error.text, said);
	free(bytes);
	free(m.bytes);
	return code;
}

static void test_heads(void)
{
	struct message m = whole(1, SLOT_S, part_of(1));

	put_number(&m, 99, 5);
	put_bytes(&m, 100, "of a newer agent", 16);
	CU_ASSERT_EQUAL(code_of(m, ""), 0);
	CU_ASSERT_EQUAL(code_of(whole(3, SLOT_S, part_of(1)), "install a newer one"), -EPROTO);
	CU_ASSERT_EQUAL(code_of(whole(0, SLOT_S, part_of(1)), "no version"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S + 1, part_of(1)), "its slot"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, (uint64_t)-300, part_of(1)), "its slot"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S + 300, part_of(1)), "another slot"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part_of(0)), "basis"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part_of(3)), "basis"), -EBADMSG);
	m = (struct message){NULL, 0};
	put_number(&m, VERSION, 1);
	put_bytes(&m, STORE, "0123456789abcde", 15);
	CU_ASSERT_EQUAL(code_of(m, "16 bytes"), -EBADMSG);
}

/* A part with one binary, one workload, and a table of these columns. */
static struct message with_table(uint32_t table, const uint8_t *columns, size_t len)
{
	struct message part = part_of(1), binary = {NULL, 0}, workload = {NULL, 0};

	put_bytes(&binary, 1, "id", 2);
	put_number(&binary, 2, 1);
	put_bytes(&binary, 3, "/bin/a", 6);
	put_bytes(&workload, 1, "a", 1);
	put_number(&workload, 3, 1);
	put_message(&part, BINARIES, binary);
	put_message(&part, WORKLOADS, workload);
	put_bytes(&part, table, columns, len);
	return whole(1, SLOT_S, part);
}
#define WITH(table, ...)                                                                           \
	with_table(table, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
/* Key and length of a packed column. */
#define COLUMN(field, len) (field) << 3 | 2, (len)

static void test_tables(void)
{
	/* workload 0; samples 3 */
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(6, 1), 3), ""), 0);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(6, 2), 3, 3), "lengths"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 1), "a path's binary or workload"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(1, 1), 2), "a path's binary"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(1, 1), 1), "a path's binary"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(3, 1), 33), "impossible"),
			-EBADMSG);
	/* samples 3, squares 2 */
	CU_ASSERT_EQUAL(
		code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(6, 1), 3, COLUMN(7, 1), 2), "squares"),
		-EBADMSG);
	/* weights: -1, infinite, not a number */
	CU_ASSERT_EQUAL(
		code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(8, 4), 0, 0, 0x80, 0xbf), "impossible"),
		-EBADMSG);
	CU_ASSERT_EQUAL(
		code_of(WITH(PATHS, COLUMN(5, 1), 0, COLUMN(8, 4), 0, 0, 0x80, 0x7f), "impossible"),
		-EBADMSG);
	CU_ASSERT_EQUAL(
		code_of(WITH(EDGES, COLUMN(5, 1), 0, COLUMN(8, 4), 0, 0, 0xc0, 0x7f), "impossible"),
		-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(EDGES, COLUMN(5, 1), 0, COLUMN(3, 1), 1), "an edge's binary"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(EDGES, COLUMN(5, 1), 0, COLUMN(7, 2), 0, 0), "lengths"),
			-EBADMSG);
	/* in no file, at 8 */
	CU_ASSERT_EQUAL(code_of(WITH(CLOCKS, COLUMN(3, 1), 0, COLUMN(2, 1), 16), "impossible"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(WITH(CLOCKS, COLUMN(3, 1), 0, COLUMN(1, 1), 4), "a place's binary"),
			-EBADMSG);
	/* two rows of one place, 2^62 each */
	CU_ASSERT_EQUAL(code_of(WITH(CLOCKS, COLUMN(3, 2), 0, 0, COLUMN(4, 18), 0x80, 0x80, 0x80,
				     0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0x80, 0x80, 0x80, 0x80,
				     0x80, 0x80, 0x80, 0x80, 0x40),
				"clock samples"),
			-EBADMSG);
	/* 2^41: not even a sum of them may overflow */
	CU_ASSERT_EQUAL(code_of(WITH(CLOCKS, COLUMN(3, 1), 0, COLUMN(4, 6), 0x80, 0x80, 0x80, 0x80,
				     0x80, 0x40),
				"clock samples"),
			-EBADMSG);
}

/* The writer refuses what the reader would. */
static void test_what_cannot_be_written(void)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;
	uint8_t *bytes = NULL;
	size_t len = 0;

	make(&parcel, 1, 5);
	struct pathprof_parcel_part *part = &parcel.parts[0];
	parcel.slot_s += 300;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "another slot") != NULL);
	parcel.slot_s -= 300;
	parcel.host.sent_ns = -1;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "sent before 1970") != NULL);
	parcel.host.sent_ns = 0;
	const int64_t begin_ns = part->windows[0].begin_ns;
	part->windows[0].begin_ns = -1;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "begins before 1970") != NULL);
	part->windows[0].begin_ns = begin_ns;
	part->windows[1].id = part->windows[0].id;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "order of their ids") != NULL);
	part->windows[1].id++;
	part->profile.paths[0].binary = WORLD_BINARIES;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	part->profile.paths[0].binary = 0;
	part->windows[2].totals.drops[3] = 1ull << 63;
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "a total") != NULL);
	CU_ASSERT_PTR_EQUAL(bytes, NULL);
	pathprof_parcel_release(&parcel);
}

/* ---------------------------------------------------------------- limits */

/* A reader counts each build that is named among the names, so the writer does, too. */
static void test_many_builds(void)
{
	struct pathprof_error error = {""};
	struct pathprof_parcel parcel;
	uint8_t *bytes = NULL;
	uint64_t key = 1;
	size_t len = 0;

	make(&parcel, 1, 5);
	parcel.name_cnt = PATHPROF_PARCEL_NAMES_MAX;
	parcel.names = calloc(parcel.name_cnt, sizeof(*parcel.names));
	for (uint32_t i = 0; i < parcel.name_cnt; i++) {
		parcel.names[i].keys = &key;
		parcel.names[i].key_cnt = 1;
	}
	CU_ASSERT_EQUAL(pathprof_parcel_write(&parcel, &bytes, &len, &error), -E2BIG);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "above 65536"));
	free(parcel.names);
	parcel.names = NULL;
	parcel.name_cnt = 0;
	pathprof_parcel_release(&parcel);
}

/* cnt times two bytes: a field of length 0, or whatever they are. */
static void put_many(struct message *m, uint8_t first, uint8_t second, size_t cnt)
{
	m->bytes = realloc(m->bytes, m->len + 2 * cnt);
	for (size_t i = 0; i < cnt; i++) {
		m->bytes[m->len++] = first;
		m->bytes[m->len++] = second;
	}
}

static void test_many_names(void)
{
	struct message part = part_of(1);

	put_many(&part, WORKLOADS << 3 | 2, 0, 1000000);
	CU_ASSERT_EQUAL(
		code_of(whole(1, SLOT_S, part), "1000000 binaries and workloads, above 65536"),
		-E2BIG);
	part = part_of(1);
	put_many(&part, BINARIES << 3 | 2, 0, 30000000);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part), "MiB of memory"), -E2BIG);
}

static void test_long_names(void)
{
	struct message part = part_of(1), workload = {NULL, 0};
	char *name = calloc(1, PATHPROF_PARCEL_NAME_BYTES + 1);

	memset(name, 'x', PATHPROF_PARCEL_NAME_BYTES + 1);
	put_bytes(&workload, 2, name, PATHPROF_PARCEL_NAME_BYTES + 1);
	put_message(&part, WORKLOADS, workload);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part), "a name of 4097 bytes"), -E2BIG);
	workload = (struct message){NULL, 0};
	put_bytes(&workload, 1, name, PATHPROF_PARCEL_HOST_BYTES);
	part = whole(1, SLOT_S, part_of(1));
	put_message(&part, HOST, workload);
	CU_ASSERT_EQUAL(code_of(part, "longer than 255 bytes"), -EBADMSG);
	free(name);
}

/* A part of version 2 with so many paths, coded in these bytes. */
static struct message with_rows(uint64_t path_cnt, const void *rows, size_t len)
{
	struct message part = part_of(1);

	put_number(&part, PATH_CNT, path_cnt);
	put_bytes(&part, ROWS, rows, len);
	return whole(2, SLOT_S, part);
}

/* Rows of zeros are so few bytes that only the count bounds them. */
static void test_rows(void)
{
	static const uint8_t zeros[4096];
	struct message part = part_of(1);

	CU_ASSERT_EQUAL(code_of(with_rows(0, zeros, 5), ""), 0);
	CU_ASSERT_EQUAL(code_of(with_rows(0, zeros, 4), "rows are damaged"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(with_rows(0, zeros, 6), "rows are damaged"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(with_rows(1000, zeros, 5), "rows are damaged"), -EBADMSG);
	CU_ASSERT_EQUAL(code_of(with_rows(1, "\xff\xff\xff\xff\xff\xff", 6), "rows are damaged"),
			-EBADMSG);
	CU_ASSERT_EQUAL(code_of(with_rows(1000001, zeros, 5), "1000001 rows"), -E2BIG);
	CU_ASSERT_EQUAL(code_of(with_rows(UINT32_MAX, zeros, 5), "4294967295 rows"), -E2BIG);
	put_bytes(&part, PATHS, "", 0);
	CU_ASSERT_EQUAL(code_of(whole(2, SLOT_S, part), "columns in version 2"), -EBADMSG);
}

static void test_many_rows(void)
{
	struct message part = part_of(1), paths = {NULL, 0}, column = {NULL, 0};

	put_many(&column, 0, 0, PATHPROF_PARCEL_ROWS_MAX / 2 + 1);
	put_message(&paths, 5, column);
	put_message(&part, PATHS, paths);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part), "1000002 rows of counts"), -E2BIG);
}

static void test_many_parts_and_windows(void)
{
	struct message m = whole(1, SLOT_S, part_of(1)), part = part_of(1);

	put_many(&m, PARTS << 3 | 2, 0, PATHPROF_PARCEL_PARTS_MAX);
	CU_ASSERT_EQUAL(code_of(m, "65 parts, above 64"), -E2BIG);
	put_many(&part, WINDOWS << 3 | 2, 0, PATHPROF_PARCEL_WINDOWS_MAX);
	CU_ASSERT_EQUAL(code_of(whole(1, SLOT_S, part), "4097 windows, above 4096"), -E2BIG);
}

/* A bomb is refused by its head, before anything is unpacked. */
static void test_bomb(void)
{
	size_t size = PATHPROF_PARCEL_UNPACKED_MAX + 1ul, bound = ZSTD_compressBound(size);
	uint8_t *zeros = calloc(1, size), *packed = malloc(bound);
	struct pathprof_error error = {""};
	struct pathprof_parcel read;
	size_t len = ZSTD_compress(packed, bound, zeros, size, 1);

	CU_ASSERT_FATAL(!ZSTD_isError(len) && len < 100000);
	CU_ASSERT_EQUAL(pathprof_parcel_read(&read, packed, len, &error), -E2BIG);
	CU_ASSERT(strstr(error.text, "67108865 bytes unpacked, above 67108864") != NULL);
	CU_ASSERT_EQUAL(
		pathprof_parcel_read(&read, zeros, PATHPROF_PARCEL_PACKED_MAX + 1ul, &error),
		-E2BIG);
	CU_ASSERT(strstr(error.text, "4194305 bytes packed") != NULL);
	free(zeros);
	free(packed);
}

static const struct unit_test tests[] = {
	{"changed bytes and cut files never read as another parcel", test_damaged_bytes},
	{"a changed message is refused or sound", test_damaged_message},
	{"versions, slots and unknown fields", test_heads},
	{"columns, numbers and sums that cannot be", test_tables},
	{"rows that cannot be", test_rows},
	{"what cannot be is not written", test_what_cannot_be_written},
	{"many names are refused", test_many_names},
	{"long names are refused", test_long_names},
	{"more named builds than can be read are not written", test_many_builds},
	{"many rows are refused", test_many_rows},
	{"many parts and windows are refused", test_many_parts_and_windows},
	{"a bomb is refused by its head", test_bomb},
};
UNIT_SUITE(parcel_refused, tests)
