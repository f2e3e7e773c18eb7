// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A recording that is a directory (perf record --threads): `data` has the header and what perf made
 * up before it began, `data.0` and so on hold what a CPU each wrote, without a header and without
 * rounds, as each lies in the order of its time but for records that an interrupt overtook.
 *
 * Workload: a file a CPU, some hundred, each as large as a recording of its own. They are read side
 * by side: always the one that has come least far goes on, until another has come less far. What
 * every one of them had got beyond when a MB had been read is handed on when the next MB has been,
 * so a record may be overtaken by a MB of others.
 *
 * Memory: 2 MB of buffers for all files together, 4 KB at least for each; a longer record is read
 * by itself.
 *
 * Ownership: the parts own the descriptors they open; that of the directory is the caller's.
 * Source: tools/perf/util/data.c, session.c.
 */
#include "pp_perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vector.h"
#include "pathprof/foreign.h"

#define ROOM_OF_ALL (2u << 20)
#define ROOM_MIN    (4u << 10)

/* ---------------------------------------------------------------- files */

static int fail_part(const struct pp_perf *perf, const char *name, int r,
		     struct pathprof_error *error)
{
	return pathprof_fail(error, r, "%s/%s: %s", perf->recording->name, name,
			     r == -EINVAL ? "no regular file" : strerror(-r));
}

static int too_many(const struct pp_perf *perf, struct pathprof_error *error)
{
	return pathprof_fail(error, -E2BIG,
			     "%s: more than %u files of samples in a directory are not read: "
			     "import what perf script prints",
			     perf->recording->name, PP_PERF_PARTS_MAX);
}

/* A regular file of the directory, counted among what is to be read. -EINVAL: it is none. */
static int open_part(struct pp_perf *perf, const char *name, int *ret_fd)
{
	char path[64];
	struct stat status;
	int r = 0, fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", perf->recording->fd, name);
	fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, NULL);
	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0)
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	perf->recording->stats.bytes_total += (uint64_t)status.st_size;
	*ret_fd = fd;
	return 0;
}

int pp_perf_parts_open_main(struct pp_perf *perf, struct pathprof_error *error)
{
	int r = open_part(perf, "data", &perf->parts.main_fd);

	if (r == -ENOENT)
		return pathprof_fail(error, -EPROTO,
				     "%s: a directory, and none that perf record wrote: there is "
				     "no file `data` in it",
				     perf->recording->name);
	return r < 0 ? fail_part(perf, "data", r, error) : 0;
}

static int add_part(struct pp_perf_parts *parts, int fd)
{
	if (!(parts->cnt & (parts->cnt - 1)) &&
	    pp_resize(&parts->files, parts->cnt ? 2 * (size_t)parts->cnt : 1) < 0)
		return -ENOMEM;
	parts->files[parts->cnt] = (struct pp_perf_file){.data_end = UINT64_MAX};
	parts->files[parts->cnt++].input.fd = fd;
	return 0;
}

/* None may be there behind the first that is not: that one got lost. */
static int check_rest(struct pp_perf *perf, struct pathprof_error *error)
{
	uint32_t lost = perf->parts.cnt;

	for (uint32_t i = lost + 1; i <= PP_PERF_PARTS_MAX; i++) {
		char name[32];
		int fd = -1, r;

		snprintf(name, sizeof(name), "data.%u", i);
		r = open_part(perf, name, &fd);
		if (r == -ENOENT)
			continue;
		if (r < 0 && r != -EINVAL)
			return fail_part(perf, name, r, error);
		if (r == 0)
			close(fd);
		return pp_recording_bad(perf->recording, error,
					"data.%u is not there, but %s is: copy the whole directory",
					lost, name);
	}
	return 0;
}

/* data.0 and so on, to the first that is not there. */
static int open_all(struct pp_perf *perf, struct pathprof_error *error)
{
	struct pp_perf_parts *parts = &perf->parts;

	for (;;) {
		char name[32];
		int fd = -1, r;

		snprintf(name, sizeof(name), "data.%u", parts->cnt);
		r = open_part(perf, name, &fd);
		if (r == -ENOENT)
			return check_rest(perf, error);
		if (r == 0)
			r = parts->cnt < PP_PERF_PARTS_MAX ? add_part(parts, fd) : -E2BIG;
		if (r < 0 && fd >= 0)
			close(fd);
		if (r < 0)
			return r == -E2BIG ? too_many(perf, error)
					   : fail_part(perf, name, r, error);
	}
}

