// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A recording of any format: opens its reader, and counts what the reader hands on.
 *
 * Locking: one object, one thread. Ownership: see pp_recording.h.
 */
#include "pathprof/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pp_event_basis.h"
#include "pp_recording.h"
#include "pp_unpack.h"

void pp_recording_damaged(struct pathprof_recording *recording, const char *table)
{
	size_t len = strlen(recording->damaged);

	if (!strstr(recording->damaged, table))
		snprintf(recording->damaged + len, sizeof(recording->damaged) - len, "%s%s",
			 len ? ", " : "", table);
}

int pp_recording_no_memory(struct pathprof_error *error)
{
	return pathprof_fail(error, -ENOMEM, "not enough memory");
}

static uint64_t file_bytes(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	return (uint64_t)status.st_size;
}

/* Named as what they are: a reader would only find that they are none of its format. */
static int check_kind(int fd, const char *name, struct pathprof_error *error)
{
	static const struct {
		const char *magic, *what;
	} kinds[] = {
		{"\xfd"
		 "7zXZ",
		 "is packed by xz: unpack it first (xz -d)"},
		{"BZh", "is packed by bzip2: unpack it first (bzip2 -d)"},
		{"PERFTEXT;", "is perf2bolt's pre-parsed text (--generate-perf-script), which is "
			      "not read: name the perf.data that it was made from"},
	};
	char begin[16] = "";

	if (!pp_recording_peek(fd, begin, sizeof(begin) - 1))
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(begin, kinds[i].magic, strlen(kinds[i].magic)))
			return pathprof_fail(error, -EPROTO, "%s: %s", name, kinds[i].what);
	return 0;
}

int pathprof_recording_open(struct pathprof_recording **ret_recording, enum pathprof_format format,
			    int fd, const char *name, const struct pathprof_recording_sink *sink,
			    struct pathprof_error *error)
{
	const struct pp_recording_ops *ops = pp_format_reader(format);
	const char *format_name = pathprof_format_name(format);
	struct pathprof_recording *recording;
	int r;

	if (!ops)
		return pathprof_fail(error, -EOPNOTSUPP, "%s: %s is not a format that is read",
				     name, format_name ? format_name : "this");
	recording = calloc(1, sizeof(*recording));
	if (!recording)
		return pp_recording_no_memory(error);
	recording->ops = ops;
	recording->fd = fd;
	recording->sink = *sink;
	r = pp_recording_unpack(fd, name, &recording->fd, error);
	recording->unpacked = r > 0;
	if (r >= 0)
		r = check_kind(recording->fd, name, error);
	if (r < 0) {
		pathprof_recording_free(recording);
		return r;
	}
	recording->state = 1;
	recording->stats.bytes_total = file_bytes(recording->fd);
	recording->name = strdup(name);
	r = recording->name ? ops->open(recording, error) : pp_recording_no_memory(error);
	if (r < 0) {
		pathprof_recording_free(recording);
		return r;
	}
	*ret_recording = recording;
	return 0;
}

void pathprof_recording_free(struct pathprof_recording *recording)
{
	if (!recording)
		return;
	recording->ops->free(recording);
	if (recording->unpacked)
		close(recording->fd);
	free(recording->name);
	free(recording);
}

int pathprof_recording_read(struct pathprof_recording *recording, struct pathprof_error *error)
{
	if (recording->state < 0)
		return pathprof_fail(error, recording->state, "%s: reading it failed before",
				     recording->name);
	if (recording->state > 0)
		recording->state = recording->ops->read(recording, error);
	return recording->state;
}

void pathprof_recording_stats(const struct pathprof_recording *recording,
			      struct pathprof_recording_stats *ret_stats)
{
	*ret_stats = recording->stats;
}

void pathprof_recording_info(const struct pathprof_recording *recording,
			     struct pathprof_recording_info *ret_info)
{
	*ret_info = (struct pathprof_recording_info){.realtime_offset_ns = INT64_MIN};
	if (recording->ops->info)
		recording->ops->info(recording, ret_info);
	ret_info->damaged = recording->damaged[0] ? recording->damaged : NULL;
}

const char *pathprof_recording_event(const struct pathprof_recording *recording, uint32_t event)
{
	return recording->ops->event ? recording->ops->event(recording, event) : NULL;
}

enum pathprof_basis pathprof_recording_event_basis(const struct pathprof_recording *recording,
						   uint32_t event)
{
	const char *name = pathprof_recording_event(recording, event);

	if (name && recording->ops->event_basis)
		return recording->ops->event_basis(recording, event);
	return pp_event_basis_of_name(name);
}

bool pathprof_recording_build_id(const struct pathprof_recording *recording, const char *name,
				 struct pathprof_build_id *ret_id)
{
	return recording->ops->build_id && recording->ops->build_id(recording, name, ret_id);
}

/* ---------------------------------------------------------------- handing on */

int pp_recording_mapping(struct pathprof_recording *recording,
			 const struct pathprof_recorded_mapping *mapping)
{
	const struct pathprof_recording_sink *sink = &recording->sink;

	recording->stats.mappings++;
	return sink->mapping ? sink->mapping(sink->context, mapping) : 0;
}

int pp_recording_process(struct pathprof_recording *recording,
			 const struct pathprof_recorded_process *process)
{
	const struct pathprof_recording_sink *sink = &recording->sink;

	return sink->process ? sink->process(sink->context, process) : 0;
}

int pp_recording_sample(struct pathprof_recording *recording,
			const struct pathprof_recorded_sample *sample)
{
	const struct pathprof_recording_sink *sink = &recording->sink;

	recording->stats.samples++;
	recording->stats.branches += sample->branch_cnt;
	return sink->sample ? sink->sample(sink->context, sample) : 0;
}

int pp_recording_count(struct pathprof_recording *recording,
		       const struct pathprof_recorded_count *count)
{
	const struct pathprof_recording_sink *sink = &recording->sink;

	recording->stats.counts++;
	return sink->count ? sink->count(sink->context, count) : 0;
}
