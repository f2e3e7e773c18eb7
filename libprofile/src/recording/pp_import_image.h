/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Images: every file that branches lie in, laid out in one address space of their own, so that what
 * was read of a file once holds for all processes and whatever they map where. An image address is
 *
 *     number of the image << 48 | vaddr of the file            its code is at hand
 *     number of the image << 48 | 1 << 47 | file offset        it is not, or not of that part
 *     PP_IMAGE_NOWHERE                                         in nothing that is mapped
 *
 * and stays good to the end of the import: counts are kept by it.
 *
 * Workload: some hundred images, found once for each page of code that is met; looked up by number
 * for each path and edge of a window. At most PP_IMPORT_OPEN_MAX files are open at a time; bounded
 * by PP_IMPORT_IMAGE_MAX. One thread; the object owns all it hands out.
 */
#ifndef PP_IMPORT_IMAGE_H
#define PP_IMPORT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pp_import_files.h"
#include "pathprof/reconstruct.h"

#define PP_IMPORT_IMAGE_MAX 32768
#define PP_IMPORT_OPEN_MAX  128

#define PP_IMAGE_SHIFT  48
#define PP_IMAGE_NOCODE (UINT64_C(1) << 47)
#define PP_IMAGE_MASK   (PP_IMAGE_NOCODE - 1)

#define PP_IMAGE_NOWHERE UINT64_MAX
/* In place of what led to a counted range: a call that returned, nobody knows from where. */
#define PP_IMAGE_RETURN (PP_IMAGE_NOWHERE - 1)

/* Whether the address may be reconstructed from. */
static inline bool pp_image_has_code(uint64_t address)
{
	return !(address & PP_IMAGE_NOCODE);
}

struct pp_import_image {
	char *name;
	struct pathprof_build_id recorded; /* what it is found by; kind NONE: not recorded */
	struct pathprof_build_id id;       /* what it is counted under */
	bool has_code;
	bool assumed;    /* the recording does not say that it is this file */
	uint64_t missed; /* branches met without their code, by page of code: at least these */
	struct pathprof_code_segment *segments;
	uint32_t segment_cnt;
	struct pathprof_code *code; /* NULL: closed just now */
};

struct pp_import_images;

/* files outlives it. -ENOMEM. */
int pp_import_images_new(struct pp_import_images **ret_images,
			 const struct pathprof_import_files *files);
/* NULL-safe. */
void pp_import_images_free(struct pp_import_images *images);

/*
 * The image of that name and identity (kind PATHPROF_ID_NONE: not recorded), opened when it is new.
 * -ENOSPC: too many; -ENOMEM.
 */
int pp_import_images_get(struct pp_import_images *images, const char *name,
			 const struct pathprof_build_id *id, uint32_t *ret_number);
/*
 * Another one, whose code the caller has open: it is not opened for it, and nothing can be
 * reconstructed from it. -ENOSPC; -ENOMEM.
 */
int pp_import_images_know(struct pp_import_images *images, const struct pathprof_code *code,
			  const struct pathprof_build_id *id, uint32_t *ret_number);
uint32_t pp_import_images_cnt(const struct pp_import_images *images);
struct pp_import_image *pp_import_images_at(struct pp_import_images *images, uint32_t number);

/*
 * Closes all files when there are too many, and the reconstructor forgets: between two stacks, as
 * descriptors are few. They are opened again when they are asked for.
 */
void pp_import_images_make_room(struct pp_import_images *images);

/* The image address of the file's byte at offset; -ERANGE: the offset is too large. */
int pp_import_images_address(const struct pp_import_images *images, uint32_t number,
			     uint64_t offset, uint64_t *ret_address);
/* The other way round. -ENOENT. */
int pp_import_images_place(const struct pp_import_images *images, uint64_t address,
			   uint32_t *ret_number, uint64_t *ret_offset);

/* The reconstructor of all images, which belongs to the object. */
struct pathprof_reconstructor *pp_import_images_reconstructor(struct pp_import_images *images);

#endif
