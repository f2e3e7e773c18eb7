// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that tell functions apart: see names.h. */
#include "names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "../text/cleanup.h"
#include "base/search.h"
#include "demangle.h"

/* Longer parameters and template arguments do not help anybody. */
#define FULL_LEN_MAX 60

#define STUB "@plt"

/* A function's start, and the hash of a name that it has. */
struct owner {
	uint64_t hash, start;
};

struct owners {
	struct owner *list; /* by hash */
	size_t cnt, room;
};

struct names {
	struct owners briefs, fulls;
};

static bool use_full;

void names_use_full(void)
{
	use_full = true;
}

/* ---------------------------------------------------------------- who is called what */

static uint64_t hash_of(const char *name)
{
	return XXH3_64bits(name, strlen(name));
}

static void add_owner(struct owners *owners, const char *name, uint64_t start)
{
	ctl_grow(&owners->list, owners->cnt, &owners->room);
	owners->list[owners->cnt++] = (struct owner){hash_of(name), start};
}

static int by_hash(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static void sort(struct owners *owners)
{
	if (owners->cnt)
		qsort(owners->list, owners->cnt, sizeof(owners->list[0]), by_hash);
}

static bool is_only_one(const struct owners *owners, const char *name, uint64_t start)
{
	uint64_t hash = hash_of(name);
	size_t at = pp_first(i, 0, owners->cnt, owners->list[i].hash >= hash);

	for (; at < owners->cnt && owners->list[at].hash == hash; at++)
		if (owners->list[at].start != start)
			return false;
	return true;
}

/* ---------------------------------------------------------------- reading a file's */

struct encoded {
	const char **names;
	size_t cnt, room;
};

static int take_encoded(void *context, const struct pathprof_code_symbol *symbol)
{
	struct encoded *encoded = context;

	if (!demangle_is_encoded(symbol->name))
		return 0;
	ctl_grow(&encoded->names, encoded->cnt, &encoded->room);
	encoded->names[encoded->cnt++] = symbol->name;
	return 0;
}

void names_ahead(struct pathprof_code *code)
{
	struct encoded encoded = {NULL};

	pathprof_code_symbols(code, take_encoded, &encoded);
	demangle_ahead(encoded.names, encoded.cnt);
	free(encoded.names);
}

static int take_symbol(void *context, const struct pathprof_code_symbol *symbol)
{
	struct names *names = context;
	struct readable readable;

	demangle(symbol->name, &readable);
	add_owner(&names->briefs, readable.brief, symbol->start);
	add_owner(&names->fulls, readable.full, symbol->start);
	readable_release(&readable);
	return 0;
}

struct names *names_new(struct pathprof_code *code)
{
	struct names *names = ctl_alloc(sizeof(*names));

	if (!code)
		return names;
	names_ahead(code);
	pathprof_code_symbols(code, take_symbol, names);
	sort(&names->briefs);
	sort(&names->fulls);
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	free(names->briefs.list);
	free(names->fulls.list);
	free(names);
}

/* ---------------------------------------------------------------- telling apart */

/* Stubs are in neither list, so the full name tells those of overloaded functions apart. */
static char *choose(const struct names *names, const struct readable *readable, uint64_t start,
		    const char *stub)
{
	bool short_enough = use_full || strlen(readable->full) <= FULL_LEN_MAX;

	if (!use_full && !*stub && is_only_one(&names->briefs, readable->brief, start))
		return ctl_strdup(readable->brief);
	if (short_enough && (*stub || is_only_one(&names->fulls, readable->full, start)))
		return ctl_printf("%s%s", readable->full, stub);
	return ctl_printf("%s%s [0x%" PRIx64 "]", use_full ? readable->full : readable->brief, stub,
			  start);
}

char *names_of(const struct names *names, const char *linkage, uint64_t start)
{
	_cleanup_free_ char *bare = ctl_strdup(linkage);
	char *stub = strstr(bare, STUB), *chosen;
	struct readable readable;

	if (stub)
		*stub = 0;
	demangle(bare, &readable);
	chosen = choose(names, &readable, start, stub ? STUB : "");
	readable_release(&readable);
	return chosen;
}

/* ---------------------------------------------------------------- what was typed */

bool names_match_shown(const char *word, const char *shown)
{
	size_t len = strlen(word);

	return strncmp(shown, word, len) == 0 &&
	       (!shown[len] || shown[len] == '(' || strncmp(shown + len, " [0x", 4) == 0);
}

bool names_match(const char *word, const char *linkage)
{
	struct readable readable;
	bool match;

	demangle(linkage, &readable);
	match = strcmp(word, readable.brief) == 0 || names_match_shown(word, readable.full);
	readable_release(&readable);
	return match;
}
