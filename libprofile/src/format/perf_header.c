// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The head of a perf.data, and the sections it points to: events in front of the records, features
 * behind them. A pipe has neither, all is told by records there; a file that comes through a pipe
 * has its features read at the end.
 *
 * Workload: once a recording. Source: tools/perf/Documentation/perf.data-file-format.txt.
 */
#include "pp_perf.h"

#include <byteswap.h>
#include <errno.h>
#include <stdlib.h>

#define PIPE_HEADER_BYTES 16
#define OLD_HEADER_BYTES  72 /* no features */
#define FILE_HEADER_BYTES 104
#define SECTION_BYTES     16
#define ATTR_BYTES_MIN    (64 + SECTION_BYTES)
#define ATTR_BYTES_MAX    4096

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bit fields of branch entries and the byte order of files are those of little-endian machines"
#endif

struct section {
	uint64_t offset, len_bytes;
};

static struct section read_section(const uint8_t *bytes)
{
	return (struct section){pp_perf_u64(bytes), pp_perf_u64(bytes + 8)};
}

/* The error for a section that could not be read. */
static int section_failed(struct pp_perf *perf, int r, const char *what,
			  struct pathprof_error *error)
{
	const char *name = perf->recording->name;

	if (r == -ESPIPE)
		return pathprof_fail(error, -EPROTO,
				     "%s: its %s lie where a pipe cannot go: give the file itself",
				     name, what);
	if (r == -ENODATA)
		return pathprof_fail(error, -EBADMSG, "%s: its %s lie beyond the end", name, what);
	if (r == -EFBIG)
		return pathprof_fail(error, -EBADMSG, "%s: its %s are impossibly many", name, what);
	return pathprof_fail(error, r, "%s: %s", name, strerror(-r));
}

/* ---------------------------------------------------------------- events */

static int read_ids(struct pp_perf *perf, uint32_t event, struct section ids,
		    struct pathprof_error *error)
{
	uint8_t *bytes;
	int r;

	r = pp_perf_input_section(&perf->main.input, ids.offset, ids.len_bytes, 8 * PP_PERF_IDS_MAX,
				  &bytes);
	if (r < 0)
		return section_failed(perf, r, "events' ids", error);
	r = pp_perf_events_add_ids(perf->recording, &perf->events, event, bytes,
				   (size_t)ids.len_bytes / 8, error);
	free(bytes);
	return r;
}

static int read_attrs(struct pp_perf *perf, struct section attrs, uint64_t attr_bytes,
		      struct pathprof_error *error)
{
	uint8_t *bytes;
	int r;

	if (attr_bytes < ATTR_BYTES_MIN || attr_bytes > ATTR_BYTES_MAX ||
	    attrs.len_bytes % attr_bytes || !attrs.len_bytes)
		return pp_recording_bad(
			perf->recording, error, "%llu bytes of events of %llu bytes each",
			(unsigned long long)attrs.len_bytes, (unsigned long long)attr_bytes);
	r = pp_perf_input_section(&perf->main.input, attrs.offset, attrs.len_bytes,
				  (size_t)PP_PERF_EVENTS_MAX * 256, &bytes);
	if (r < 0)
		return section_failed(perf, r, "events", error);
	for (uint64_t at = 0; r == 0 && at < attrs.len_bytes; at += attr_bytes) {
		size_t len = (size_t)attr_bytes - SECTION_BYTES;
		uint32_t event = 0;

		r = pp_perf_events_add(perf->recording, &perf->events, bytes + at, len, &event,
				       error);
		if (r == 0)
			r = read_ids(perf, event, read_section(bytes + at + len), error);
	}
	free(bytes);
	return r;
}

/* ---------------------------------------------------------------- features */

/* Those whose content is read. */
static bool is_read(unsigned feature)
{
	return feature == PP_PERF_FEATURE_BUILD_ID || feature == PP_PERF_FEATURE_HOSTNAME ||
	       feature == PP_PERF_FEATURE_OSRELEASE || feature == PP_PERF_FEATURE_ARCH ||
	       feature == PP_PERF_FEATURE_CPUDESC || feature == PP_PERF_FEATURE_CMDLINE ||
	       feature == PP_PERF_FEATURE_EVENT_DESC || feature == PP_PERF_FEATURE_CLOCK_DATA ||
	       feature == PP_PERF_FEATURE_SAMPLE_TIME || feature == PP_PERF_FEATURE_DIR_FORMAT;
}

static int read_feature(struct pp_perf *perf, unsigned feature, struct section section,
			struct pathprof_error *error)
{
	uint8_t *bytes;
	int r;

	r = pp_perf_input_section(&perf->main.input, section.offset, section.len_bytes,
				  PP_PERF_SECTION_MAX, &bytes);
	/* A directory's files are named there. */
	if ((r == -ENODATA || r == -EFBIG) && feature != PP_PERF_FEATURE_DIR_FORMAT) {
		pp_perf_feature_damaged(perf, feature);
		return 0;
	}
	if (r < 0)
		return section_failed(perf, r, "features", error);
	r = pp_perf_feature(perf, feature, bytes, (size_t)section.len_bytes, error);
	free(bytes);
	return r;
}

static bool has_feature(const struct pp_perf *perf, unsigned feature)
{
	return perf->features[feature / 64] >> feature % 64 & 1;
}