static int start_inputs(struct pp_perf_parts *parts)
{
	size_t room = ROOM_OF_ALL / parts->cnt;

	room = room < ROOM_MIN ? ROOM_MIN : room < PP_PERF_INPUT_BYTES ? room : PP_PERF_INPUT_BYTES;
	for (uint32_t i = 0; i < parts->cnt; i++) {
		struct pp_perf_input *input = &parts->files[i].input;
		int r = pp_perf_input_init(input, input->fd, room);

		if (r < 0)
			return r;
		parts->turns[i].part = i;
	}
	parts->turn_cnt = parts->cnt;
	return 0;
}

int pp_perf_parts_open(struct pp_perf *perf, struct pathprof_error *error)
{
	struct pp_perf_parts *parts = &perf->parts;
	int r = open_all(perf, error);

	if (r == 0 && !parts->cnt && perf->is_parted)
		return pp_recording_bad(perf->recording, error,
					"data.0 is not there: copy the whole directory");
	if (r < 0 || !parts->cnt)
		return r;
	parts->turns = calloc(parts->cnt, sizeof(*parts->turns));
	if (!parts->turns)
		return pp_recording_no_memory(error);
	r = start_inputs(parts);
	return r < 0 ? pp_perf_failed(perf, r, error) : 0;
}

void pp_perf_parts_release(struct pp_perf_parts *parts)
{
	for (uint32_t i = 0; i < parts->cnt; i++) {
		struct pp_perf_file *file = &parts->files[i];

		close(file->input.fd);
		pp_perf_input_release(&file->input);
		pp_perf_unpack_release(&file->unpack);
	}
	free(parts->files);
	free(parts->turns);
	if (parts->main_fd >= 0)
		close(parts->main_fd);
}

/* ---------------------------------------------------------------- whose turn it is */

static bool goes_first(const struct pp_perf_turn *a, const struct pp_perf_turn *b)
{
	return a->newest_ns != b->newest_ns ? a->newest_ns < b->newest_ns : a->part < b->part;
}

/* The heap's top has become newer. */
static void sink_top(struct pp_perf_turn *turns, uint32_t cnt)
{
	struct pp_perf_turn top = turns[0];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < cnt) {
		if (child + 1 < cnt && goes_first(&turns[child + 1], &turns[child]))
			child++;
		if (!goes_first(&turns[child], &top))
			break;
		turns[at] = turns[child];
		at = child;
	}
	turns[at] = top;
}

/* A record of the part that has come least far. */
static int read_one(struct pp_perf *perf, struct pathprof_error *error)
{
	struct pp_perf_parts *parts = &perf->parts;
	struct pp_perf_turn *top = &parts->turns[0];
	uint64_t from;
	int r;

	perf->file = &parts->files[top->part];
	from = perf->file->input.offset;
	r = pp_perf_next(perf, error);
	parts->done_bytes += perf->file->input.offset - from;
	if (r < 0)
		return r;
	if (r > 0) {
		top->newest_ns = perf->file->newest_ns;
	} else {
		if (perf->file->unpack.rest_cnt)
			perf->recording->stats.truncated = true;
		*top = parts->turns[--parts->turn_cnt];
	}
	if (parts->turn_cnt)
		sink_top(parts->turns, parts->turn_cnt);
	return 0;
}

int pp_perf_parts_read(struct pp_perf *perf, struct pathprof_error *error)
{
	struct pp_perf_parts *parts = &perf->parts;
	uint64_t from = parts->done_bytes;
	int r = 0;

	while (r == 0 && parts->turn_cnt && parts->done_bytes - from < PP_PERF_BYTES_A_READ)
		r = read_one(perf, error);
	if (r < 0 || !parts->turn_cnt)
		return r;
	r = pp_perf_order_until(&perf->order, parts->limit_ns, pp_perf_deliver_record, perf, error);
	parts->limit_ns = parts->turns[0].newest_ns;
	return r < 0 ? r : 1;
}
