// SPDX-License-Identifier: GPL-2.0-or-later
/* Words of the script, and bytes of the file: see perf_data.h. */
#include "perf_data.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_MAX (60u << 10) /* compressed at a time */

static unsigned part_cnt;
static uint8_t plain[PLAIN_MAX + RECORD_MAX];
static size_t plain_len;
FILE *pdw_out;
FILE *pdw_main_out;
const char *pdw_out_name;
uint8_t pdw_record[RECORD_MAX + 64];
size_t pdw_record_len;
uint32_t pdw_zip_type;
ZSTD_CCtx *pdw_zip;
unsigned pdw_line;

void pdw_fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "perf_data_write: line %u: ", pdw_line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

uint64_t pdw_number(const char *word)
{
	char *end;
	uint64_t value = strtoull(word ? word : "", &end, 0);

	if (!word || end == word || *end)
		pdw_fail("not a number: %s", word ? word : "(nothing)");
	return value;
}

const char *pdw_option(char **words, const char *key)
{
	size_t len = strlen(key);

	for (; *words; words++)
		if (strncmp(*words, key, len) == 0 && (*words)[len] == '=')
			return *words + len + 1;
	return NULL;
}

uint64_t pdw_option_number(char **words, const char *key, uint64_t otherwise)
{
	const char *value = pdw_option(words, key);

	return value ? pdw_number(value) : otherwise;
}

bool pdw_has_word(char **words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* ---------------------------------------------------------------- bytes */

void pdw_put_file(const void *bytes, size_t len)
{
	if (fwrite(bytes, 1, len, pdw_out) != len)
		pdw_fail("cannot write");
}

void pdw_put(const void *bytes, size_t len)
{
	if (pdw_record_len + len > RECORD_MAX)
		pdw_fail("a record of more than %d bytes", RECORD_MAX);
	memcpy(pdw_record + pdw_record_len, bytes, len);
	pdw_record_len += len;
}

static void put_u16(uint16_t value)
{
	pdw_put(&value, 2);
}

void pdw_put_u32(uint32_t value)
{
	pdw_put(&value, 4);
}

void pdw_put_u64(uint64_t value)
{
	pdw_put(&value, 8);
}

void pdw_put_zeros(size_t len)
{
	static const uint8_t zeros[RECORD_MAX];

	pdw_put(zeros, len);
}

/* With its end, padded to words of 8 bytes. */
void pdw_put_text(const char *text)
{
	pdw_put(text, strlen(text) + 1);
	pdw_put_zeros(-pdw_record_len & 7);
}

void pdw_put_hex(const char *hex, size_t room)
{
	uint8_t bytes[RECORD_MAX / 2] = {0};
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len && i < sizeof(bytes); i++) {
		const char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	pdw_put(bytes, room ? room : len);
}

void pdw_begin(uint32_t type, uint16_t misc)
{
	pdw_record_len = 0;
	pdw_put_u32(type);
	put_u16(misc);
	put_u16(0);
}

static void zip_some(void)
{
	uint8_t packed[RECORD_MAX];
	ZSTD_inBuffer in = {plain, plain_len, 0};
	ZSTD_outBuffer result = {packed, sizeof(packed) - 32, 0};
	size_t head = pdw_zip_type == 83 ? 16 : 8, padded;

	if (!plain_len)
		return;
	if (ZSTD_isError(ZSTD_compressStream2(pdw_zip, &result, &in, ZSTD_e_flush)) ||
	    in.pos < in.size)
		pdw_fail("cannot compress");
	padded = pdw_zip_type == 83 ? (head + result.pos + 7) & ~7ul : head + result.pos;
	pdw_begin(pdw_zip_type, 0);
	if (pdw_zip_type == 83)
		pdw_put_u64(result.pos);
	pdw_put(packed, result.pos);
	pdw_put_zeros(padded - pdw_record_len);
	memcpy(pdw_record + 6, &(uint16_t){(uint16_t)padded}, 2);
	pdw_put_file(pdw_record, pdw_record_len);
	plain_len = 0;
}

void pdw_end(void)
{
	memcpy(pdw_record + 6, &(uint16_t){(uint16_t)pdw_record_len}, 2);
	if (!pdw_zip_type) {
		pdw_put_file(pdw_record, pdw_record_len);
		return;
	}
	/* Half of a record stays for the next piece, as perf cuts them. */
	memcpy(plain + plain_len, pdw_record, pdw_record_len);
	plain_len += pdw_record_len;
	if (plain_len >= PLAIN_MAX / 2) {
		size_t rest = pdw_record_len / 2;
		uint8_t kept[RECORD_MAX];

		memcpy(kept, plain + plain_len - rest, rest);
		plain_len -= rest;
		zip_some();
		memcpy(plain, kept, rest);
		plain_len = rest;
	}
}

/* Closes any record but a sample: who, when and whose. */
void pdw_end_with_trailer(uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct pdw_event *e = &pdw_events[0];
	uint64_t type = e->flags >> 18 & 1 ? e->sample_type : 0, id = e->id_cnt ? e->ids[0] : 0;

	if (type & 0x2) {
		pdw_put_u32(pid);
		pdw_put_u32(tid);
	}
	if (type & 0x4)
		pdw_put_u64(time);
	if (type & 0x40)
		pdw_put_u64(id);
	if (type & 0x200)
		pdw_put_u64(id);
	if (type & 0x80)
		pdw_put_u64(0);
	if (type & 0x10000)
		pdw_put_u64(id);
	pdw_end();
}

/* ---------------------------------------------------------------- parts of a file */

void pdw_start_zip(uint32_t type, const char *level, const char *window_log)
{
	pdw_zip_type = type;
	if (!pdw_zip)
		pdw_zip = ZSTD_createCCtx();
	if (!pdw_zip)
		pdw_fail("no memory");
	ZSTD_CCtx_reset(pdw_zip, ZSTD_reset_session_only);
	if (level)
		ZSTD_CCtx_setParameter(pdw_zip, ZSTD_c_compressionLevel, (int)pdw_number(level));
	if (window_log)
		ZSTD_CCtx_setParameter(pdw_zip, ZSTD_c_windowLog, (int)pdw_number(window_log));
}

void pdw_stop_zip(void)
{
	zip_some();
	pdw_zip_type = 0;
}

void pdw_close_part(void)
{
	if (pdw_zip_type)
		pdw_stop_zip();
	if (pdw_out != pdw_main_out && fclose(pdw_out) != 0)
		pdw_fail("cannot write a part");
	pdw_out = pdw_main_out;
}

void pdw_start_part(void)
{
	char name[4096];

	pdw_close_part();
	snprintf(name, sizeof(name), "%s.%u", pdw_out_name, part_cnt++);
	pdw_out = fopen(name, "w");
	if (!pdw_out)
		pdw_fail("cannot write %s", name);
}