int pp_perf_read_features(struct pp_perf *perf, struct pathprof_error *error)
{
	size_t cnt = 0;
	uint8_t *table;
	int r;

	if (perf->features_read || perf->is_pipe || perf->main.data_end == UINT64_MAX)
		return 0;
	perf->features_read = true;
	for (unsigned i = 0; i < PP_PERF_FEATURE_CNT; i++)
		cnt += has_feature(perf, i);
	r = pp_perf_input_section(&perf->main.input, perf->main.data_end, SECTION_BYTES * cnt,
				  SECTION_BYTES * PP_PERF_FEATURE_CNT, &table);
	if (r == -ENODATA) {
		/* The records are whole; who wrote them got no further. */
		perf->recording->stats.truncated = true;
		return 0;
	}
	if (r < 0)
		return section_failed(perf, r, "features", error);
	for (unsigned i = 0, at = 0; r == 0 && i < PP_PERF_FEATURE_CNT; i++)
		if (has_feature(perf, i)) {
			if (is_read(i))
				r = read_feature(perf, i, read_section(table + at), error);
			at += SECTION_BYTES;
		}
	free(table);
	return r;
}

/* ---------------------------------------------------------------- the head */

static int refuse_magic(struct pp_perf *perf, uint64_t magic, struct pathprof_error *error)
{
	const char *name = perf->recording->name;

	if (magic == PP_PERF_MAGIC_2_SWAPPED || magic == PP_PERF_MAGIC_1)
		return pathprof_fail(error, -EPROTO,
				     "%s: recorded on a big-endian machine, which is not read",
				     name);
	return pathprof_fail(error, -EPROTO, "%s: not a perf.data: it does not start with PERFILE2",
			     name);
}

static int check_magic(struct pp_perf *perf, const uint8_t *header, struct pathprof_error *error)
{
	uint64_t magic = pp_perf_u64(header), size = bswap_64(pp_perf_u64(header + 8));

	if (magic == PP_PERF_MAGIC_2)
		return 0;
	/* The first version does not tell the byte order but by what looks sound. */
	if (magic == PP_PERF_MAGIC_1 && size != PIPE_HEADER_BYTES && size != OLD_HEADER_BYTES &&
	    size != FILE_HEADER_BYTES)
		return 0;
	return refuse_magic(perf, magic, error);
}

static int have(struct pp_perf *perf, size_t want, struct pathprof_error *error)
{
	size_t cnt;
	int r = pp_perf_input_fill(&perf->main.input, want, &cnt);

	if (r < 0)
		return pathprof_fail(error, r, "%s: %s", perf->recording->name, strerror(-r));
	if (cnt < want)
		return pp_recording_bad(perf->recording, error, "not a perf.data: only %zu bytes",
					cnt);
	return 0;
}

/* Sets where the records end; a size of 0: the writer was killed before it wrote the size. */
static int place_data(struct pp_perf *perf, struct section data, struct pathprof_error *error)
{
	if (data.offset < OLD_HEADER_BYTES || data.offset > INT64_MAX ||
	    data.len_bytes > INT64_MAX - data.offset)
		return pp_recording_bad(perf->recording, error, "its records lie at %llu + %llu",
					(unsigned long long)data.offset,
					(unsigned long long)data.len_bytes);
	perf->main.data_end = data.len_bytes ? data.offset + data.len_bytes : UINT64_MAX;
	if (!data.len_bytes ||
	    (perf->main.input.seekable && perf->main.data_end > perf->main.input.end_bytes)) {
		perf->recording->stats.truncated = true;
		perf->features_read = true;
	}
	return 0;
}

/* Refuses one file of a directory; a pipe or a cut file is judged by the feature's bit alone. */
static int refuse_part(struct pp_perf *perf, struct pathprof_error *error)
{
	bool told = perf->main.input.seekable && !perf->recording->stats.truncated;

	if (!has_feature(perf, PP_PERF_FEATURE_DIR_FORMAT) || perf->parts.main_fd >= 0 ||
	    (told && !perf->is_parted))
		return 0;
	return pathprof_fail(error, -EPROTO,
			     "%s: one file of a directory that perf record --threads wrote: name "
			     "the directory",
			     perf->recording->name);
}

static int read_file_header(struct pp_perf *perf, size_t size, struct pathprof_error *error)
{
	uint8_t header[FILE_HEADER_BYTES] = {0};
	struct section data;
	bool whole = true;
	int r = have(perf, size, error);

	if (r < 0)
		return r;
	memcpy(header, pp_perf_input_bytes(&perf->main.input), size);
	data = read_section(header + 40);
	memcpy(perf->features, header + OLD_HEADER_BYTES, sizeof(perf->features));
	r = place_data(perf, data, error);
	if (r == 0)
		r = read_attrs(perf, read_section(header + 24), pp_perf_u64(header + 16), error);
	if (r == 0 && perf->main.input.seekable)
		r = pp_perf_read_features(perf, error);
	if (r == 0)
		r = refuse_part(perf, error);
	if (r < 0)
		return r;
	r = pp_perf_input_seek(&perf->main.input, data.offset, &whole);
	if (r == 0 && !whole)
		r = -ENODATA;
	return r < 0 ? section_failed(perf, r, "records", error) : 0;
}

int pp_perf_read_header(struct pp_perf *perf, struct pathprof_error *error)
{
	const uint8_t *header;
	uint64_t size;
	int r = have(perf, PIPE_HEADER_BYTES, error);

	if (r < 0)
		return r;
	header = pp_perf_input_bytes(&perf->main.input);
	r = check_magic(perf, header, error);
	if (r < 0)
		return r;
	size = pp_perf_u64(header + 8);
	if (size == FILE_HEADER_BYTES || size == OLD_HEADER_BYTES)
		return read_file_header(perf, (size_t)size, error);
	if (size != PIPE_HEADER_BYTES)
		return pathprof_fail(error, -EPROTO, "%s: a header of %llu bytes is not read",
				     perf->recording->name, (unsigned long long)size);
	perf->is_pipe = true;
	perf->main.data_end = UINT64_MAX;
	pp_perf_input_consume(&perf->main.input, PIPE_HEADER_BYTES);
	return 0;
}
