// SPDX-License-Identifier: GPL-2.0-or-later
/* Making text safe and short: see text.h. */
#include "text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "base/utf8.h"
#include "cleanup.h"
#include "term.h"

unsigned int text_decode(const char *text, uint32_t *ret_code_point)
{
	const unsigned char *bytes = (const unsigned char *)text;
	unsigned int len = (unsigned int)pp_utf8_len(text);

	if (!len)
		return 0;
	*ret_code_point = len > 1 ? bytes[0] & (0x7fU >> len) : bytes[0];
	for (unsigned int i = 1; i < len; i++)
		*ret_code_point = *ret_code_point << 6 | (bytes[i] & 0x3f);
	return len;
}

/* Characters without a place of their own can reorder or hide the ones beside them. */
static bool fools_the_eye(uint32_t code_point)
{
	return (code_point >= 0x200b && code_point <= 0x200f) ||
	       (code_point >= 0x2028 && code_point <= 0x202e) ||
	       (code_point >= 0x2060 && code_point <= 0x206f) || code_point == 0xfeff ||
	       (code_point >= 0xfff9 && code_point <= 0xfffb) || code_point >> 12 == 0xe0 ||
	       code_point == 0x180e || code_point == 0x61c || code_point == 0xad;
}

static unsigned int shown_len(const char *text)
{
	uint32_t code_point;
	unsigned int len = text_decode(text, &code_point);

	if (len <= 1)
		return len == 1 && code_point >= 0x20 && code_point < 0x7f;
	if (!ctl_term.utf8 || fools_the_eye(code_point) || wcwidth((wchar_t)code_point) < 0)
		return 0;
	return len;
}

char *text_escape(const char *text)
{
	size_t size = strlen(text) * 4 + 1;
	char *out = ctl_alloc(size);
	size_t at = 0;

	while (*text) {
		unsigned int len = shown_len(text);

		if (len) {
			memcpy(out + at, text, len);
			at += len;
			text += len;
		} else {
			at += (size_t)snprintf(out + at, size - at, "\\x%02x",
					       (unsigned char)*text++);
		}
	}
	return out;
}

char *text_valid_utf8(const char *text)
{
	char *valid = pp_utf8_text(text);

	if (!valid)
		ctl_no_memory();
	return valid;
}

/* Columns of the character at text, its bytes in ret_len. */
static unsigned int char_width(const char *text, unsigned int *ret_len)
{
	uint32_t code_point;
	unsigned int len = text_decode(text, &code_point);
	int width = len > 1 ? wcwidth((wchar_t)code_point) : 1;

	*ret_len = len ? len : 1;
	return width < 0 ? 1 : (unsigned int)width;
}

unsigned int text_width(const char *text)
{
	unsigned int width = 0, len;

	for (; *text; text += len)
		width += char_width(text, &len);
	return width;
}

/* Bytes of the longest beginning that fits in width columns. */
static size_t head_len(const char *text, unsigned int width)
{
	size_t at = 0;

	while (text[at]) {
		unsigned int len, columns = char_width(text + at, &len);

		if (columns > width)
			break;
		width -= columns;
		at += len;
	}
	return at;
}

/* The mark for a part left out. */
static const char *gap_text(void)
{
	return ctl_term.utf8 ? "\xe2\x80\xa6" : "..";
}

char *text_shorten(const char *text, unsigned int width)
{
	const char *gap = gap_text();
	unsigned int all = text_width(text), gap_width = text_width(gap);

	if (all <= width)
		return ctl_strdup(text);
	if (width <= gap_width + 1)
		return ctl_printf("%.*s", (int)head_len(text, width), text);

	/* The end tells more about a path name or a function than its beginning. */
	unsigned int head = (width - gap_width) * 2 / 5;
	unsigned int tail = width - gap_width - head;
	size_t tail_at = head_len(text, all - tail);

	while (text_width(text + tail_at) > tail) {
		unsigned int len;

		char_width(text + tail_at, &len);
		tail_at += len;
	}
	return ctl_printf("%.*s%s%s", (int)head_len(text, head), text, gap, text + tail_at);
}

