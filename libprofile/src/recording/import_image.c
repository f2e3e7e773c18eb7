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
	if (pathprof_reconstructor_new(&images->reconstructor, locate, images) < 0) {
		free(images);
		return -ENOMEM;
	}
	*ret_images = images;
	return 0;
}

void pp_import_images_free(struct pp_import_images *images)
{
	if (!images)
		return;
	pathprof_reconstructor_free(images->reconstructor);
	for (uint32_t i = 0; i < images->cnt; i++) {
		pathprof_code_free(images->images[i].code);
		free(images->images[i].segments);
		free(images->images[i].name);
	}
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
			pathprof_code_free(image->code);
			images->open_cnt--;
			free(image->name);
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
	/* Its descriptor was needed for others meanwhile. */
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

static uint64_t hash_of(const char *name, const struct pathprof_build_id *id)
{
	uint64_t hash = pp_hash_mix(id->kind, id->len_bytes);

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

int pp_import_images_get(struct pp_import_images *images, const char *name,
			 const struct pathprof_build_id *id, uint32_t *ret_number)
{
	uint64_t hash = hash_of(name, id);
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
	if (r < 0)
		return r;
	*ret_number = images->cnt++;
	return pp_table_add(&images->numbers, hash, i,
			    hash_of(images->images[i].name, &images->images[i].recorded));
}

int pp_import_images_know(struct pp_import_images *images, const struct pathprof_code *code,
			  const struct pathprof_build_id *id, uint32_t *ret_number)
{
	struct pp_import_image *image;
	int r = grow(images);

	if (r < 0)
		return r;
	image = &images->images[images->cnt];
	*image = (struct pp_import_image){.recorded = *id, .id = *id};
	*ret_number = images->cnt++;
	return read_segments(image, code);
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
