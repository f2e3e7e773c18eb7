// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of places in code: see symbols.h. */
#include "symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../hub.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "apart.h"
#include "base/search.h"
#include "live_code.h"
#include "names.h"
#include "pathprof/path_counts.h"

#define JIT_NAME_SIZE 512

/* Offsets start..last lie in one function. */
struct range {
	uint64_t start, last;
	struct symbol *symbol;
};

struct binary {
	struct pathprof_build_id id;
	struct pathprof_code *code; /* NULL: not available, see why */
	struct pathprof_error why;
	struct names *names;     /* NULL: not asked for yet */
	struct symbol *nameless; /* for all unnamed generated code; NULL: not met */
	struct range *ranges;    /* by start */
	size_t range_cnt, range_room;
};

struct symbols {
	struct pathprof_store *store;
	struct live_code *live;
	struct binary *binaries;
	size_t binary_cnt;
};

struct symbols *symbols_new(struct pathprof_store *store)
{
	struct symbols *symbols = ctl_alloc(sizeof(*symbols));

	symbols->store = store;
	symbols->live = live_code_new(store);
	return symbols;
}

static void free_symbol(struct symbol *symbol)
{
	free(symbol->name);
	free(symbol->linkage);
	free(symbol);
}

static void release_binary(struct binary *binary)
{
	for (size_t i = 0; i < binary->range_cnt; i++)
		free_symbol(binary->ranges[i].symbol);
	free(binary->ranges);
	if (binary->nameless)
		free_symbol(binary->nameless);
	names_free(binary->names);
	pathprof_code_free(binary->code);
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->binary_cnt; i++)
		release_binary(&symbols->binaries[i]);
	free(symbols->binaries);
	live_code_free(symbols->live);
	free(symbols);
}

/* --file */
static struct {
	const char *path; /* NULL: none */
	struct pathprof_build_id id;
	bool known;   /* id is the file's */
	bool refused; /* it cannot be read, which was reported */
} own;

void symbols_use_file(const char *path)
{
	own.path = path;
	own.known = own.refused = false;
}

const char *symbols_used_file(void)
{
	return own.path;
}

static bool is_own(const struct binary *binary)
{
	struct pathprof_error error = {""};

	if (!own.path || own.refused)
		return false;
	if (!own.known && apart_read_build_id(&own.id, own.path, &error) < 0) {
		ctl_note("--file is left out: %s", error.text);
		own.refused = true;
		return false;
	}
	own.known = true;
	return pathprof_build_id_equal(&own.id, &binary->id);
}

/* Explains why the file that was named for the binary could not be used. */
static void tell_own(struct binary *binary)
{
	char want[PATHPROF_BUILD_ID_TEXT_LEN], have[PATHPROF_BUILD_ID_TEXT_LEN];

	if (own.known)
		pathprof_fail(&binary->why, -ESTALE,
			      "%s: is another build (%s) than the one that ran (%s)", own.path,
			      pathprof_build_id_text(&own.id, have),
			      pathprof_build_id_text(&binary->id, want));
}

static int open_file(struct binary *binary, const char *path)
{
	if (path[0] != '/')
		return pathprof_fail(&binary->why, -ENOENT, "%s: no file", path);
	return apart_open_code(&binary->code, path, &binary->id, &binary->why);
}

/*
 * Opens the file with this build-id from a debug package, or one that debuginfod fetched before.
 * Most such files have no code, which the code reader reports when asked for it.
 */
static int open_elsewhere(struct binary *binary)
{
	static const char *const places[] = {"/usr/lib/debug/.build-id/%.2s/%s",
					     "/usr/lib/debug/.build-id/%.2s/%s.debug"};
	char hex[PATHPROF_BUILD_ID_TEXT_LEN];
	struct pathprof_error first = binary->why;

	if (binary->id.kind != PATHPROF_ID_BUILD_ID || binary->id.len_bytes < 2)
		return -ENOENT;
	pathprof_build_id_text(&binary->id, hex);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		_cleanup_free_ char *path = ctl_printf(places[i], hex, hex + 2);

		if (open_file(binary, path) == 0)
			return 0;
	}
	binary->why = first;
	return -ENOENT;
}

