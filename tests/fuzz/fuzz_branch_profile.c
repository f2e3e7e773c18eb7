// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile profile over a hostile binary, given to every writer, the inline walker, the density
 * and the code that completes profiles of paths. Profiles come from stores and recordings of
 * others, and binaries with debug information from anywhere.
 *
 * Input: 16 bits, how many bytes the profile takes; the profile, ENTRY_BYTES an entry; an ELF file.
 *
 * Beyond "no crash": no writer fails but for want of debug information, JSON is JSON, pprof's gzip
 * is whole, and counts at sound places are taken back by our own readers.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "../../libprofile/src/branch/pp_fill.h"
#include "../../libprofile/src/branch/pp_straight.h"
#include "fuzz.h"
#include "pathprof/export.h"
#include "pathprof/inlines.h"

#define ENTRY_BYTES 8
#define ENTRIES_MAX 512

struct world {
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	struct pp_runs_of_paths runs;
	bool wild; /* with places in no code */
};

/* ---------------------------------------------------------------- the profile */

/* A byte's worth of places each: in code, outside, or anywhere. */
static uint64_t place_of(struct world *w, uint16_t bits)
{
	struct pathprof_code_segment s;

	if (bits == 0xffff) {
		w->wild = true;
		return PATHPROF_OUTSIDE;
	}
	if (bits >= 0xff00 || pathprof_code_segment(w->code, 0, &s)) {
		w->wild = true;
		return (uint64_t)bits << (bits & 63);
	}
	return s.offset + bits % s.len_bytes;
}

/* 0 to 15, then powers of two and what lies just beside them. */
static uint64_t count_of(uint8_t bits)
{
	if (bits < 16)
		return bits;
	return (1ull << (bits & 63)) + (bits >> 6) - 1;
}

static void add_entry(struct world *w, const uint8_t e[ENTRY_BYTES])
{
	struct pathprof_branch_profile *p = &w->profile;
	uint64_t a = place_of(w, (uint16_t)(e[1] << 8 | e[2]));
	uint64_t b = place_of(w, (uint16_t)(e[3] << 8 | e[4]));
	uint64_t c = b + e[5], count = count_of(e[6]);
	double weight = (double)count / (1 + e[7] % 16);
	struct pp_run run = {a, b, c, e[5] % 3 ? c + e[7] : 0, weight};

	switch (e[0] % 5) {
	case 0:
		REQUIRE(!pathprof_branch_profile_add_branch(p, a, b, count, count_of(e[7])));
		break;
	case 1:
		w->wild |= a + e[5] < a;
		REQUIRE(!pathprof_branch_profile_add_range(p, a, a + e[5], e[7] & 1, weight));
		break;
	case 2:
		REQUIRE(!pathprof_branch_profile_add_trace(p, a, b, c, weight));
		break;
	case 3:
		run.from = e[7] % 3 ? PP_FROM_START - e[7] % 2 : a;
		w->wild = true;
		REQUIRE(!pp_straight_add(&w->runs, &run));
		break;
	default:
		p->origin.begin_ns = (int64_t)(a * count);
		p->origin.end_ns = (int64_t)(b * count);
		p->origin.taken = count;
	}
}

static void add_entries(struct world *w, const uint8_t *data, size_t size)
{
	char name[16] = "";
	size_t cnt = size / ENTRY_BYTES;

	if (cnt > ENTRIES_MAX)
		cnt = ENTRIES_MAX;
	for (size_t i = 0; i < cnt; i++)
		add_entry(w, data + i * ENTRY_BYTES);
	memcpy(name, data, size < sizeof(name) - 1 ? size : sizeof(name) - 1);
	REQUIRE(!pathprof_branch_profile_name(&w->profile, name, name, name));
	REQUIRE(!pp_straight_emit(&w->runs, &w->profile));
	if (cnt % 2)
		REQUIRE(!pp_fill(&w->profile, w->graph));
	REQUIRE(!pathprof_branch_profile_settle(&w->profile));
}

/* ---------------------------------------------------------------- what was written */

static void check_json(const char *text, size_t size)
{
	json_error_t error;
	json_t *root = json_loadb(text, size, 0, &error);

	REQUIRE(json_is_array(json_object_get(root, "counts")));
	json_decref(root);
}

static void check_gzip(char *bytes, size_t size)
{
	static uint8_t out[1 << 16];
	z_stream z = {.next_in = (uint8_t *)bytes, .avail_in = (uInt)size};
	int state;

	REQUIRE(inflateInit2(&z, MAX_WBITS + 16) == Z_OK);
	do {
		z.next_out = out;
		z.avail_out = sizeof(out);
		state = inflate(&z, Z_NO_FLUSH);
	} while (state == Z_OK);
	REQUIRE(state == Z_STREAM_END && !z.avail_in);
	inflateEnd(&z);
}

