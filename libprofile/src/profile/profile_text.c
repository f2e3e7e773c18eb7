// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Files are read whole and stay in memory; keys point into them. Open addressing over hashes, at
 * most half full.
 */
#include "pathprof/profile_text.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/table.h"
#include "base/vector.h"

#define FILE_BYTES_MAX ((size_t)1 << 34)
#define NO_LINE        SIZE_MAX

/* A key; the two directions of a branch are one. text: what both share. */
struct key {
	const char *text;
	size_t len;
	uint64_t hash;
	bool pair;
	const char *whole[2]; /* each direction as it was first read, or [0] alone; NULL: never */
};

struct file {
	char *text;
	size_t len;
	struct pathprof_event *events;
	size_t cnt, room;
	struct pathprof_distribution distribution;
};

struct pathprof_text_profiles {
	enum pathprof_text_keys form;
	struct file *files;
	size_t file_cnt;
	struct key *keys; /* [key_cnt], by number; none of branches, which are their own numbers */
	size_t key_cnt, key_room;
	struct pp_table numbers; /* of keys */
	bool pairs;              /* every key so far was a direction of a branch */
	locale_t c;              /* the locale whose decimal point is a point */
};

/* ---------------------------------------------------------------- numbers for keys */

static bool same_key(const struct key *a, const struct key *b)
{
	return a->hash == b->hash && a->len == b->len && a->pair == b->pair &&
	       memcmp(a->text, b->text, a->len) == 0;
}

static bool is_pair(const char *text, size_t len)
{
	return len > 2 && text[len - 2] == '/' && (text[len - 1] == '0' || text[len - 1] == '1');
}

/* Returns what stands for the key in an event, twice its number plus the direction; or -ENOMEM. */
static int64_t number_of(struct pathprof_text_profiles *p, const char *text, size_t len)
{
	bool pair = is_pair(text, len);
	unsigned int direction = pair ? text[len - 1] & 1 : 0;
	struct key key = {.text = text, .len = pair ? len - 2 : len, .pair = pair};
	uint32_t number;

	key.hash = XXH3_64bits(text, key.len);
	number = pp_table_find(&p->numbers, key.hash, i, same_key(&p->keys[i], &key));

	if (number == PP_TABLE_NONE) {
		number = (uint32_t)p->key_cnt;
		if (pp_grow(&p->keys, p->key_cnt, &p->key_room) < 0)
			return -ENOMEM;
		p->keys[number] = key;
		if (pp_table_add(&p->numbers, key.hash, i, p->keys[i].hash) < 0)
			return -ENOMEM;
		p->key_cnt++;
	}
	if (!p->keys[number].whole[direction])
		p->keys[number].whole[direction] = text;
	return 2 * (int64_t)number + direction;
}

/* ---------------------------------------------------------------- lines */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ADDRESS/0 or ADDRESS/1, the address within 64 bits. */
static bool parse_branch(const char *text, size_t len, uint64_t *ret_address, uint32_t *ret_taken)
{
	size_t at = len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0;
	uint64_t address = 0;

	if (!is_pair(text, len) || len < at + 3)
		return false;
	for (; at < len - 2; at++) {
		int digit = hex_digit(text[at]);

		if (digit < 0 || address >> 60)
			return false;
		address = address << 4 | (unsigned int)digit;
	}
	*ret_address = address;
	*ret_taken = text[len - 1] & 1;
	return true;
}

static bool digits(const char **at, const char *end)
{
	const char *start = *at;

	while (*at < end && **at >= '0' && **at <= '9')
		++*at;
	return *at > start;
}

/* Reads a weight as the header describes it. In memory the end of the line follows. */
static bool parse_weight(locale_t c, const char *text, const char *end, double *ret_weight)
{
	const char *at = text;
	uint64_t whole = 0;

	if (!digits(&at, end))
		return false;
	if (at == end && end - text < 19) {
		for (; text < end; text++)
			whole = whole * 10 + (uint64_t)(*text - '0');
		*ret_weight = (double)whole;
		return true;
	}
	if (at < end && *at == '.') {
		at++;
		if (!digits(&at, end))
			return false;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		if (!digits(&at, end))
			return false;
	}
	*ret_weight = strtod_l(text, NULL, c);
	return at == end && *ret_weight <= PATHPROF_WEIGHT_MAX;
}

static int add_event(struct file *file, uint64_t key_hi, uint64_t key_lo, double weight)
{
	if (pp_grow(&file->events, file->cnt, &file->room) < 0)
		return -ENOMEM;
	file->events[file->cnt++] =
		(struct pathprof_event){.key_hi = key_hi, .key_lo = key_lo, .weight = weight};
	return 0;
}

static int add_line(struct pathprof_text_profiles *p, struct file *file, const char *line,
		    const char *end)
{
	const char *tab = memrchr(line, '\t', (size_t)(end - line));
	uint64_t address;
	uint32_t taken;
	double weight;
	int64_t number;

	if (!tab || tab == line || memchr(line, '\0', (size_t)(end - line)) ||
	    !parse_weight(p->c, tab + 1, end, &weight))
		return -EINVAL;
	p->pairs = p->pairs && is_pair(line, (size_t)(tab - line));
	if (p->form == PATHPROF_TEXT_BRANCHES)
		return parse_branch(line, (size_t)(tab - line), &address, &taken)
			       ? add_event(file, address >> 63, address << 1 | taken, weight)
			       : -EINVAL;
	number = number_of(p, line, (size_t)(tab - line));
	return number < 0 ? (int)number : add_event(file, 0, (uint64_t)number, weight);
}

