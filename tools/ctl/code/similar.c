// SPDX-License-Identifier: GPL-2.0-or-later
/* Names near a word: see similar.h. */
#include "similar.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../ctl.h"
#include "../text/brief_name.h"
#include "../text/cleanup.h"
#include "demangle.h"

/* Letters that two names may differ in, and how long a name must be for each. */
#define EDITS_MAX       2
#define LETTERS_AN_EDIT 3

enum rank { SAME_BUT_CASE, HAS_WORD, HAS_LAST_PART, DIFFERS, FAR = DIFFERS + EDITS_MAX + 1 };

/* Returns submit for Book::submit. */
static const char *last_part(const char *word)
{
	const char *part = word;

	for (const char *at = word; (at = strstr(at, "::")); part = at += 2)
		;
	return *part ? part : word;
}

/*
 * How many letters have to be put in, taken out or replaced (Levenshtein), at most EDITS_MAX + 1:
 * what is further away is not worked out.
 */
static unsigned int edits_between(const char *a, const char *b, unsigned int left)
{
	unsigned int least, other;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (!*a && !*b)
		return 0;
	if (!left)
		return 1;
	least = *a && *b ? edits_between(a + 1, b + 1, left - 1) : left;
	other = *a ? edits_between(a + 1, b, left - 1) : left;
	least = other < least ? other : least;
	other = *b ? edits_between(a, b + 1, left - 1) : left;
	return 1 + (other < least ? other : least);
}

static unsigned int rank_of(const char *word, const char *name)
{
	size_t allowed = strlen(last_part(word)) / LETTERS_AN_EDIT;
	unsigned int edits;

	if (!strcasecmp(name, word))
		return SAME_BUT_CASE;
	if (strcasestr(name, word))
		return HAS_WORD;
	if (strcasestr(name, last_part(word)))
		return HAS_LAST_PART;
	edits = edits_between(last_part(word), last_part(name), EDITS_MAX);
	return edits <= EDITS_MAX && edits <= allowed ? DIFFERS + edits : FAR;
}

static bool is_known(const struct similar *similar, const char *name)
{
	for (size_t i = 0; i < similar->cnt; i++)
		if (!strcmp(similar->names[i], name))
			return true;
	return false;
}

static void insert(struct similar *similar, size_t at, const char *name, unsigned int rank)
{
	if (similar->cnt == SIMILAR_MAX)
		free(similar->names[--similar->cnt]);
	for (size_t i = similar->cnt; i > at; i--) {
		similar->names[i] = similar->names[i - 1];
		similar->ranks[i] = similar->ranks[i - 1];
	}
	similar->names[at] = ctl_strdup(name);
	similar->ranks[at] = rank;
	similar->cnt++;
}

void similar_offer(struct similar *similar, const char *linkage)
{
	struct readable readable;
	unsigned int rank;
	size_t at = 0;

	if (!similar->brief)
		similar->brief = brief_name(similar->word);
	if (!similar->brief)
		ctl_no_memory();
	demangle(linkage, &readable);
	rank = rank_of(similar->brief, readable.brief);
	while (at < similar->cnt && similar->ranks[at] <= rank)
		at++;
	if (rank != FAR && at < SIMILAR_MAX && !is_known(similar, readable.brief))
		insert(similar, at, readable.brief, rank);
	readable_release(&readable);
}

char *similar_text(const struct similar *similar)
{
	char *text = ctl_strdup("");

	for (size_t i = 0; i < similar->cnt; i++) {
		_cleanup_free_ char *before = text;

		text = ctl_printf("%s%s%s", before,
				  !i                     ? ""
				  : i + 1 < similar->cnt ? ", "
							 : " or ",
				  similar->names[i]);
	}
	return text;
}

void similar_release(struct similar *similar)
{
	for (size_t i = 0; i < similar->cnt; i++)
		free(similar->names[i]);
	free(similar->brief);
	similar->brief = NULL;
	similar->cnt = 0;
}