static int take_count(void *context, const struct pathprof_recorded_count *count)
{
	uint64_t *cnt = context;

	++*cnt;
	return 0;
}

/* Counts that our own reader gets out of it. */
static void check_text(enum pathprof_format format, const char *text, size_t size)
{
	uint64_t cnt = 0;
	const struct pathprof_recording_sink sink = {.context = &cnt, .count = take_count};
	struct pathprof_recording *recording;
	struct pathprof_error error;
	int fd = memfd_create("text", MFD_CLOEXEC), rc;

	REQUIRE(fd >= 0 && write(fd, text, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET));
	REQUIRE(!pathprof_recording_open(&recording, format, fd, "T", &sink, &error));
	do
		rc = pathprof_recording_read(recording, &error);
	while (rc > 0);
	REQUIRE(rc == 0);
	pathprof_recording_free(recording);
	close(fd);
}

static void check_written(const struct world *w, enum pathprof_format format, bool json, char *text,
			  size_t size)
{
	if (format == PATHPROF_FORMAT_CSV && json)
		check_json(text, size);
	if (format == PATHPROF_FORMAT_PPROF)
		check_gzip(text, size);
	if (!w->wild &&
	    (format == PATHPROF_FORMAT_BOLT_PREAGG || format == PATHPROF_FORMAT_PROFGEN_RAW ||
	     format == PATHPROF_FORMAT_AUTOFDO_TEXT))
		check_text(format, text, size);
}

static void write_one(struct world *w, enum pathprof_format format, bool option)
{
	const struct pathprof_export_options options = {option, option, option};
	struct pathprof_error error = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int rc;

	REQUIRE(file);
	rc = pathprof_export(format, &w->profile, w->code, w->graph, &options, file, &error);
	fclose(file);
	REQUIRE(rc == 0 || error.text[0]);
	REQUIRE(rc == 0 || rc == -ENODATA || rc == -EOPNOTSUPP ||
		(rc == -ENOENT &&
		 (format == PATHPROF_FORMAT_LLVM_SAMPLE || format == PATHPROF_FORMAT_BOLT_FDATA)));
	if (!rc)
		check_written(w, format, option, text, size);
	free(text);
}

static void write_all(struct world *w)
{
	struct pathprof_density d;
	struct pathprof_error error;

	for (int f = 1; f < PATHPROF_FORMAT_CNT; f++) {
		if (!pathprof_format_writes((enum pathprof_format)f))
			continue;
		write_one(w, (enum pathprof_format)f, false);
		write_one(w, (enum pathprof_format)f, true);
	}
	REQUIRE(!pathprof_profile_density(&w->profile, w->graph, &d, &error));
	REQUIRE(d.hot <= w->graph->part_cnt && d.density >= 0 && d.more >= 1);
}

/* ---------------------------------------------------------------- the binary */

static void walk_inlines(struct world *w)
{
	struct pathprof_source_frame frames[8];
	struct pathprof_code_segment s;
	struct pathprof_inlines *inlines;
	struct pathprof_error error;

	if (pathprof_code_segment(w->code, 0, &s) ||
	    pathprof_inlines_open(&inlines, w->code, &error))
		return;
	for (uint64_t i = 0; i < 256; i++) {
		int cnt = pathprof_inlines_at(inlines, s.offset + i * s.len_bytes / 256, frames, 8);

		REQUIRE(cnt >= 0);
		for (int f = 0; f < cnt && f < 8; f++)
			REQUIRE(frames[f].linkage_name && frames[f].name && frames[f].file &&
				frames[f].copies);
	}
	pathprof_inlines_free(inlines);
}

static void run(struct world *w, const uint8_t *profile, size_t profile_size, const char *path)
{
	struct pathprof_build_id id;
	struct pathprof_error error;

	REQUIRE(!pathprof_build_id_read_file(&id, path, &error));
	if (pathprof_code_open(&w->code, path, NULL, &error))
		return;
	if (!pathprof_graph_build(&w->graph, w->code, NULL, NULL, &error) &&
	    !pathprof_branch_profile_init(&w->profile, &id)) {
		add_entries(w, profile, profile_size);
		walk_inlines(w);
		write_all(w);
	}
	pathprof_branch_profile_release(&w->profile);
	pp_straight_release(&w->runs);
	pathprof_graph_free(w->graph);
	pathprof_code_free(w->code);
}

/* Nothing here may go to the network. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	unsetenv("DEBUGINFOD_URLS");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.wild = false};
	size_t profile_size;
	char path[64];
	int fd;

	if (size < 2)
		return 0;
	profile_size = (size_t)(data[0] << 8 | data[1]);
	data += 2;
	size -= 2;
	if (profile_size > size)
		profile_size = size;
	fd = memfd_create("elf", MFD_CLOEXEC);
	REQUIRE(fd >= 0 && write(fd, data + profile_size, size - profile_size) >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	run(&w, data, profile_size, path);
	close(fd);
	return 0;
}
