// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * One address space of all files: see pp_import_image.h. Images are numbered in the order they were
 * met and never forgotten; a table of numbers with linear probing, at most half full, finds them.
 */
#include "pp_import_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/vector.h"

#define NAME_MAX_LEN 4095

struct pp_import_images {
	const struct pathprof_import_files *files;
	struct pathprof_reconstructor *reconstructor;
	struct pp_import_image *images;
	uint32_t cnt, room, open_cnt;
	uint64_t seed; /* names are chosen by those who were profiled */
	struct pp_table numbers;
};

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place);

int pp_import_images_new(struct pp_import_images **ret_images,
			 const struct pathprof_import_files *files)
{
	struct pp_import_images *images = calloc(1, sizeof(*images));

	if (!images)
		return -ENOMEM;
	images->files = files;
	/* The object's address is as good as a random number, and needs no system call. */
	images->seed = (uint64_t)(uintptr_t)images;
	if (pathprof_reconstructor_new(&images->reconstructor, locate, images) < 0) {
		free(images);
		return -ENOMEM;
	}
	*ret_images = images;
	return 0;
}

static void release_image(struct pp_import_image *image)
{
	pathprof_code_free(image->code);
	free(image->segments);
	free(image->name);
}

void pp_import_images_free(struct pp_import_images *images)
{
	if (!images)
		return;
	pathprof_reconstructor_free(images->reconstructor);
	for (uint32_t i = 0; i < images->cnt; i++)
		release_image(&images->images[i]);
	free(images->images);
	pp_table_release(&images->numbers);
	free(images);
}

uint32_t pp_import_images_cnt(const struct pp_import_images *images)
{
	return images->cnt;
}

struct pp_import_image *pp_import_images_at(struct pp_import_images *images, uint32_t number)
{
	return &images->images[number];
}

struct pathprof_reconstructor *pp_import_images_reconstructor(struct pp_import_images *images)
{
	return images->reconstructor;
}

/* ---------------------------------------------------------------- opening */

static int read_segments(struct pp_import_image *image, const struct pathprof_code *code)
{
	struct pathprof_code_segment segment;
	uint32_t cnt = 0;

	while (pathprof_code_segment(code, cnt, &segment) == 0)
		cnt++;
	image->segments = calloc(cnt ? cnt : 1, sizeof(segment));
	if (!image->segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		pathprof_code_segment(code, i, &segment);
		/* Else there would be no room for it below the next image. */
		if (segment.vaddr > PP_IMAGE_MASK ||
		    segment.len_bytes > PP_IMAGE_MASK - segment.vaddr)
			continue;
		image->segments[image->segment_cnt++] = segment;
	}
	return 0;
}

void pp_import_images_make_room(struct pp_import_images *images)
{
	if (images->open_cnt < PP_IMPORT_OPEN_MAX)
		return;
	pathprof_reconstructor_forget(images->reconstructor);
	for (uint32_t i = 0; i < images->cnt; i++) {
		pathprof_code_free(images->images[i].code);
		images->images[i].code = NULL;
	}
	images->open_cnt = 0;
}

static int open_code(struct pp_import_images *images, struct pp_import_image *image)
{
	int r;

	if (images->open_cnt >= 2 * PP_IMPORT_OPEN_MAX)
		return -EMFILE;
	r = pp_import_files_open(images->files, image->name, &image->id, &image->code);
	if (r == 0)
		images->open_cnt++;
	return r;
}

/* Without file and build-id the name is all there is to tell it by. */
static void identify(struct pp_import_image *image)
{
	image->assumed = image->recorded.kind == PATHPROF_ID_NONE;
	if (image->id.kind == PATHPROF_ID_NONE)
		pathprof_build_id_make(&image->id, PATHPROF_ID_FILE, image->name,
				       strlen(image->name));
}

static int fill(struct pp_import_images *images, struct pp_import_image *image, const char *name,
		const struct pathprof_build_id *id)
{
	*image = (struct pp_import_image){.recorded = *id, .id = *id};
	image->name = strndup(name, NAME_MAX_LEN);
	if (!image->name)
		return -ENOMEM;
	if (id->kind != PATHPROF_ID_JIT && open_code(images, image) == 0) {
		image->has_code = true;
		if (read_segments(image, image->code) < 0) {
			images->open_cnt--;
			release_image(image);
			return -ENOMEM;
		}
	}
	identify(image);
	return 0;
}

static int locate(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct pp_import_images *images = context;
	uint64_t number = address >> PP_IMAGE_SHIFT, vaddr = address & PP_IMAGE_MASK;
	struct pp_import_image *image;

	if (number >= images->cnt || !pp_image_has_code(address))
		return -ENOENT;
	image = &images->images[number];
	/* The file was closed to free its descriptor for others: open it again. */
	if (!image->code && (!image->has_code || open_code(images, image) < 0))
		return -ENOENT;
	for (uint32_t i = 0; i < image->segment_cnt; i++) {
		const struct pathprof_code_segment *s = &image->segments[i];

		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->len_bytes)
			continue;
		*ret_place = (struct pathprof_mapping_place){
			.code = image->code,
			.start = number << PP_IMAGE_SHIFT | s->vaddr,
			.end = (number << PP_IMAGE_SHIFT | s->vaddr) + s->len_bytes,
			.offset = s->offset,
		};
		return 0;
	}
	return -ENOENT;
}

