// SPDX-License-Identifier: GPL-2.0-or-later
/* See value_site.h. */
#include "value_site.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "pathprof/code.h"
#include "pathprof/foreign.h"
#include "pathprof/mapped.h"
#include "probe_place.h"

#define NEAREST_CNT  3
#define NEAREST_LEN  64 /* of longer names this much is compared */
#define NEAREST_MOST 8  /* further away is not near */

struct near {
	const char *name;
	unsigned int distance;
};

/* One walk over the symbols answers all: which it is, how many there are, what is like it. */
struct search {
	const char *wanted;
	struct pathprof_code_symbol found; /* the best bound one; name NULL: none */
	uint64_t other;                    /* where another as good one lies */
	unsigned int found_cnt;            /* places as good as that */
	struct near nearest[NEAREST_CNT];
	size_t symbol_cnt;
};

static void free_code(struct pathprof_code **code)
{
	pathprof_code_free(*code);
}

/* ---------------------------------------------------------------- names that are like it */

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Letters to add, take away or change (Levenshtein). */
static unsigned int edits(const char *a, const char *b)
{
	unsigned int row[NEAREST_LEN + 1];
	size_t a_len = strnlen(a, NEAREST_LEN), b_len = strnlen(b, NEAREST_LEN);

	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned int above = row[j];

			row[j] = least(least(above, row[j - 1]) + 1,
				       diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_len];
}

/* A name that has the wanted one in it, as a clone's, is near; a C library's variant is nearer. */
static unsigned int distance(const char *wanted, const char *name)
{
	const size_t len = strlen(wanted);

	if (strncmp(name, "__", 2) == 0 && strncmp(name + 2, wanted, len) == 0 &&
	    name[2 + len] == '_')
		return 1;
	if (strstr(name, wanted))
		return 2 + least((unsigned int)(strlen(name) - len) / 4, 2);
	return edits(wanted, name) * 2;
}

static void keep_near(struct search *search, const char *name)
{
	struct near entry = {name, distance(search->wanted, name)};

	if (entry.distance > NEAREST_MOST)
		return;
	for (unsigned int i = 0; i < NEAREST_CNT; i++) {
		struct near *at = &search->nearest[i], moved = *at;

		if (at->name && strcmp(at->name, entry.name) == 0)
			return;
		if (at->name && at->distance <= entry.distance)
			continue;
		*at = entry;
		entry = moved;
		if (!entry.name)
			return;
	}
}

static int look_at(void *context, const struct pathprof_code_symbol *symbol)
{
	struct search *search = context;

	search->symbol_cnt++;
	if (!pathprof_code_is_named(symbol->name, search->wanted))
		return 0;
	if (!search->found.name || symbol->binding > search->found.binding) {
		search->found = *symbol;
		search->found_cnt = 1;
	} else if (symbol->binding == search->found.binding &&
		   symbol->start != search->found.start) {
		search->other = symbol->start;
		search->found_cnt++;
	}
	return 0;
}

static int look_near(void *context, const struct pathprof_code_symbol *symbol)
{
	if (!symbol->chosen_late)
		keep_near(context, symbol->name);
	return 0;
}

/* ": nearest: a, b", or "". */
static const char *nearest_text(struct search *search, struct pathprof_code *code, char *text,
				size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	pathprof_code_symbols(code, look_near, search);
	for (unsigned int i = 0; i < NEAREST_CNT && search->nearest[i].name && at < size; i++)
		at += (size_t)snprintf(text + at, size - at, "%s%.60s",
				       i ? ", " : "; nearest: ", search->nearest[i].name);
	return text;
}

/* ---------------------------------------------------------------- the function */

static int no_function(struct search *search, struct pathprof_code *code, const char *text,
		       const char *name, struct pathprof_error *error)
{
	char nearest[256];

	if (!search->symbol_cnt)
		return pathprof_fail(error, -ENOENT,
				     "--value %s: %s has no symbols: install its debug package, or "
				     "give the function's place, 0xOFFSET",
				     text, name);
	return pathprof_fail(error, -ENOENT, "--value %s: no function %s in %s%s", text,
			     search->wanted, name,
			     nearest_text(search, code, nearest, sizeof(nearest)));
}

static int find_by_name(struct pp_value_site *site, struct pathprof_code *code, const char *text,
			uint64_t *ret_end, struct pathprof_error *error)
{
	struct search search = {.wanted = site->function};
	char nearest[256];

	pathprof_code_symbols(code, look_at, &search);
	if (!search.found.name)
		return no_function(&search, code, text, site->name, error);
	if (search.found_cnt > 1)
		return pathprof_fail(error, -ENOTUNIQ,
				     "--value %s: %u functions of that name in %s: give the place "
				     "of one instead of the name: 0x%" PRIx64 ", 0x%" PRIx64 "...",
				     text, search.found_cnt, site->name, search.found.start,
				     search.other);
	if (search.found.chosen_late)
		return pathprof_fail(error, -ENOENT,
				     "--value %s: which %s runs is chosen when a program starts: "
				     "name that one%s",
				     text, site->function,
				     nearest_text(&search, code, nearest, sizeof(nearest)));
	site->start = search.found.start;
	*ret_end = search.found.end;
	return 0;
}

