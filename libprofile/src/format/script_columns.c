// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The columns before a branch stack, whichever -F asked for:
 *
 *     COMM PID/TID [CPU] MISC SECONDS.FRACTION: PERIOD EVENT: IP SYMBOL (DSO)
 *
 * None of them need be there, and COMM is what a process made of it, blanks and colons included.
 * Hence an anchor: the last word that can be a time, else the last PID/TID. The columns before the
 * anchor end with pid and CPU, the columns behind it begin with the event. Without an
 * anchor the width of a column tells a pid from an address and a period. The name of
 * an event is one word, but two where perf knows no more than its number: "raw 0x20c4:u".
 *
 * One number in the place of PID/TID is taken for both: text has no means to tell -F pid from
 * -F tid.
 *
 * Workload: once a sample; some ten words.
 *
 * Source: perf_sample__fprintf_start() and process_event() in tools/perf/builtin-script.c.
 */
#include "pp_script.h"

#include <string.h>

/* The name of a process has eight words at most; the symbol behind the address is not looked at. */
#define WORDS_MAX 48

/* The least width of these columns, as perf prints them; an address with the blank before it. */
#define PERIOD_WIDTH 10
#define IP_WIDTH     17

struct word {
	const char *at;
	size_t len, width; /* width: with the blanks before it */
};

struct words {
	struct word word[WORDS_MAX];
	size_t cnt;
};

static void split(const char *at, const char *end, struct words *words)
{
	words->cnt = 0;
	while (words->cnt < WORDS_MAX) {
		struct word *word = &words->word[words->cnt];
		const char *before = at;

		while (at < end && pp_scan_is_space(*at))
			at++;
		word->at = at;
		while (at < end && !pp_scan_is_space(*at))
			at++;
		word->len = (size_t)(at - word->at);
		word->width = (size_t)(at - before);
		if (word->len == 0)
			return;
		words->cnt++;
	}
}

bool pp_script_pid(const char **at, uint32_t *ret_pid)
{
	uint64_t pid;

	if (pp_scan_word(at, "-1")) {
		*ret_pid = UINT32_MAX;
		return true;
	}
	if (!pp_scan_number(at, UINT32_MAX, &pid))
		return false;
	*ret_pid = (uint32_t)pid;
	return true;
}

static bool is_at_end(const struct word *word, const char *at)
{
	return at == word->at + word->len;
}

/* "12.345678:" or with nanoseconds. */
static bool is_time(const struct word *word, uint64_t *ret_ns)
{
	const char *at = word->at, *fraction;
	uint64_t s, ns;

	if (!pp_scan_decimal(&at, &s) || !pp_scan_char(&at, '.'))
		return false;
	fraction = at;
	if (!pp_scan_decimal(&at, &ns) || (at - fraction != 6 && at - fraction != 9))
		return false;
	if (at - fraction == 6)
		ns *= 1000;
	return pp_scan_char(&at, ':') && is_at_end(word, at) &&
	       !__builtin_mul_overflow(s, UINT64_C(1000000000), &s) &&
	       !__builtin_add_overflow(s, ns, ret_ns);
}

static bool is_pid_tid(const struct word *word, uint32_t *ret_pid, uint32_t *ret_tid)
{
	const char *at = word->at;
	uint32_t pid, tid;

	if (!pp_script_pid(&at, &pid) || !pp_scan_char(&at, '/') || !pp_script_pid(&at, &tid) ||
	    !is_at_end(word, at))
		return false;
	*ret_pid = pid;
	*ret_tid = tid;
	return true;
}

static bool is_cpu(const struct word *word, uint32_t *ret_cpu)
{
	const char *at = word->at;
	uint64_t cpu;

	if (!pp_scan_char(&at, '[') || !pp_scan_number(&at, UINT32_MAX, &cpu) ||
	    !pp_scan_char(&at, ']') || !is_at_end(word, at))
		return false;
	*ret_cpu = (uint32_t)cpu;
	return true;
}

static bool is_number(const struct word *word, uint64_t max, uint64_t *ret_value)
{
	const char *at = word->at;

	uint64_t value;

	if (!pp_scan_number(&at, max, &value) || !is_at_end(word, at))
		return false;
	*ret_value = value;
	return true;
}

static bool is_hex(const struct word *word, uint64_t *ret_value)
{
	const char *at = word->at;

	uint64_t value;

	if (!pp_scan_hex(&at, &value) || !is_at_end(word, at))
		return false;
	*ret_value = value;
	return true;
}

static bool is_event(const struct word *word)
{
	return word->len > 1 && word->at[word->len - 1] == ':';
}

/* "raw 0x20c4:u:", the word and the one behind it. */
static bool is_raw_event(const struct word *word)
{
	return word->len == 3 && !memcmp(word->at, "raw", 3) && !strncmp(word[1].at, "0x", 2) &&
	       is_event(&word[1]);
}

