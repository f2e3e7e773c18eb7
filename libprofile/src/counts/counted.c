// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* A program that counts its paths: its sections, and the counts by function and path. */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/controls.h"
#include "base/count.h"
#include "base/vector.h"
#include "pathprof/foreign.h"
#include "pp_counted_apart.h"

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *ret_header)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		const char *own = gelf_getshdr(s, ret_header)
					  ? elf_strptr(elf, names, ret_header->sh_name)
					  : NULL;

		if (own && strcmp(own, name) == 0)
			return s;
	}
	return NULL;
}

static int read_sections(struct pathprof_counted *counted, Elf *elf, const char *path,
			 struct pathprof_error *error)
{
	GElf_Shdr header;
	Elf_Data *data;
	Elf_Scn *description;

	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return pathprof_fail(error, -EINVAL, "%s: not an ELF file", path);
	if (!find_section(elf, PATHPROF_COUNTERS_SECTION, &header))
		return pathprof_fail(error, -ENOENT,
				     "%s does not count its paths: build it with pathprof-cc",
				     path);
	counted->section_address = header.sh_addr;
	counted->image_bytes = header.sh_size;
	description = find_section(elf, PATHPROF_DESCRIPTION_SECTION, &header);
	data = description ? elf_rawdata(description, NULL) : NULL;
	if (!data || !data->d_buf)
		return pathprof_fail(error, -ENOENT,
				     "%s: section %s, which says what is counted, is not there: "
				     "give the file as it was linked",
				     path, PATHPROF_DESCRIPTION_SECTION);
	return pp_description_read(counted, data->d_buf, data->d_size, path, error);
}

/* The section lies in the file, zeros though it is. */
int pp_counted_make_image(struct pathprof_counted *counted, uint64_t file_bytes, const char *path,
			  struct pathprof_error *error)
{
	if (counted->image_bytes > file_bytes)
		return pathprof_fail(error, -EBADMSG, "%s: section %s is larger than the file",
				     path, PATHPROF_COUNTERS_SECTION);
	counted->image = calloc(counted->image_bytes / sizeof(uint64_t) + 1, sizeof(uint64_t));
	return counted->image ? 0 : pathprof_fail(error, -ENOMEM, "%s: out of memory", path);
}

static int fill(struct pathprof_counted *counted, int fd, const char *path,
		struct pathprof_error *error)
{
	off_t file_bytes = lseek(fd, 0, SEEK_END);
	Elf *elf;
	int r = pathprof_build_id_read_fd(&counted->build_id, fd, path, error);

	if (r < 0)
		return r;
	if (elf_version(EV_CURRENT) == EV_NONE || file_bytes < 0)
		return pathprof_fail(error, -EINVAL, "%s: cannot be read", path);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	r = read_sections(counted, elf, path, error);
	elf_end(elf);
	return r < 0 ? r : pp_counted_make_image(counted, (uint64_t)file_bytes, path, error);
}

int pp_counted_open_fd(struct pathprof_counted **ret_counted, int fd, const char *path,
		       struct pathprof_error *error)
{
	struct pathprof_counted *counted = calloc(1, sizeof(*counted));
	int r = counted ? fill(counted, fd, path, error)
			: pathprof_fail(error, -ENOMEM, "%s: out of memory", path);

	if (r < 0)
		pathprof_counted_free(counted);
	else
		*ret_counted = counted;
	return r;
}

int pathprof_counted_open(struct pathprof_counted **ret_counted, const char *path,
			  struct pathprof_error *error)
{
	int r, fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error);

	if (fd < 0)
		return fd;
	r = pp_counted_open_fd(ret_counted, fd, path, error);
	close(fd);
	return r;
}

/* Bytes that would change a terminal become '?'. */
const char *pp_counted_keep_text(struct pathprof_counted *counted, const char *bytes, size_t len)
{
	char *text;

	if (pp_grow(&counted->texts, counted->text_cnt, &counted->text_room) < 0)
		return NULL;
	text = strndup(bytes, len);
	if (!text)
		return NULL;
	counted->texts[counted->text_cnt++] = text;
	pp_controls_replace(text, strlen(text), '?');
	return text;
}

void pathprof_counted_free(struct pathprof_counted *counted)
{
	if (!counted)
		return;
	pp_counted_apart_close(counted->apart);
	for (uint32_t f = 0; f < counted->function_cnt; f++) {
		free(counted->functions[f].slots);
		free(counted->functions[f].told);
		free(counted->functions[f].lines);
		free(counted->functions[f].arcs);
		free(counted->functions[f].places);
	}
	for (size_t i = 0; i < counted->text_cnt; i++)
		free(counted->texts[i]);
	free(counted->texts);
	free(counted->missing);
	free(counted->functions);
	free(counted->image);
	free(counted->hashed);
	free(counted);
}

const struct pathprof_counted_function *
pathprof_counted_functions(const struct pathprof_counted *counted, uint32_t *ret_cnt)
{
	*ret_cnt = counted->function_cnt;
	return counted->functions;
}

uint64_t pathprof_counted_left_out(const struct pathprof_counted *counted)
{
	return counted->left_out_cnt;
}

const char *const *pathprof_counted_missing(const struct pathprof_counted *counted, size_t *ret_cnt)
{
	*ret_cnt = counted->missing_cnt;
	return counted->missing;
}

void pathprof_counted_clear(struct pathprof_counted *counted)
{
	memset(counted->image, 0, counted->image_bytes);
	counted->hashed_cnt = 0;
}

int pathprof_counted_identity(const struct pathprof_counted *counted,
			      struct pathprof_build_id *ret_id)
{
	static const char what[] = "counted paths of";
	uint8_t words[sizeof(what) + PATHPROF_BUILD_ID_MAX] = {0};