static int find_by_offset(struct pp_value_site *site, struct pathprof_code *code, const char *text,
			  uint64_t offset, uint64_t *ret_end, struct pathprof_error *error)
{
	const char *name = NULL;
	uint64_t start = offset, end = 0;
	int r = pathprof_code_function(code, offset, &name, &start);

	if (r < 0 || start != offset)
		return pathprof_fail(error, -ENOENT, "--value %s: no function begins there in %s",
				     text, site->name);
	site->start = start;
	*ret_end = start + PP_PROBE_BYTES_MAX;
	if (!name)
		return 0;
	snprintf(site->function, sizeof(site->function), "%s", name);
	if (pathprof_code_find_function(code, name, &start, &end) == 0 && start == site->start)
		*ret_end = end;
	return 0;
}

/* Bytes of the file from offset on: how many there were, or -errno. */
static ssize_t read_code(const char *path, uint64_t offset, uint8_t *code, size_t len_bytes)
{
	_cleanup_close_ int fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, NULL);
	ssize_t got = fd < 0 ? -1 : pread(fd, code, len_bytes, (off_t)offset);

	if (fd < 0)
		return fd;
	return got < 0 ? -errno : got;
}

static int place_probe(struct pp_value_site *site, uint64_t end, const char *text,
		       struct pathprof_error *error)
{
	size_t len = end - site->start < PP_PROBE_BYTES_MAX ? (size_t)(end - site->start)
							    : PP_PROBE_BYTES_MAX;
	uint8_t *code = malloc(PP_PROBE_BYTES_MAX);
	ssize_t got = code ? read_code(site->path, site->start, code, len) : -ENOMEM;

	if (got > 0)
		site->probe = site->start +
			      pp_probe_place(code, (size_t)got, site->argument, &site->emulated);
	free(code);
	if (got > 0)
		return 0;
	return pathprof_fail(error, got < 0 ? (int)got : -EINVAL,
			     "--value %s: cannot read the function in %s", text, site->name);
}

/* ---------------------------------------------------------------- the file */

/* The file that a link of /proc leads to, or led to, is a better name than the link. */
static void name_file(struct pp_value_site *site, const char *path)
{
	const char *root = strstr(path, "/root/");
	ssize_t len = -1;

	if (strncmp(path, "/proc/", 6) != 0) {
		if (!realpath(path, site->name))
			snprintf(site->name, sizeof(site->name), "%s", path);
		return;
	}
	if (!root)
		len = readlink(path, site->name, sizeof(site->name) - 1);
	if (len <= 0) {
		snprintf(site->name, sizeof(site->name), "%s", root ? root + 5 : path);
		return;
	}
	site->name[len] = '\0';
	site->name[pathprof_mapped_name_len(site->name)] = '\0';
}

/* The reason why the file was refused, by its name for people. */
static int tell_file(const struct pp_value_site *site, int code, const char *text, const char *why,
		     struct pathprof_error *error)
{
	size_t len = strlen(site->path);
	bool begins = strncmp(why, site->path, len) == 0;

	return pathprof_fail(error, code,
			     "--value %s: %.200s%.200s: name a program or library: "
			     "FILE:FUNCTION:ARG",
			     text, begins ? site->name : "", begins ? why + len : why);
}

static int open_file(struct pp_value_site *site, struct pathprof_code **ret_code, const char *text,
		     struct pathprof_error *error)
{
	struct pathprof_error why = {""};
	int r = pathprof_build_id_read_file(&site->id, site->path, &why);

	if (r == 0)
		r = pathprof_code_open(ret_code, site->path, NULL, &why);
	return r < 0 ? tell_file(site, r, text, why.text, error) : 0;
}

/* Functions that Go compiled have a package before their names; functions of C have none. */
static int check_convention(const struct pp_value_site *site, const struct pathprof_code *code,
			    const char *text, struct pathprof_error *error)
{
	if (!pathprof_code_is_go(code) || !strchr(site->function, '.'))
		return 0;
	return pathprof_fail(error, -EOPNOTSUPP,
			     "--value %s: %s is a function of Go, which passes parameters in "
			     "registers of its own: only those of C and C++ can be recorded",
			     text, site->function);
}