/* Opens the file that a host uploaded to the hub in use. */
static int open_uploaded(struct binary *binary)
{
	_cleanup_free_ char *path = hub_file(&binary->id);

	return path ? open_file(binary, path) : -ENOENT;
}

static void open_code(const struct symbols *symbols, struct binary *binary, const char *name)
{
	int r;

	if (binary->id.kind == PATHPROF_ID_JIT) {
		pathprof_fail(&binary->why, 0, "%s: generated code, gone with its process", name);
		return;
	}
	if (is_own(binary))
		r = apart_open_code(&binary->code, own.path, &binary->id, &binary->why);
	else if (strcmp(name, "[vdso]") == 0)
		r = pathprof_code_open_vdso(&binary->code, &binary->id, &binary->why);
	else
		r = open_file(binary, name);
	if (r < 0)
		r = open_elsewhere(binary);
	if (r < 0)
		r = live_code_open(symbols->live, &binary->code, &binary->id, name);
	if (r < 0)
		r = open_uploaded(binary);
	if (r < 0) {
		binary->code = NULL;
		tell_own(binary);
	}
	if (r < 0 && !binary->why.text[0])
		pathprof_fail(&binary->why, 0, "%s: %s", name, strerror(-r));
}

static size_t find_binary(struct symbols *symbols, const struct pathprof_build_id *id,
			  const char *name)
{
	size_t at;

	for (at = 0; at < symbols->binary_cnt; at++)
		if (pathprof_build_id_equal(&symbols->binaries[at].id, id))
			return at;
	symbols->binaries = ctl_realloc(symbols->binaries, at, at + 1, sizeof(struct binary));
	symbols->binaries[at].id = *id;
	open_code(symbols, &symbols->binaries[at], name ? name : "");
	symbols->binary_cnt++;
	return at;
}

struct pathprof_code *symbols_code(struct symbols *symbols, const struct pathprof_build_id *id,
				   const char *binary_name, struct pathprof_error *why)
{
	size_t at = find_binary(symbols, id, binary_name);
	const struct binary *binary = &symbols->binaries[at];

	if (!binary->code && why)
		*why = binary->why;
	return binary->code;
}

static char *readable(struct binary *binary, const char *linkage, uint64_t start)
{
	if (!binary->names)
		binary->names = names_new(binary->code);
	return names_of(binary->names, linkage, start);
}

char *symbols_readable(struct symbols *symbols, const struct pathprof_build_id *id,
		       const char *binary_name, const char *linkage, uint64_t start)
{
	return readable(&symbols->binaries[find_binary(symbols, id, binary_name)], linkage, start);
}

/* Fills in start and bounded and, if there is a name, linkage. */
static void look_up_code(struct pathprof_code *code, uint64_t offset, struct symbol *symbol)
{
	const char *name = NULL;
	uint64_t start = offset;

	if (!code || pathprof_code_function(code, offset, &name, &start) < 0)
		return;
	symbol->start = start;
	symbol->bounded = 1;
	symbol->linkage = name ? ctl_strdup(name) : NULL;
}

static void look_up_jit(struct symbols *symbols, const struct binary *binary, uint64_t offset,
			struct symbol *symbol)
{
	char name[JIT_NAME_SIZE];

	if (pathprof_store_jit_symbol(symbols->store, &binary->id, offset, name, sizeof(name),
				      &symbol->start) == 0)
		symbol->linkage = ctl_strdup(name);
}

static struct symbol *look_up(struct symbols *symbols, struct binary *binary,
			      const char *binary_name, uint64_t offset)
{
	struct symbol *symbol = ctl_alloc(sizeof(*symbol));

	symbol->start = offset;
	if (binary->id.kind == PATHPROF_ID_JIT)
		look_up_jit(symbols, binary, offset, symbol);
	else
		look_up_code(binary->code, offset, symbol);
	/* parcels from hosts that have the file brought its functions' names */
	if (!binary->code && binary->id.kind != PATHPROF_ID_JIT)
		look_up_jit(symbols, binary, offset, symbol);
	if (symbol->start > offset)
		symbol->start = offset;
	symbol->known = symbol->linkage != NULL;
	symbol->bounded |= symbol->known;
	symbol->name = symbol->known ? readable(binary, symbol->linkage, symbol->start)
				     : ctl_printf("%s+0x%" PRIx64,
						  text_base_name(binary_name ? binary_name : ""),
						  symbol->start);
	if (!symbol->known)
		symbol->linkage = ctl_strdup("");
	return symbol;
}