	if (counted->build_id.kind != PATHPROF_ID_BUILD_ID)
		return -ENOENT;
	memcpy(words, what, sizeof(what));
	memcpy(words + sizeof(what), counted->build_id.bytes, counted->build_id.len_bytes);
	pathprof_build_id_make(ret_id, PATHPROF_ID_JIT, words, sizeof(words));
	return 0;
}

bool pathprof_is_counted(const struct pathprof_build_id *id, const char *name)
{
	return id->kind == PATHPROF_ID_JIT && name[0] == '/';
}

/* ---------------------------------------------------------------- paths of a function */

static size_t fill_from_array(const struct pathprof_counted *counted,
			      const struct pathprof_counted_function *f,
			      struct pathprof_counted_path *paths)
{
	const uint64_t *counters = counted->image + f->counter / sizeof(uint64_t);
	size_t cnt = 0;

	for (uint64_t id = 0; id < f->path_cnt; id++) {
		if (!counters[id])
			continue;
		if (paths)
			paths[cnt] = (struct pathprof_counted_path){id, counters[id]};
		cnt++;
	}
	return cnt;
}

static size_t fill_from_hashed(const struct pathprof_counted *counted,
			       const struct pathprof_counted_function *f,
			       struct pathprof_counted_path *paths)
{
	size_t cnt = 0;

	for (size_t i = 0; i < counted->hashed_cnt; i++) {
		const struct pp_hashed_path *h = &counted->hashed[i];

		if (h->counter != f->counter || !h->count)
			continue;
		if (paths)
			paths[cnt] = (struct pathprof_counted_path){h->id, h->count};
		cnt++;
	}
	return cnt;
}

/* Interesting or warm paths have slots. */
static size_t fill_from_slots(const struct pathprof_counted *counted,
			      const struct pathprof_counted_function *f,
			      struct pathprof_counted_path *paths)
{
	const uint64_t *counters = counted->image + f->counter / sizeof(uint64_t);
	size_t cnt = 0;

	for (uint32_t i = 0; i < f->slot_cnt; i++) {
		if (!f->slots[i] || !counters[i])
			continue;
		if (paths)
			paths[cnt] = (struct pathprof_counted_path){f->slots[i] - 1, counters[i]};
		cnt++;
	}
	return cnt;
}

/* The others are counted by hash. */
static size_t fill_from_table(const struct pathprof_counted *counted,
			      const struct pathprof_counted_function *f,
			      struct pathprof_counted_path *paths)
{
	size_t cnt = fill_from_slots(counted, f, paths);

	return cnt + fill_from_hashed(counted, f, paths ? paths + cnt : NULL);
}

static int by_id(const void *x, const void *y)
{
	const struct pathprof_counted_path *a = x, *b = y;

	return (a->id > b->id) - (a->id < b->id);
}

/* Several threads, files and signal handlers have entries of their own for a path. */
static size_t add_up(struct pathprof_counted_path *paths, size_t cnt)
{
	size_t to = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (to && paths[to - 1].id == paths[i].id)
			paths[to - 1].count = pp_count_sum(paths[to - 1].count, paths[i].count);
		else
			paths[to++] = paths[i];
	}
	return to;
}

static size_t fill_paths(const struct pathprof_counted *counted,
			 const struct pathprof_counted_function *f,
			 struct pathprof_counted_path *paths)
{
	switch (f->counting) {
	case PATHPROF_COUNTING_ARRAY:
		return fill_from_array(counted, f, paths);
	case PATHPROF_COUNTING_HASH:
		return fill_from_hashed(counted, f, paths);
	case PATHPROF_COUNTING_TABLE:
		return fill_from_table(counted, f, paths);
	default:
		return fill_from_slots(counted, f, paths);
	}
}

/* Paths of the function and of the copies behind it. */
static size_t fill_from_all(const struct pathprof_counted *counted, uint32_t function,
			    struct pathprof_counted_path *paths)
{
	const struct pathprof_counted_function *f = &counted->functions[function];
	size_t cnt = fill_paths(counted, f, paths);

	while (f->next) {
		f = &counted->functions[f->next];
		cnt += fill_paths(counted, f, paths ? paths + cnt : NULL);
	}
	return cnt;
}

int pathprof_counted_paths(const struct pathprof_counted *counted, uint32_t function,
			   struct pathprof_counted_path **ret_paths, size_t *ret_cnt)
{
	bool is_first = counted->functions[function].first == function;
	size_t cnt = is_first ? fill_from_all(counted, function, NULL) : 0;
	struct pathprof_counted_path *paths = calloc(cnt + 1, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	if (is_first)
		fill_from_all(counted, function, paths);
	qsort(paths, cnt, sizeof(*paths), by_id);
	*ret_cnt = add_up(paths, cnt);
	*ret_paths = paths;
	return 0;
}

static uint64_t cold_of(const struct pathprof_counted *counted,
			const struct pathprof_counted_function *f)
{
	const uint64_t *counters = counted->image + f->counter / sizeof(uint64_t);
	uint64_t cnt = 0;

	if (f->counting != PATHPROF_COUNTING_WARM)
		return 0;
	for (uint32_t i = 0; i < f->slot_cnt; i++)
		cnt = pp_count_sum(cnt, f->slots[i] ? 0 : counters[i]);
	return cnt;
}

uint64_t pathprof_counted_cold(const struct pathprof_counted *counted, uint32_t function)
{
	const struct pathprof_counted_function *f = &counted->functions[function];
	uint64_t cnt;

	if (f->first != function)
		return 0;
	cnt = cold_of(counted, f);
	while (f->next) {
		f = &counted->functions[f->next];
		cnt = pp_count_sum(cnt, cold_of(counted, f));
	}
	return cnt;
}
