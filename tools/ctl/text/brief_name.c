// SPDX-License-Identifier: GPL-2.0-or-later
/* Names without arguments: see brief_name.h. */
#include "brief_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

struct reader {
	const char *at;
	char *out; /* as long as the name */
	size_t len;
	unsigned int kept; /* angle brackets that are open in out */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || (c & 0x80);
}

static void copy(struct reader *r, size_t cnt)
{
	memcpy(r->out + r->len, r->at, cnt);
	r->len += cnt;
	r->at += cnt;
}

static char last_out(const struct reader *r)
{
	return r->len ? r->out[r->len - 1] : 0;
}

/* A bracket within arguments opens a group; "a > b" has brackets of its own around it. */
static bool opens_group(const char *group, const char *at)
{
	return strchr("([{", *at) || (*at == '<' && (at == group || at[-1] != ' '));
}

/* The text behind the group that begins here; NULL if the group does not end. */
static const char *behind_group(const char *group)
{
	static const char opening[] = "<([{", closing[] = ">)]}";
	char stack[DEPTH_MAX];
	size_t depth = 0;

	for (const char *at = group; *at; at++) {
		const char *open = strchr(opening, *at);

		if (open && opens_group(group, at)) {
			if (depth == DEPTH_MAX)
				return NULL;
			stack[depth++] = closing[open - opening];
		} else if (depth && *at == stack[depth - 1] && !(*at == '>' && at[-1] == '-')) {
			if (!--depth)
				return at + 1;
		}
	}
	return NULL;
}

/* "operator" and its sign, longer ones first; its brackets are no brackets. 0: none here. */
static size_t operator_len(const struct reader *r)
{
	static const char word[] = "operator";
	static const char *const signs[] = {
		"<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "++", "--",
		"+=",  "-=",  "*=",  "/=",  "%=", "^=", "&=", "|=", "==", "!=", "&&", "||", "<",
		">",   "+",   "-",   "*",   "/",  "%",  "^",  "&",  "|",  "~",  "!",  "=",  ","};
	const size_t len = strlen(word);

	if (strncmp(r->at, word, len) != 0 || is_word(last_out(r)))
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strncmp(r->at + len, signs[i], strlen(signs[i])) == 0)
			return len + strlen(signs[i]);
	return 0;
}

/* A function within a function is named with the qualifiers of the outer one. */
static void skip_qualifiers(struct reader *r)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &"};

	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++)
		if (strncmp(r->at, qualifiers[i], strlen(qualifiers[i])) == 0)
			r->at += strlen(qualifiers[i]);
}

/* Rust's <A as B>::f and "(anonymous namespace)" stand where a name may begin. */
static bool begins_arguments(const struct reader *r)
{
	char last = last_out(r);

	if (*r->at == '(')
		return is_word(last) || (last && strchr(")}>]", last));
	if (strncmp(r->at, "<impl ", 6) == 0)
		return false;
	return is_word(last) || (last && strchr(":)}]", last));
}

static bool skip_arguments(struct reader *r)
{
	const char *behind = behind_group(r->at);
	bool parameters = *r->at == '(';

	if (!behind)
		return false;
	r->at = behind;
	while (!parameters && last_out(r) == ':')
		r->len--;
	if (parameters)
		skip_qualifiers(r);
	return true;
}

/* The arguments of "operator<< <int>" follow a blank. */
static bool read_operator(struct reader *r, size_t len)
{
	copy(r, len);
	if (*r->at == ' ' && r->at[1] == '<')
		r->at++;
	return *r->at != '<' || skip_arguments(r);
}

static bool read_bracket(struct reader *r)
{
	if (*r->at == '>') {
		if (!r->kept)
			return false;
		r->kept--;
	} else if (begins_arguments(r)) {
		return skip_arguments(r);
	} else if (*r->at == '<') {
		r->kept++;
	}
	copy(r, 1);
	return true;
}

static bool read_next(struct reader *r)
{
	size_t len = operator_len(r);

	if (len)
		return read_operator(r, len);
	if (strchr("<>(", *r->at))
		return read_bracket(r);
	copy(r, 1);
	return true;
}

static bool read_name(struct reader *r)
{
	while (*r->at)
		if (!read_next(r))
			return false;
	return r->len && !r->kept;
}

char *brief_name(const char *readable)
{
	struct reader r = {.at = readable, .out = malloc(strlen(readable) + 1)};

	if (r.out && read_name(&r)) {
		r.out[r.len] = 0;
		return r.out;
	}
	free(r.out);
	return strdup(readable);
}