/* ---------------------------------------------------------------- finding */

static uint64_t hash_of(const struct pp_import_images *images, const char *name,
			const struct pathprof_build_id *id)
{
	uint64_t hash = pp_hash_mix(pp_hash_mix(images->seed, id->kind), id->len_bytes);

	for (uint32_t i = 0; i < id->len_bytes; i++)
		hash = pp_hash_mix(hash, id->bytes[i]);
	for (size_t i = 0; i < NAME_MAX_LEN && name[i]; i++)
		hash = pp_hash_mix(hash, (uint8_t)name[i]);
	return hash;
}

static bool is_image(const struct pp_import_image *image, const char *name,
		     const struct pathprof_build_id *id)
{
	return image->recorded.kind == id->kind && pathprof_build_id_equal(&image->recorded, id) &&
	       strncmp(image->name, name, NAME_MAX_LEN) == 0;
}

static int grow(struct pp_import_images *images)
{
	if (images->cnt == PP_IMPORT_IMAGE_MAX)
		return -ENOSPC;
	return pp_grow(&images->images, images->cnt, &images->room);
}

/* The image behind the others gets its number; without memory for the table it goes. */
static int enter(struct pp_import_images *images, uint64_t hash, uint32_t *ret_number)
{
	struct pp_import_image *image = &images->images[images->cnt];
	int r = pp_table_add(&images->numbers, hash, i,
			     hash_of(images, images->images[i].name, &images->images[i].recorded));

	if (r < 0) {
		images->open_cnt -= image->code != NULL;
		release_image(image);
		return r;
	}
	*ret_number = images->cnt++;
	return 0;
}

int pp_import_images_get(struct pp_import_images *images, const char *name,
			 const struct pathprof_build_id *id, uint32_t *ret_number)
{
	uint64_t hash = hash_of(images, name, id);
	uint32_t number =
		pp_table_find(&images->numbers, hash, i, is_image(&images->images[i], name, id));
	int r;

	if (number != PP_TABLE_NONE) {
		*ret_number = number;
		return 0;
	}
	pp_import_images_make_room(images);
	r = grow(images);
	if (r == 0)
		r = fill(images, &images->images[images->cnt], name, id);
	return r < 0 ? r : enter(images, hash, ret_number);
}

int pp_import_images_know(struct pp_import_images *images, const struct pathprof_code *code,
			  const struct pathprof_build_id *id, uint32_t *ret_number)
{
	struct pp_import_image *image;
	int r = grow(images);

	if (r < 0)
		return r;
	image = &images->images[images->cnt];
	*image = (struct pp_import_image){.recorded = *id, .id = *id, .name = strdup("")};
	if (!image->name || read_segments(image, code) < 0) {
		release_image(image);
		return -ENOMEM;
	}
	return enter(images, hash_of(images, image->name, id), ret_number);
}

/* ---------------------------------------------------------------- addresses */

int pp_import_images_address(const struct pp_import_images *images, uint32_t number,
			     uint64_t offset, uint64_t *ret_address)
{
	const struct pp_import_image *image = &images->images[number];
	uint64_t base = (uint64_t)number << PP_IMAGE_SHIFT;

	if (offset > PP_IMAGE_MASK)
		return -ERANGE;
	*ret_address = base | PP_IMAGE_NOCODE | offset;
	for (uint32_t i = 0; i < image->segment_cnt; i++) {
		const struct pathprof_code_segment *s = &image->segments[i];

		if (offset >= s->offset && offset - s->offset < s->len_bytes)
			*ret_address = base | (s->vaddr + (offset - s->offset));
	}
	return 0;
}

int pp_import_images_place(const struct pp_import_images *images, uint64_t address,
			   uint32_t *ret_number, uint64_t *ret_offset)
{
	uint64_t number = address >> PP_IMAGE_SHIFT, vaddr = address & PP_IMAGE_MASK;
	const struct pp_import_image *image;

	if (number >= images->cnt)
		return -ENOENT;
	*ret_number = (uint32_t)number;
	if (!pp_image_has_code(address)) {
		*ret_offset = vaddr;
		return 0;
	}
	image = &images->images[number];
	for (uint32_t i = 0; i < image->segment_cnt; i++) {
		const struct pathprof_code_segment *s = &image->segments[i];

		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->len_bytes)
			continue;
		*ret_offset = s->offset + (vaddr - s->vaddr);
		return 0;
	}
	return -ENOENT;
}