/* The number of words of the event that begins with the i-th one; 0: none begins there. */
static size_t event_words(const struct words *words, size_t i)
{
	if (i < words->cnt && is_event(&words->word[i]))
		return 1;
	return i + 1 < words->cnt && is_raw_event(&words->word[i]) ? 2 : 0;
}

static bool is_period(const struct word *word, uint64_t *ret_period)
{
	return word->width >= PERIOD_WIDTH && is_number(word, UINT64_MAX, ret_period);
}

/* A number before an event is its period; without an event the width tells it from an address. */
static bool is_period_at(const struct words *words, size_t i, uint64_t *ret_period)
{
	const struct word *word = &words->word[i];

	if (event_words(words, i + 1))
		return is_number(word, UINT64_MAX, ret_period);
	return i < words->cnt && word->width < IP_WIDTH && is_period(word, ret_period);
}

/* -F misc: the mode's letters. */
static bool is_misc(const struct word *word)
{
	return strspn(word->at, "KUHGgMESp") >= word->len;
}

/* The name from first to last, behind which the other columns begin. */
static void take_event(struct pp_script_columns *columns, const struct word *first,
		       const struct word *last)
{
	columns->has_event = true;
	columns->event = first->at;
	columns->right = last->at + last->len;
	columns->event_len = (size_t)(columns->right - 1 - first->at);
}

static void set_right(struct pp_script_columns *columns, const struct word *anchor)
{
	columns->anchored = true;
	columns->right = anchor->at + anchor->len;
}

/* Period, event and address, from the i-th word on. */
static void take_right(const struct words *words, size_t i, struct pp_script_columns *columns)
{
	const struct word *word = words->word;
	size_t name_words;
	uint64_t value;

	if (is_period_at(words, i, &columns->period))
		i++;
	name_words = event_words(words, i);
	if (name_words)
		take_event(columns, &word[i], &word[i + name_words - 1]);
	i += name_words;
	if (i == words->cnt)
		return;
	if (!is_hex(&word[i], &columns->ip)) {
		columns->bad = word[i].at;
		return;
	}
	columns->has_ip = true;
	i++;
	/* A second address: the first was -F addr's. */
	if (i < words->cnt && word[i].width >= IP_WIDTH && is_hex(&word[i], &value))
		columns->bad = word[i].at;
}

/* Process and CPU, the last of them before the i-th word. */
static void take_left(const struct words *words, size_t i, struct pp_script_columns *columns)
{
	const struct word *word = words->word;
	uint64_t value;

	if (i > 1 && is_misc(&word[i - 1]))
		i--;
	if (i > 0 && is_cpu(&word[i - 1], &columns->cpu))
		i--;
	if (i == 0)
		return;
	if (is_pid_tid(&word[i - 1], &columns->pid, &columns->tid))
		return;
	if (is_number(&word[i - 1], UINT32_MAX, &value))
		columns->pid = columns->tid = (uint32_t)value;
}

static bool take_time(const struct words *words, struct pp_script_columns *columns)
{
	for (size_t i = words->cnt; i-- > 0;)
		if (is_time(&words->word[i], &columns->time_ns)) {
			columns->has_time = true;
			set_right(columns, &words->word[i]);
			take_left(words, i, columns);
			take_right(words, i + 1, columns);
			return true;
		}
	return false;
}

static bool take_pid_tid(const struct words *words, struct pp_script_columns *columns)
{
	for (size_t i = words->cnt; i-- > 0;)
		if (is_pid_tid(&words->word[i], &columns->pid, &columns->tid)) {
			set_right(columns, &words->word[i++]);
			if (i < words->cnt && is_cpu(&words->word[i], &columns->cpu))
				i++;
			take_right(words, i, columns);
			return true;
		}
	return false;
}

/* The event; else the address; else there is none. */
static size_t find_event_or_ip(const struct words *words)
{
	const struct word *word = words->word;
	uint64_t value;

	for (size_t i = words->cnt; i-- > 0;)
		if (is_event(&word[i]))
			return i - (i > 0 && event_words(words, i - 1) > 1);
	for (size_t i = 0; i < words->cnt; i++)
		if (word[i].width >= IP_WIDTH && is_hex(&word[i], &value))
			return i;
	return words->cnt;
}

/* The same, or the period before it. */
static size_t find_right(const struct words *words)
{
	size_t i = find_event_or_ip(words);
	uint64_t value;

	return i - (i > 0 && is_period(&words->word[i - 1], &value));
}

static void take_unanchored(const struct words *words, struct pp_script_columns *columns)
{
	size_t i = find_right(words);

	take_left(words, i, columns);
	take_right(words, i, columns);
}

void pp_script_columns(const char *line, const char *end, struct pp_script_columns *ret_columns)
{
	struct words words;

	*ret_columns = (struct pp_script_columns){.pid = UINT32_MAX,
						  .tid = UINT32_MAX,
						  .cpu = UINT32_MAX,
						  .period = 1,
						  .right = line};
	split(line, end, &words);
	if (!take_time(&words, ret_columns) && !take_pid_tid(&words, ret_columns))
		take_unanchored(&words, ret_columns);
}
