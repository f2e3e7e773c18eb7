// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of process images: see track_image.h for the workload, locking and ownership.
 * Source: this project.
 */
#include "track_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pp_images_init(struct pp_images *images)
{
	const size_t bucket_cnt = 8192;
	struct pp_image **buckets = calloc(bucket_cnt, sizeof(struct pp_image *));

	if (!buckets)
		return -ENOMEM;
	*images = (struct pp_images){.buckets = buckets, .bucket_cnt = bucket_cnt};
	return 0;
}

static void image_free(struct pp_image *image)
{
	if (image->detail) {
		pp_jit_free(image->detail->jit);
		free(image->detail);
	}
	pathprof_space_put(image->space);
	pathprof_mapped_file_put(image->exe);
	pathprof_mapped_file_put(image->container);
	free(image);
}

void pp_images_release(struct pp_images *images)
{
	for (size_t i = 0; i < images->bucket_cnt; i++) {
		while (images->buckets[i]) {
			struct pp_image *image = images->buckets[i];

			images->buckets[i] = image->older ? image->older : image->next;
			if (image->older)
				image->older->next = image->next;
			image_free(image);
		}
	}
	free(images->buckets);
	*images = (struct pp_images){0};
}

/* Pids are handed out one after the other: their low bits spread them evenly. */
static struct pp_image **bucket_of(const struct pp_images *images, pid_t pid)
{
	return &images->buckets[(uint32_t)pid & (images->bucket_cnt - 1)];
}

struct pp_image *pp_images_newest(const struct pp_images *images, pid_t pid)
{
	struct pp_image *image = *bucket_of(images, pid);

	while (image && image->pid != pid)
		image = image->next;
	return image;
}

struct pp_image *pp_images_at(const struct pp_images *images, pid_t pid, uint64_t time_ns)
{
	struct pp_image *image = pp_images_newest(images, pid);

	while (image && time_ns && image->begin_ns > time_ns)
		image = image->older;
	return image;
}

static int image_new(pid_t pid, uint64_t begin_ns, struct pathprof_space *space,
		     struct pp_image **ret_image)
{
	struct pp_image *image = calloc(1, sizeof(*image));
	int r = 0;

	if (!image)
		return -ENOMEM;
	image->pid = pid;
	image->begin_ns = begin_ns;
	if (space)
		image->space = pathprof_space_ref(space);
	else
		r = pathprof_space_new(&image->space);
	if (r) {
		free(image);
		return r;
	}
	*ret_image = image;
	return 0;
}

int pp_images_add(struct pp_images *images, pid_t pid, uint64_t begin_ns,
		  struct pathprof_space *space, struct pp_image **ret_image)
{
	struct pp_image **link = bucket_of(images, pid);
	struct pp_image *image, *older;
	int r;

	if (images->image_cnt - images->ended_cnt >= PP_IMAGES_MAX)
		return -ENOSPC;
	r = image_new(pid, begin_ns, space, &image);
	if (r)
		return r;
	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	older = *link;
	image->older = older;
	image->next = older ? older->next : NULL;
	*link = image;
	images->image_cnt++;
	if (older) {
		older->next = NULL;
		pp_images_end(images, older, begin_ns);
	}
	*ret_image = image;
	return 0;
}

void pp_images_end(struct pp_images *images, struct pp_image *image, uint64_t end_ns)
{
	if (image->end_ns)
		return;
	image->end_ns = end_ns ? end_ns : 1;
	image->before = images->ended_last;
	if (images->ended_last)
		images->ended_last->after = image;
	else
		images->ended_first = image;
	images->ended_last = image;
	images->ended_cnt++;
}

void pp_images_revive(struct pp_images *images, struct pp_image *image)
{
	if (!image->end_ns)
		return;
	if (image->before)
		image->before->after = image->after;
	else
		images->ended_first = image->after;
	if (image->after)
		image->after->before = image->before;
	else
		images->ended_last = image->before;
	image->before = NULL;
	image->after = NULL;
	image->end_ns = 0;
	images->ended_cnt--;
}

void pp_images_remove(struct pp_images *images, struct pp_image *image)
{
	struct pp_image **link = bucket_of(images, image->pid);

	pp_images_revive(images, image);
	while ((*link)->pid != image->pid)
		link = &(*link)->next;
	while (*link != image)
		link = &(*link)->older;
	if (image->older) {
		image->older->next = image->next;
		*link = image->older;
	} else {
		/* A newer image's older link ends here; a bucket's link goes on to the next pid. */
		*link = image->next;
	}
	images->image_cnt--;
	image_free(image);
}

struct pp_image *pp_images_ended_before(const struct pp_images *images, uint64_t time_ns)
{
	struct pp_image *first = images->ended_first;

	return first && first->end_ns < time_ns ? first : NULL;
}

struct pp_image *pp_images_next(const struct pp_images *images, const struct pp_image *at)
{
	size_t i = 0;

	if (at && at->next)
		return at->next;
	if (at)
		i = (size_t)(bucket_of(images, at->pid) - images->buckets) + 1;
	for (; i < images->bucket_cnt; i++)
		if (images->buckets[i])
			return images->buckets[i];
	return NULL;
}
