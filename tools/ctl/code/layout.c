// SPDX-License-Identifier: GPL-2.0-or-later
/* One build-id, several layouts: see layout.h. */
#include "layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl.h"
#include "../text/cleanup.h"
#include "apart.h"
#include "pathprof/code.h"

#define FIT_ROWS  32 /* of a binary */
#define MISFITS_1 20 /* a note is printed if one sample in so many does not fit */

struct layout {
	struct pathprof_build_id id;
	char *name;
	struct layout *first; /* the first layout of this build-id; may be itself */
	struct pathprof_code_segment *segments;
	uint32_t segment_cnt;
	bool is_read; /* segments were read, if the file is there */
	bool differs; /* from the first */
	bool is_told; /* it was reported that not all fits it */
	struct layout *next;
};

/* All layouts that this run has met. */
static struct layout *layouts;

/* ---------------------------------------------------------------- files */

static void read_segments(struct layout *layout)
{
	struct pathprof_code_segment segment;
	struct pathprof_error unused;
	struct pathprof_code *code;

	layout->is_read = true;
	if (layout->name[0] != '/' ||
	    apart_open_code(&code, layout->name, &layout->id, &unused) < 0)
		return;
	while (pathprof_code_segment(code, layout->segment_cnt, &segment) == 0) {
		layout->segments = ctl_realloc(layout->segments, layout->segment_cnt,
					       layout->segment_cnt + 1, sizeof(segment));
		layout->segments[layout->segment_cnt++] = segment;
	}
	pathprof_code_free(code);
}

/* Whether both files are available, and some code lies elsewhere. */
static bool is_moved(const struct layout *layout)
{
	const struct layout *first = layout->first;

	if (!layout->segment_cnt || !first->segment_cnt)
		return false;
	for (uint32_t i = 0; i < layout->segment_cnt; i++) {
		const struct pathprof_code_segment *s = &layout->segments[i];

		if (layout_place(layout, s->offset) != s->offset)
			return true;
	}
	return false;
}

static struct layout *add(const struct pathprof_build_id *id, const char *name,
			  struct layout *first)
{
	struct layout *layout = ctl_alloc(sizeof(*layout));

	layout->id = *id;
	layout->name = ctl_strdup(name);
	layout->first = first ? first : layout;
	layout->next = layouts;
	layouts = layout;
	return layout;
}

static struct layout *find(const struct pathprof_build_id *id, const char *name)
{
	struct layout *of_id = NULL;

	for (struct layout *l = layouts; l; l = l->next) {
		if (!pathprof_build_id_equal(&l->id, id))
			continue;
		if (!strcmp(l->name, name))
			return l;
		of_id = l;
	}
	if (!of_id)
		return add(id, name, NULL);
	if (!of_id->first->is_read)
		read_segments(of_id->first);
	of_id = add(id, name, of_id->first);
	read_segments(of_id);
	of_id->differs = is_moved(of_id);
	if (of_id->differs)
		ctl_note("%s has the build-id of %s and its code elsewhere, as patchelf leaves it: "
			 "places are found by their addresses",
			 name, of_id->first->name);
	return of_id;
}

const struct layout *layout_of(const struct pathprof_build_id *id, const char *name,
			       const char **ret_first)
{
	const struct layout *layout;

	if (id->kind != PATHPROF_ID_BUILD_ID || !name || !*name)
		return NULL;
	layout = find(id, name);
	if (!layout->differs)
		return NULL;
	*ret_first = layout->first->name;
	return layout;
}

uint64_t layout_place(const struct layout *layout, uint64_t offset)
{
	const struct layout *to = layout ? layout->first : NULL;

	for (uint32_t i = 0; to && i < layout->segment_cnt; i++) {
		const struct pathprof_code_segment *s = &layout->segments[i];
		uint64_t vaddr = s->vaddr + (offset - s->offset);

		if (offset < s->offset || offset - s->offset >= s->len_bytes)
			continue;
		for (uint32_t j = 0; j < to->segment_cnt; j++)
			if (vaddr >= to->segments[j].vaddr &&
			    vaddr - to->segments[j].vaddr < to->segments[j].len_bytes)
				return to->segments[j].offset + (vaddr - to->segments[j].vaddr);
	}
	return offset;
}