/* *ret_line: the line at fault, from 1, or NO_LINE. The text ends with a newline and a zero. */
static int add_lines(struct pathprof_text_profiles *p, struct file *file, size_t *ret_line)
{
	char *at = file->text, *text_end = file->text + file->len;

	for (size_t line = 1; at < text_end; line++) {
		char *newline = memchr(at, '\n', (size_t)(text_end - at));
		char *end = newline > at && newline[-1] == '\r' ? newline - 1 : newline;
		int r;

		*end = '\n';
		r = add_line(p, file, at, end);
		if (r < 0) {
			*ret_line = r == -EINVAL ? line : NO_LINE;
			return r;
		}
		at = newline + 1;
	}
	return 0;
}

/* ---------------------------------------------------------------- files */

static int make_room(struct file *file, size_t *room)
{
	size_t more = *room ? 2 * *room : 65536;

	return more > FILE_BYTES_MAX ? -EFBIG : pp_reserve(&file->text, more, room);
}

/* All of it, a newline at its end, and a zero behind. */
static int read_stream(struct file *file, FILE *stream)
{
	size_t room = 0;
	int r;

	do {
		if (room - file->len < 3 && (r = make_room(file, &room)) < 0)
			return r;
		errno = 0;
		file->len += fread(file->text + file->len, 1, room - file->len - 2, stream);
		if (ferror(stream))
			return errno ? -errno : -EIO;
	} while (!feof(stream));
	if (file->len && file->text[file->len - 1] != '\n')
		file->text[file->len++] = '\n';
	file->text[file->len] = '\0';
	return 0;
}

static int read_text(struct file *file, const char *name)
{
	FILE *stream = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
	int r;

	if (!stream)
		return -errno;
	r = read_stream(file, stream);
	if (stream != stdin)
		fclose(stream);
	return r;
}

static int read_file(struct pathprof_text_profiles *p, struct file *file, const char *name,
		     struct pathprof_error *error)
{
	size_t line = NO_LINE;
	int r = read_text(file, name);

	if (r < 0)
		return pathprof_fail(error, r, "%s: cannot be read: %s", name, strerror(-r));
	r = add_lines(p, file, &line);
	if (r == -EINVAL)
		return pathprof_fail(
			error, r, "%s:%zu: not %s<TAB>WEIGHT with a decimal weight up to 2^64",
			name, line, p->form == PATHPROF_TEXT_BRANCHES ? "ADDRESS/0|1" : "KEY");
	if (r == 0)
		r = pathprof_events_sort(file->events, &file->cnt);
	if (r == -ERANGE)
		return pathprof_fail(error, r, "%s: the weights of a key exceed 2^64", name);
	if (r == 0)
		r = pathprof_distribution_init(&file->distribution, file->events, file->cnt);
	return r < 0 ? pathprof_fail(error, r, "%s: %s", name, strerror(-r)) : 0;
}

int pathprof_text_profiles_read(struct pathprof_text_profiles **ret_profiles,
				const char *const *files, size_t file_cnt,
				enum pathprof_text_keys keys, struct pathprof_error *error)
{
	struct pathprof_text_profiles *p = calloc(1, sizeof(*p));
	int r = 0;

	if (p) {
		p->files = calloc(file_cnt ? file_cnt : 1, sizeof(*p->files));
		p->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	}
	if (!p || !p->files || !p->c) {
		pathprof_text_profiles_free(p);
		return pathprof_fail(error, -ENOMEM, "out of memory");
	}
	p->form = keys;
	p->pairs = true;
	p->file_cnt = file_cnt;
	for (size_t i = 0; i < file_cnt && r == 0; i++)
		r = read_file(p, &p->files[i], files[i], error);
	if (r < 0)
		pathprof_text_profiles_free(p);
	else
		*ret_profiles = p;
	return r;
}

void pathprof_text_profiles_free(struct pathprof_text_profiles *profiles)
{
	if (!profiles)
		return;
	for (size_t i = 0; i < profiles->file_cnt && profiles->files; i++) {
		free(profiles->files[i].text);
		free(profiles->files[i].events);
	}
	free(profiles->files);
	free(profiles->keys);
	pp_table_release(&profiles->numbers);
	if (profiles->c)
		freelocale(profiles->c);
	free(profiles);
}

const struct pathprof_distribution *
pathprof_text_profile(const struct pathprof_text_profiles *profiles, size_t i)
{
	return i < profiles->file_cnt ? &profiles->files[i].distribution : NULL;
}

const char *pathprof_text_key(const struct pathprof_text_profiles *profiles,
			      const struct pathprof_event *event, size_t *ret_len)
{
	const struct key *key = profiles->keys + event->key_lo / 2;
	const char *whole;

	if (profiles->form == PATHPROF_TEXT_BRANCHES || event->key_hi ||
	    event->key_lo / 2 >= profiles->key_cnt)
		return NULL;
	whole = key->whole[event->key_lo & 1];
	if (whole)
		*ret_len = key->len + (key->pair ? 2 : 0);
	return whole;
}

bool pathprof_text_are_branches(const struct pathprof_text_profiles *profiles)
{
	return profiles->pairs;
}