/* Looks in that file, which becomes the site's even on failure. */
static int find_in_file(struct pp_value_site *site, const struct pp_value_found *file,
			const struct pp_value_spec *spec, const char *text,
			struct pathprof_error *error)
{
	_cleanup_(free_code) struct pathprof_code *code = NULL;
	uint64_t end = 0;
	int r;

	site->fd = file->fd;
	pp_value_fd_path(site->fd, site->path);
	name_file(site, file->path);
	site->argument = spec->argument;
	snprintf(site->function, sizeof(site->function), "%s", spec->function);
	r = open_file(site, &code, text, error);
	if (r == 0)
		r = spec->is_offset ? find_by_offset(site, code, text, spec->offset, &end, error)
				    : find_by_name(site, code, text, &end, error);
	if (r == 0)
		r = check_convention(site, code, text, error);
	return r == 0 ? place_probe(site, end, text, error) : r;
}

/* ---------------------------------------------------------------- the program's libraries */

struct library_search {
	struct pp_value_site *site;
	const struct pp_value_spec *spec;
	const char *text;
	struct pathprof_error *error;
	struct pp_value_found local; /* the first with a static one alone; fd -1: none */
};

/* How a library has a function: a static one is called from that library alone. */
enum has {
	HAS_NONE,
	HAS_LOCAL,
	HAS_GLOBAL,
};

static enum has has_function(const char *path, const char *name)
{
	_cleanup_(free_code) struct pathprof_code *code = NULL;
	struct search search = {.wanted = name};

	if (pathprof_code_open(&code, path, NULL, NULL) < 0)
		return HAS_NONE;
	pathprof_code_symbols(code, look_at, &search);
	if (!search.found.name)
		return HAS_NONE;
	return search.found.binding ? HAS_GLOBAL : HAS_LOCAL; /* local is the least binding, 0 */
}

static int take_library(struct library_search *search, const struct pp_value_found *library)
{
	int r = find_in_file(search->site, library, search->spec, search->text, search->error);

	return r < 0 ? r : 1;
}

/* The first library that has the function for others is the one that is called. */
static int look_in_library(void *context, const struct pp_value_found *library)
{
	struct library_search *search = context;
	char path[PP_VALUE_FD_PATH_MAX];
	enum has has;

	pp_value_fd_path(library->fd, path);
	has = has_function(path, search->spec->function);
	if (has == HAS_GLOBAL)
		return take_library(search, library);
	if (has == HAS_LOCAL && search->local.fd < 0)
		search->local = *library;
	else
		close(library->fd);
	return 0;
}

/* Libraries with a static function of that name serve where none has one for others. */
static int look_in_libraries(struct library_search *search, const struct pp_value_target *target,
			     const char *program)
{
	int r = pp_value_libraries(target, program, look_in_library, search);

	if (search->local.fd < 0)
		return r;
	if (r == 0)
		return take_library(search, &search->local);
	close(search->local.fd);
	return r;
}

/* error holds why the program itself has it not. */
static int find_in_libraries(struct pp_value_site *site, const struct pp_value_spec *spec,
			     const char *text, const struct pp_value_target *target,
			     struct pathprof_error *error)
{
	struct pp_value_site found = {.fd = -1};
	struct pathprof_error why = {""}, own = *error;
	struct library_search search = {&found, spec, text, &why, {.fd = -1}};
	int r = look_in_libraries(&search, target, site->path);

	if (r == 0)
		return pathprof_fail(error, -ENOENT, "%.400s; nor in a library of it", own.text);
	if (r < 0) {
		pp_value_site_release(&found);
		return pathprof_fail(error, r, "%s", why.text[0] ? why.text : "out of memory");
	}
	pp_value_site_release(site);
	*site = found;
	return 0;
}

int pp_value_site_find(struct pp_value_site *ret_site, const char *text,
		       const struct pp_value_target *target, struct pathprof_error *error)
{
	struct pp_value_site site = {.fd = -1};
	struct pp_value_found file = {.fd = -1};
	struct pathprof_error why = {""};
	struct pp_value_spec spec;
	int r = pp_value_spec_parse(&spec, text, error);

	if (r < 0)
		return r;
	r = pp_value_file(target, spec.file, &file, &why);
	if (r < 0)
		return pathprof_fail(error, r, "--value %s: %.400s", text, why.text);
	r = find_in_file(&site, &file, &spec, text, error);
	if (r == -ENOENT && !spec.file[0] && !spec.is_offset)
		r = find_in_libraries(&site, &spec, text, target, error);
	if (r < 0) {
		pp_value_site_release(&site);
		return r;
	}
	*ret_site = site;
	return 0;
}

void pp_value_site_release(struct pp_value_site *site)
{
	if (site->fd >= 0)
		close(site->fd);
	site->fd = -1;
}