/* ---------------------------------------------------------------- fit */

struct fit_binary {
	struct pathprof_build_id id;
	char *name;
	struct pathprof_code *code; /* NULL: not available */
	uint32_t row_cnt;
	double samples, misfits;
};

static struct fit_binary *binary_of(struct fit *fit, const struct pathprof_build_id *id,
				    const char *name)
{
	struct fit_binary *binary;

	for (size_t i = 0; i < fit->binary_cnt; i++)
		if (pathprof_build_id_equal(&fit->binaries[i].id, id))
			return &fit->binaries[i];
	fit->binaries = ctl_realloc(fit->binaries, fit->binary_cnt, fit->binary_cnt + 1,
				    sizeof(*fit->binaries));
	binary = &fit->binaries[fit->binary_cnt++];
	binary->id = *id;
	binary->name = ctl_strdup(name);
	if (id->kind == PATHPROF_ID_BUILD_ID)
		binary->code = symbols_code(fit->symbols, id, name, NULL);
	return binary;
}

/* Returns NULL if no more of the binary is to be checked. */
static struct fit_binary *next_row(struct fit *fit, const struct pathprof_build_id *id,
				   const char *name)
{
	struct fit_binary *binary;

	if (!fit->symbols)
		return NULL;
	binary = binary_of(fit, id, name ? name : "");
	if (!binary->code || binary->row_cnt == FIT_ROWS)
		return NULL;
	binary->row_cnt++;
	return binary;
}

static void count(struct fit_binary *binary, bool fits, uint64_t samples)
{
	binary->samples += (double)samples;
	binary->misfits += fits ? 0 : (double)samples;
}

static int pass(void *context, const struct pathprof_block *block)
{
	return 0;
}

void fit_path(struct fit *fit, const struct pathprof_path_row *row)
{
	struct fit_binary *binary = next_row(fit, &row->binary_id, row->binary_name);
	struct pathprof_error unused;

	if (binary)
		count(binary,
		      pathprof_code_walk(binary->code, row->start, row->length, row->outcomes, pass,
					 NULL, &unused) != -EBADMSG,
		      row->samples);
}

void fit_edge(struct fit *fit, const struct pathprof_edge_row *row)
{
	struct fit_binary *binary = next_row(fit, &row->from_id, row->from_name);
	uint64_t vaddr;

	if (binary)
		count(binary,
		      pathprof_code_offset_to_vaddr(binary->code, row->from, &vaddr) != -ERANGE,
		      row->count);
}

static bool is_misfit(const struct fit_binary *binary)
{
	return binary->misfits > 0 && binary->misfits * MISFITS_1 >= binary->samples;
}

const char *fit_misfit(const struct fit *fit)
{
	for (size_t i = 0; i < fit->binary_cnt; i++)
		if (is_misfit(&fit->binaries[i]))
			return fit->binaries[i].name;
	return NULL;
}

static void tell(const struct fit_binary *binary)
{
	struct layout *layout = find(&binary->id, binary->name);

	if (!layout->is_told)
		ctl_note("%s: %.0f%% of its hottest samples do not fit its code, and names of "
			 "these are wrong: a file of this build-id had its code elsewhere, as "
			 "patchelf leaves it; --file says where the one lies that ran",
			 binary->name, 100 * binary->misfits / binary->samples);
	layout->is_told = true;
}

void fit_tell(const struct fit *fit)
{
	for (size_t i = 0; i < fit->binary_cnt; i++)
		if (is_misfit(&fit->binaries[i]))
			tell(&fit->binaries[i]);
}

void fit_release(struct fit *fit)
{
	for (size_t i = 0; i < fit->binary_cnt; i++)
		free(fit->binaries[i].name);
	free(fit->binaries);
	*fit = (struct fit){.symbols = fit->symbols};
}
