// SPDX-License-Identifier: GPL-2.0-or-later
/* Times on the command line: see when.h. */
#include "when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"

#define NS_PER_S INT64_C(1000000000)

static void skip_blanks(const char **text)
{
	*text += strspn(*text, " \t");
}

int when_parse_span(const char *text, int64_t *ret_ns)
{
	uint64_t ns;
	int r = pp_span_parse(text, &ns);

	if (r == 0 && ns > INT64_MAX)
		r = -ERANGE;
	if (r == 0)
		*ret_ns = (int64_t)ns;
	return r;
}

/* The span in the first len bytes of text, behind or before now. */
static int relative(const char *text, size_t len, int sign, int64_t now_ns, int64_t *ret_ns)
{
	char span[64];
	int64_t span_ns;
	int r;

	if (len >= sizeof(span))
		return -EINVAL;
	memcpy(span, text, len);
	span[len] = 0;
	r = when_parse_span(span, &span_ns);
	if (r == 0 && __builtin_add_overflow(now_ns, sign * span_ns, ret_ns))
		r = -ERANGE;
	return r;
}

static int to_ns(time_t seconds, int64_t *ret_ns)
{
	return __builtin_mul_overflow(seconds, NS_PER_S, ret_ns) ? -ERANGE : 0;
}

/* Midnight at the beginning of the day `days` after today. */
static int day(int64_t now_ns, int days, int64_t *ret_ns)
{
	time_t now_s = (time_t)(now_ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&now_s, &tm))
		return -ERANGE;
	tm.tm_mday += days;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return to_ns(mktime(&tm), ret_ns);
}

static bool in_range(const struct tm *tm)
{
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year = tm->tm_year + 1900;
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	if (year < 1970 || year > 2200 || tm->tm_mon < 0 || tm->tm_mon > 11)
		return false;
	if (tm->tm_mday < 1 || tm->tm_mday > days[tm->tm_mon])
		return false;
	if (tm->tm_mon == 1 && tm->tm_mday == 29 && !leap)
		return false;
	return tm->tm_hour >= 0 && tm->tm_hour < 24 && tm->tm_min >= 0 && tm->tm_min < 60 &&
	       tm->tm_sec >= 0 && tm->tm_sec < 60;
}

/* Reads cnt numbers of digits only, with separator between them. */
static bool take_fields(const char **text, char separator, int *fields, int least, int most)
{
	int cnt = 0;

	for (;;) {
		size_t len = strspn(*text, "0123456789");

		if (len == 0 || len > 4 || cnt == most)
			return false;
		fields[cnt++] = (int)strtol(*text, NULL, 10);
		*text += len;
		if (**text != separator)
			return cnt >= least;
		(*text)++;
	}
}

static bool take_date(const char **text, struct tm *tm)
{
	int fields[3] = {0};

	if (!take_fields(text, '-', fields, 3, 3))
		return false;
	tm->tm_year = fields[0] - 1900;
	tm->tm_mon = fields[1] - 1;
	tm->tm_mday = fields[2];
	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
	return true;
}

static bool take_clock(const char **text, struct tm *tm)
{
	int fields[3] = {0};

	if (!take_fields(text, ':', fields, 2, 3))
		return false;
	tm->tm_hour = fields[0];
	tm->tm_min = fields[1];
	tm->tm_sec = fields[2];
	return true;
}

static bool take_word(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncasecmp(*text, word, len) != 0)
		return false;
	*text += len;
	return true;
}

/* Today's date, which differs between time zones. */
static bool take_today(int64_t now_ns, bool utc, struct tm *tm)
{
	time_t now_s = (time_t)(now_ns / NS_PER_S);
	struct tm today;

	if (!(utc ? gmtime_r(&now_s, &today) : localtime_r(&now_s, &today)))
		return false;
	tm->tm_year = today.tm_year;
	tm->tm_mon = today.tm_mon;
	tm->tm_mday = today.tm_mday;
	return true;
}

/* "DATE", "DATE TIME", "DATETTIME" or "TIME", then perhaps a zone. */
static int calendar(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	struct tm tm = {.tm_isdst = -1};
	bool has_date = strspn(text, "0123456789") == 4, utc;

	if (has_date && !take_date(&text, &tm))
		return -EINVAL;
	if (has_date && *text == 'T')
		text++;
	skip_blanks(&text);
	if (isdigit((unsigned char)*text)) {
		if (!take_clock(&text, &tm))
			return -EINVAL;
	} else if (!has_date) {
		return -EINVAL;
	}
	skip_blanks(&text);
	utc = take_word(&text, "UTC") || take_word(&text, "Z");
	if (!has_date && !take_today(now_ns, utc, &tm))
		return -ERANGE;
	if (*text || !in_range(&tm))
		return -EINVAL;
	return to_ns(utc ? timegm(&tm) : mktime(&tm), ret_ns);
}

/* Seconds, with or without a fraction. */
static int epoch(const char *text, int64_t *ret_ns)
{
	return text[strspn(text, "0123456789.")] ? -EINVAL : when_parse_span(text, ret_ns);
}

/* The length of text before the word at its end; 0: it does not end with that, or nothing is before
 * it. */
static size_t before_end(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0 ? len - end_len : 0;
}

int when_parse(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	skip_blanks(&text);
	if (!strcmp(text, "now")) {
		*ret_ns = now_ns;
		return 0;
	}
	if (!strcmp(text, "today"))
		return day(now_ns, 0, ret_ns);
	if (!strcmp(text, "yesterday"))
		return day(now_ns, -1, ret_ns);
	if (!strcmp(text, "tomorrow"))
		return day(now_ns, 1, ret_ns);
	if (*text == '@')
		return epoch(text + 1, ret_ns);
	if (*text == '-' || *text == '+')
		return relative(text + 1, strlen(text + 1), *text == '-' ? -1 : 1, now_ns, ret_ns);
	if (before_end(text, "ago"))
		return relative(text, before_end(text, "ago"), -1, now_ns, ret_ns);
	return calendar(text, now_ns, ret_ns);
}
