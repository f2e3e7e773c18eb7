// SPDX-License-Identifier: GPL-2.0-or-later
/* Times, spans and sizes on the command line: see when.h. */
#include "when.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000.0

static const struct {
	const char *name;
	double seconds;
} units[] = {
	{"us", 1e-6},     {"usec", 1e-6},    {"ms", 1e-3},       {"msec", 1e-3},
	{"s", 1},         {"sec", 1},        {"second", 1},      {"seconds", 1},
	{"m", 60},        {"min", 60},       {"minute", 60},     {"minutes", 60},
	{"h", 3600},      {"hr", 3600},      {"hour", 3600},     {"hours", 3600},
	{"d", 86400},     {"day", 86400},    {"days", 86400},    {"w", 604800},
	{"week", 604800}, {"weeks", 604800}, {"month", 2629800}, {"months", 2629800},
	{"M", 2629800},   {"y", 31557600},   {"year", 31557600}, {"years", 31557600},
};

/* A plain decimal number: strtod alone would take "inf", "nan" and hex as well. */
static bool take_number(const char **text, double *ret_value)
{
	size_t len = strspn(*text, "0123456789.");
	char digits[32];
	char *end;

	if (len == 0 || len >= sizeof(digits))
		return false;
	memcpy(digits, *text, len);
	digits[len] = 0;
	*ret_value = strtod(digits, &end);
	*text += len;
	return *end == 0 && end != digits;
}

static bool take_unit(const char **text, double *ret_seconds)
{
	size_t len = 0;

	while (isalpha((unsigned char)(*text)[len]))
		len++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) != len || strncmp(units[i].name, *text, len) != 0)
			continue;
		*text += len;
		*ret_seconds = units[i].seconds;
		return true;
	}
	if (len)
		return false;
	*ret_seconds = 1;
	return true;
}

static void skip_blanks(const char **text)
{
	*text += strspn(*text, " \t");
}

/* Sums "1h 30min" up to the end or to the word stop. */
static int span_seconds(const char *text, const char *stop, double *ret_seconds)
{
	double sum = 0;
	bool any = false;

	for (skip_blanks(&text); *text && (!stop || strcmp(text, stop) != 0); skip_blanks(&text)) {
		double value, unit;

		if (!take_number(&text, &value))
			return -EINVAL;
		skip_blanks(&text);
		if (stop && strcmp(text, stop) == 0)
			unit = 1;
		else if (!take_unit(&text, &unit))
			return -EINVAL;
		sum += value * unit;
		any = true;
	}
	if (!any || (stop && !*text))
		return -EINVAL;
	*ret_seconds = sum;
	return 0;
}

static int to_ns(double seconds, int64_t *ret_ns)
{
	if (!(fabs(seconds) < 9e9))
		return -ERANGE;
	*ret_ns = (int64_t)llround(seconds * NS_PER_S);
	return 0;
}

int when_parse_span(const char *text, int64_t *ret_ns)
{
	double seconds;
	int r = span_seconds(text, NULL, &seconds);

	return r < 0 ? r : to_ns(seconds, ret_ns);
}

static int relative(const char *text, const char *stop, int sign, int64_t now_ns, int64_t *ret_ns)
{
	double seconds = 0;
	int64_t span_ns = 0;
	int r = span_seconds(text, stop, &seconds);

	if (r == 0)
		r = to_ns(seconds, &span_ns);
	if (r < 0)
		return r;
	if (__builtin_add_overflow(now_ns, sign * span_ns, ret_ns))
		return -ERANGE;
	return 0;
}

/* Midnight of the day `days` after the one of now. */
static int day(int64_t now_ns, int days, int64_t *ret_ns)
{
	time_t now_s = (time_t)(now_ns / (int64_t)NS_PER_S);
	struct tm tm;

	if (!localtime_r(&now_s, &tm))
		return -ERANGE;
	tm.tm_mday += days;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	return to_ns((double)mktime(&tm), ret_ns);
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

/* "DATE", "DATE TIME", "DATETTIME" or "TIME", then perhaps a zone. */
static int calendar(const char *text, int64_t now_ns, int64_t *ret_ns)
{
	time_t now_s = (time_t)(now_ns / (int64_t)NS_PER_S);
	struct tm tm = {0};
	bool has_date = strspn(text, "0123456789") == 4, utc;

	if (!localtime_r(&now_s, &tm))
		return -ERANGE;
	tm.tm_isdst = -1;
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
	if (*text || !in_range(&tm))
		return -EINVAL;
	return to_ns((double)(utc ? timegm(&tm) : mktime(&tm)), ret_ns);
}

static int epoch(const char *text, int64_t *ret_ns)
{
	double seconds;

	if (!take_number(&text, &seconds) || *text)
		return -EINVAL;
	return to_ns(seconds, ret_ns);
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
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
		return relative(text + 1, NULL, *text == '-' ? -1 : 1, now_ns, ret_ns);
	if (ends_in(text, "ago"))
		return relative(text, "ago", -1, now_ns, ret_ns);
	return calendar(text, now_ns, ret_ns);
}

int when_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char suffixes[] = "BKMGT";
	double value;
	const char *suffix;

	if (!take_number(&text, &value))
		return -EINVAL;
	skip_blanks(&text);
	if (*text) {
		suffix = strchr(suffixes, toupper((unsigned char)*text));
		if (!suffix ||
		    (text[1] && strcmp(text + 1, "iB") != 0 && strcmp(text + 1, "B") != 0))
			return -EINVAL;
		value = ldexp(value, 10 * (int)(suffix - suffixes));
	}
	if (!(value < 9e18))
		return -ERANGE;
	*ret_bytes = (uint64_t)value;
	return 0;
}