char *text_shorten_list(const char *text, unsigned int width)
{
	const char *gap = gap_text();
	unsigned int gap_width = text_width(gap);
	size_t end;

	if (text_width(text) <= width || width <= gap_width)
		return text_shorten(text, width);
	end = head_len(text, width - gap_width);
	while (end >= 2 && memcmp(text + end - 2, ", ", 2) != 0)
		end--;
	return ctl_printf("%.*s%s", (int)(end >= 2 ? end : 0), text, gap);
}

void text_bar(char *out, size_t size, double part, double whole, unsigned int width)
{
	static const char *const eighths[] = {"",
					      "\xe2\x96\x8f",
					      "\xe2\x96\x8e",
					      "\xe2\x96\x8d",
					      "\xe2\x96\x8c",
					      "\xe2\x96\x8b",
					      "\xe2\x96\x8a",
					      "\xe2\x96\x89",
					      "\xe2\x96\x88"};
	double ratio = whole > 0 && part > 0 ? part / whole : 0;
	unsigned int full = (unsigned int)((ratio > 1 ? 1 : ratio) * width * 8 + 0.5);
	size_t at = 0;

	out[0] = 0;
	if (!ctl_term.utf8)
		full = (full + 4) / 8 * 8;
	for (; full && at + 4 <= size; full -= full < 8 ? full : 8)
		at += (size_t)snprintf(out + at, size - at, "%s",
				       ctl_term.utf8 ? eighths[full < 8 ? full : 8] : "#");
}

char *text_outcomes(char out[static TEXT_OUTCOMES_SIZE], uint32_t length, uint32_t outcomes)
{
	uint32_t i;

	for (i = 0; i < length && i < 32; i++)
		out[i] = outcomes >> i & 1 ? 'T' : 'N';
	if (i == 0)
		out[i++] = '-';
	out[i] = 0;
	return out;
}

char *text_bytes(char *out, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes;
	unsigned int unit = 0;

	for (; value >= 1024 && unit < 4; unit++)
		value /= 1024;
	snprintf(out, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return out;
}

/* "5min 30s", the second part only when there is one. */
static void two_units(char *out, size_t size, int64_t s, int64_t unit_s, const char *unit,
		      int64_t part_s, const char *part)
{
	int64_t parts = s % unit_s / part_s;

	if (parts)
		snprintf(out, size, "%" PRId64 "%s %" PRId64 "%s", s / unit_s, unit, parts, part);
	else
		snprintf(out, size, "%" PRId64 "%s", s / unit_s, unit);
}

char *text_duration(char *out, size_t size, int64_t ns)
{
	int64_t s = ns / CTL_NS_PER_S;

	if (s < 10)
		snprintf(out, size, "%.2fs", (double)ns / (double)CTL_NS_PER_S);
	else if (s < 60)
		snprintf(out, size, "%" PRId64 "s", s);
	else if (s < 3600)
		two_units(out, size, s, 60, "min", 1, "s");
	else if (s < 86400)
		two_units(out, size, s, 3600, "h", 60, "min");
	else
		two_units(out, size, s, 86400, "d", 3600, "h");
	return out;
}

char *text_time(char *out, size_t size, int64_t ns)
{
	time_t s = (time_t)(ns / CTL_NS_PER_S);
	struct tm tm;

	if (ns <= 0 || !localtime_r(&s, &tm) || !strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(out, size, "-");
	return out;
}

char *text_nameless(const char *path)
{
	const char *base = text_base_name(path);

	return *base == '[' ? ctl_strdup(base) : ctl_printf("[%s]", base);
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool text_is_call(const char *instruction)
{
	static const char *const prefixes[] = {"bnd ", "notrack "};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(instruction, prefixes[i], strlen(prefixes[i])) == 0)
			instruction += strlen(prefixes[i]);
	return strncmp(instruction, "call", 4) == 0;
}