/* Generated code without names is not divided into functions: it is one, "[jit:4242]". */
static const struct symbol *nameless_of(struct binary *binary, const char *binary_name)
{
	if (!binary->nameless) {
		binary->nameless = ctl_alloc(sizeof(*binary->nameless));
		binary->nameless->name = text_nameless(binary_name ? binary_name : "");
		binary->nameless->linkage = ctl_strdup("");
		binary->nameless->bounded = 1;
	}
	return binary->nameless;
}

/* Index of the first range that starts after offset. */
static size_t range_after(const struct binary *binary, uint64_t offset)
{
	return pp_first(i, 0, binary->range_cnt, binary->ranges[i].start > offset);
}

static void insert_range(struct binary *binary, size_t at, struct symbol *symbol, uint64_t offset)
{
	ctl_grow(&binary->ranges, binary->range_cnt, &binary->range_room);
	for (size_t i = binary->range_cnt; i > at; i--)
		binary->ranges[i] = binary->ranges[i - 1];
	binary->ranges[at] = (struct range){symbol->start, offset, symbol};
	binary->range_cnt++;
}

/* Returns the symbol of a new answer, or the existing one of the same function. */
static struct symbol *remember(struct binary *binary, struct symbol *symbol, uint64_t offset)
{
	size_t at = range_after(binary, symbol->start);
	struct range *before;

	if (!at || binary->ranges[at - 1].start != symbol->start) {
		insert_range(binary, at, symbol, offset);
		return symbol;
	}
	before = &binary->ranges[at - 1];
	free_symbol(symbol);
	if (before->last < offset)
		before->last = offset;
	return before->symbol;
}

const struct symbol *symbols_function(struct symbols *symbols, const struct pathprof_build_id *id,
				      const char *binary_name, uint64_t offset)
{
	size_t index = find_binary(symbols, id, binary_name);
	struct binary *binary = &symbols->binaries[index];
	size_t at = range_after(binary, offset);
	struct symbol *symbol;

	if (at && offset <= binary->ranges[at - 1].last)
		return binary->ranges[at - 1].symbol;
	symbol = look_up(symbols, binary, binary_name, offset);
	if (id->kind == PATHPROF_ID_JIT && !symbol->known) {
		free_symbol(symbol);
		return nameless_of(binary, binary_name);
	}
	return remember(binary, symbol, offset);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void symbols_ahead(struct symbols *symbols, const struct pathprof_build_id *id,
		   const char *binary_name, const uint64_t *offsets, size_t cnt)
{
	struct pathprof_code *code;
	_cleanup_free_ uint64_t *sorted = NULL;
	size_t kept = 0;

	if (!apart_is_needed() || !cnt)
		return;
	code = symbols_code(symbols, id, binary_name, NULL);
	if (!code)
		return;
	sorted = ctl_alloc(cnt * sizeof(*sorted));
	memcpy(sorted, offsets, cnt * sizeof(*sorted));
	qsort(sorted, cnt, sizeof(*sorted), by_value);
	for (size_t i = 0; i < cnt; i++)
		if (!kept || sorted[i] != sorted[kept - 1])
			sorted[kept++] = sorted[i];
	pathprof_code_functions_ahead(code, sorted, kept);
}

char *symbols_label(struct symbols *symbols, const struct pathprof_build_id *id,
		    const char *binary_name, uint64_t offset)
{
	const struct symbol *symbol = symbols_function(symbols, id, binary_name, offset);

	if (symbol->known && pathprof_is_counted(id, binary_name ? binary_name : ""))
		return ctl_printf("%s:%" PRIu64, symbol->name, offset - symbol->start);
	if (!symbol->known)
		return ctl_printf("%s+0x%" PRIx64, text_base_name(binary_name ? binary_name : ""),
				  offset);
	if (offset == symbol->start)
		return ctl_strdup(symbol->name);
	return ctl_printf("%s+0x%" PRIx64, symbol->name, offset - symbol->start);
}
