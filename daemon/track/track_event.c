// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How perf records change what the tracker knows. They come in the order of time; one that is
 * older than what a scan has already told is passed over where it would undo it.
 * See track_state.h for locking and ownership. Source: this project.
 */
#include "track_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "track_proc.h"

int pp_track_file(struct pp_track *track, pid_t pid, const struct pathprof_build_id *id,
		  const struct pathprof_file *from, const char *name,
		  struct pathprof_mapped_file **ret_file)
{
	struct pathprof_mapped_file *file =
		pathprof_mapped_files_find(&track->files, id, from, name);

	/* whose process it is takes a look at /proc, and names are seldom new */
	if (!file)
		return pathprof_mapped_files_get_for(&track->files, pp_proc_uid(pid), id, from,
						     name, ret_file);
	*ret_file = file;
	return 0;
}

int pp_track_piece(struct pp_track *track, pid_t pid, const struct pp_vma *vma,
		   struct pathprof_mapped_piece *ret_piece)
{
	struct pathprof_mapped_piece piece = {
		.start = vma->start, .end = vma->end, .offset = vma->offset};
	struct pathprof_build_id id = {0};
	struct pathprof_file from;
	enum pp_ident_kind kind = pp_idents_of(track->idents, pid, vma, &id, &from);
	char name[4096];
	int r;

	if (kind == PP_IDENT_SKIP || vma->start >= vma->end)
		return -ENOENT;
	if (kind == PP_IDENT_JIT)
		piece.offset = vma->start;
	if (kind == PP_IDENT_VDSO)
		piece.offset = 0;
	if (kind != PP_IDENT_JIT) {
		r = pp_track_file(track, pid, &id, &from,
				  pp_ident_name(vma->name, name, sizeof(name)), &piece.file);
		if (r)
			return r;
	}
	*ret_piece = piece;
	return 0;
}

static struct pp_image *add_image(struct pp_track *track, pid_t pid, uint64_t begin_ns,
				  struct pathprof_space *space)
{
	struct pp_image *image;

	if (pp_images_add(&track->images, pid, begin_ns, space, &image)) {
		track->drops[PP_TRACK_DROP_PROCESSES]++;
		return NULL;
	}
	image->sure_ns = begin_ns;
	return image;
}

static void inherit(struct pp_image *image, const struct pp_image *from)
{
	memcpy(image->comm, from->comm, sizeof(image->comm));
	image->container = pathprof_mapped_file_ref(from->container);
}

static uint64_t start_time_of(const struct pp_track *track, uint64_t fork_ns)
{
	return (fork_ns + pp_track_suspended_ns()) / track->tick_ns;
}

/* A scan after the fork already saw the child itself. */
static bool is_scanned_since(const struct pp_track *track, const struct pp_image *image,
			     uint64_t fork_ns)
{
	struct pp_stat stat = {.start_time = start_time_of(track, fork_ns)};
	struct pp_image known = {.start_time = image->start_time};

	return image->scanned_ns >= fork_ns && pp_track_is_same(track, &known, &stat);
}

static void apply_fork(struct pp_track *track, const struct pp_perf_record *record)
{
	struct pp_image *newest = pp_images_newest(&track->images, record->pid);
	struct pp_image *parent, *child;

	if (record->pid == record->parent_pid)
		return;
	if (newest && (newest->begin_ns > record->time_ns ||
		       is_scanned_since(track, newest, record->time_ns)))
		return;
	parent = pp_images_at(&track->images, record->parent_pid, record->time_ns);
	child = add_image(track, record->pid, record->time_ns, parent ? parent->space : NULL);
	if (!child)
		return;
	child->start_time = start_time_of(track, record->time_ns);
	if (!parent)
		return;
	inherit(child, parent);
	child->exe = pathprof_mapped_file_ref(parent->exe);
	child->signature = parent->signature;
	child->sure_ns = parent->sure_ns;
	/* The parent may have gone on to another program between its fork and its scan. */
	child->is_stale = parent->is_stale || parent->scanned_ns > record->time_ns;
}

/* The newest image, unless the record is from before it began; an unknown process gets one. */
static struct pp_image *image_for(struct pp_track *track, const struct pp_perf_record *record)
{
	struct pp_image *image = pp_images_newest(&track->images, record->pid);

	if (!image)
		return add_image(track, record->pid, 0, NULL);
	return image->begin_ns > record->time_ns ? NULL : image;
}

static void set_comm(struct pp_image *image, const char *comm)
{
	size_t len_bytes = strnlen(comm, sizeof(image->comm) - 1);

	memset(image->comm, 0, sizeof(image->comm));
	memcpy(image->comm, comm, len_bytes);
}

static void apply_exec(struct pp_track *track, const struct pp_perf_record *record)
{
	struct pp_image *before = image_for(track, record), *image;

	if (!before)
		return;
	image = add_image(track, record->pid, record->time_ns, NULL);
	if (!image)
		return;
	inherit(image, before);
	image->exec_cnt = before->exec_cnt + 1;
	image->start_time = before->start_time;
	image->start_exact = before->start_exact;
	set_comm(image, record->comm);
}

/*
 * A process that maps without end uses few of its mappings, so those beyond a rate are not looked
 * at.
 */
static bool maps_too_often(struct pp_image *image, uint64_t time_ns)
{
	if (time_ns - image->maps_ns >= 1000000000ull) {
		image->maps_ns = time_ns;
		image->maps_cnt = 0;
	}
	return ++image->maps_cnt > PP_MAPS_A_SECOND;
}

/* Whether this is an exec's first mapping, the program; the next is that of its interpreter. */
static bool is_program(const struct pp_image *image)
{
	return !image->is_mapped && !image->exe && image->exec_cnt && !image->scanned_ns;
}

static void apply_map(struct pp_track *track, const struct pp_perf_record *record)
{
	struct pp_image *image = image_for(track, record);
	struct pathprof_mapped_piece piece;
	int r;

	if (!image)
		return;
	if (maps_too_often(image, record->time_ns)) {
		image->is_stale = true;
		track->drops[PP_TRACK_DROP_MAP_RATE]++;
		return;
	}
	r = pp_track_piece(track, record->pid, &record->vma, &piece);
	if (r == -ENOENT)
		return;
	if (!r) {
		r = pathprof_space_own(&image->space);
		if (!r && !piece.file)
			r = pathprof_space_cover(image->space, piece.start, piece.end, true,
						 record->time_ns);
		else if (!r)
			r = pathprof_space_map(image->space, &piece, record->time_ns);
		if (!r && is_program(image))
			image->exe = pathprof_mapped_file_ref(piece.file);
		pathprof_mapped_file_put(piece.file);
	}
	image->is_mapped = true;
	if (r)
		pp_track_dropped(track, r);
}

/*
 * The end of the first thread is mostly that of the process. Where others run on, any of them may
 * be the last: expire() finds out.
 */
static void apply_exit(struct pp_track *track, const struct pp_perf_record *record)
{
	struct pp_image *image = pp_images_newest(&track->images, record->pid);

	if (!image || image->begin_ns > record->time_ns)
		return;
	image->is_headless |= record->pid == record->tid;
	if (image->is_headless)
		pp_images_end(&track->images, image, record->time_ns);
}

static void apply_comm(struct pp_track *track, const struct pp_perf_record *record)
{
	struct pp_image *image = pp_images_newest(&track->images, record->pid);

	if (record->pid == record->tid && image && image->begin_ns <= record->time_ns)
		set_comm(image, record->comm);
}

void pp_track_apply(void *context, const struct pp_perf_record *record)
{
	struct pp_track *track = context;

	/* The idle tasks, and what lies outside our pid namespace. */
	if (record->pid <= 0 && record->kind != PP_PERF_LOST)
		return;
	track->events++;
	switch (record->kind) {
	case PP_PERF_MAP:
		apply_map(track, record);
		break;
	case PP_PERF_COMM:
		apply_comm(track, record);
		break;
	case PP_PERF_EXEC:
		apply_exec(track, record);
		break;
	case PP_PERF_FORK:
		apply_fork(track, record);
		break;
	case PP_PERF_EXIT:
		apply_exit(track, record);
		break;
	case PP_PERF_LOST:
		track->lost += record->lost_cnt;
		track->lost_ns = pp_monotonic_ns();
		track->is_behind = true;
		break;
	case PP_PERF_OTHER:
		break;
	}
}
