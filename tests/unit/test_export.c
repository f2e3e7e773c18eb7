// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exports of a branch profile: each text format compared with lines written by hand, and read back
 * by the readers. Real tools read them in tests/scenario/export_tools.sh.
 */
#include "test_code.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_writer.h"
#include "export_world.h"
#include "pathprof/export.h"
#include "pathprof/inlines.h"
#include "pprof.pb-c.h"
#include "unit.h"

/* ---------------------------------------------------------------- text written by hand */

/* The text is to be freed, also after an error. */
static int write_profile(struct export_world *w, const struct pathprof_branch_profile *profile,
			 enum pathprof_format format, const struct pathprof_export_options *options,
			 char **ret_text, size_t *ret_size)
{
	FILE *file = open_memstream(ret_text, ret_size);
	int r = pathprof_export(format, profile, w->code, w->graph, options, file, &w->error);

	fclose(file);
	return r;
}

/* The text that is written, to be freed. */
static char *written(struct export_world *w, enum pathprof_format format,
		     const struct pathprof_export_options *options, size_t *ret_size)
{
	char *got = NULL;

	CU_ASSERT_EQUAL(write_profile(w, &w->profile, format, options, &got, ret_size), 0);
	return got;
}

/* The error of an export that is refused and leaves the file empty. */
static int refusal(struct export_world *w, enum pathprof_format format,
		   const struct pathprof_export_options *options)
{
	char *got = NULL;
	size_t size;
	int r = write_profile(w, &w->profile, format, options, &got, &size);

	CU_ASSERT_EQUAL(size, 0);
	free(got);
	return r;
}

/* The lines behind the origin, which has times and the version. */
static const char *behind_origin(const char *text)
{
	while (text[0] == '#' || text[0] == 'E')
		text = strchr(text, '\n') + 1;
	return text;
}

/* Whether a profile of that code is written as wanted. */
static bool writes_as(struct export_world *w, const struct pathprof_branch_profile *profile,
		      enum pathprof_format format, const struct pathprof_export_options *options,
		      const char *want)
{
	char *got = NULL;
	size_t size;
	int r = write_profile(w, profile, format, options, &got, &size);
	bool same = !r && !strcmp(behind_origin(got), behind_origin(want));

	free(got);
	return same;
}

static bool writes(struct export_world *w, enum pathprof_format format,
		   const struct pathprof_export_options *options, const char *want)
{
	return writes_as(w, &w->profile, format, options, want);
}

static const struct pathprof_export_options older = {.bolt_branches = true, .old_autofdo = true};

static const char *const traces = "T 401004 40100d 40100d 4\n"
				  "T 401012 40100c 40100c 3\n"
				  "B 401004 40100d 0 4\n"
				  "B 40100a 401002 30 3\n"
				  "B 40100c X:0 10 0\n"
				  "B 40100d 401020 4 0\n"
				  "B 401012 40100c 1 0\n"
				  "B 401021 401012 4 0\n"
				  "B X:0 401000 10 1\n"
				  "F 401000 401004 4\n"
				  "F 401000 40100a 6\n"
				  "F 401002 40100a 24\n"
				  "F 401002 40100c 6\n"
				  "F 40100c 40100c 1\n"
				  "r 401012 401012 4\n"
				  "F 401020 401021 4\n";

static void test_bolt(void)
{
	struct export_world w;

	export_world_fill(&w);
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, NULL, traces));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, &older,
			      "B 401004 40100d 4 4\n"
			      "B 40100a 401002 30 3\n"
			      "B 40100c X:0 10 0\n"
			      "B 40100d 401020 4 0\n"
			      "B 401012 40100c 4 0\n"
			      "B 401021 401012 4 0\n"
			      "B X:0 401000 10 1\n"
			      "F 401000 401004 4\n"
			      "F 401000 40100a 6\n"
			      "F 401002 40100a 24\n"
			      "F 401002 40100c 6\n"
			      "F 40100c 40100c 4\n"
			      "F 40100d 40100d 4\n"
			      "f 401012 401012 4\n"
			      "F 401020 401021 4\n"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_FDATA, NULL,
			      "1 f 4 1 f d 4 4\n"
			      "1 f a 1 f 2 3 30\n"
			      "1 f d 1 g/1 0 0 4\n"
			      "1 f 12 1 f c 0 4\n"
			      "0 [unknown] 0 1 f 0 1 10\n"
			      "1 f 0 1 f 2 0 10\n"
			      "1 f 4 1 f 6 0 36\n"
			      "1 f a 1 f c 0 6\n"));
	/* the check can fail, and traces say no more than their branch */
	w.profile.branches[4].count = 2;
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, NULL,
			      "T 401004 40100d 40100d 4\n"
			      "T 401012 40100c 40100c 2\n"
			      "B 401004 40100d 0 4\n"
			      "B 40100a 401002 30 3\n"
			      "B 40100c X:0 10 0\n"
			      "B 40100d 401020 4 0\n"
			      "B 401021 401012 4 0\n"
			      "B X:0 401000 10 1\n"
			      "F 401000 401004 4\n"
			      "F 401000 40100a 6\n"
			      "F 401002 40100a 24\n"
			      "F 401002 40100c 6\n"
			      "F 40100c 40100c 2\n"
			      "r 401012 401012 4\n"
			      "F 401020 401021 4\n"));
	CU_ASSERT_FALSE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, NULL, traces));
	export_world_end(&w);
}

static void test_raw(void)
{
	struct export_world w;

	export_world_fill(&w);
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_PROFGEN_RAW, NULL,
			      "8\n0-4:4\n0-a:6\n2-a:24\n2-c:6\nc-c:4\nd-d:4\n12-12:4\n20-21:4\n"
			      "6\n4->d:4\na->2:30\nd->20:4\n12->c:4\n21->12:4\n"
			      "ffffffffffbff000->0:10\n"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_AUTOFDO_TEXT, NULL,
			      "8\n1000-1004:4\n1000-100a:6\n1002-100a:24\n1002-100c:6\n"
			      "100c-100c:4\n100d-100d:4\n1012-1012:4\n1020-1021:4\n"
			      "6\n1004:4\n100a:30\n100c:10\n100d:4\n1012:4\n1021:4\n"
			      "5\n1004->100d:4\n100a->1002:30\n100d->1020:4\n1012->100c:4\n"
			      "1021->1012:4\n"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_AUTOFDO_TEXT, &older,
			      "8\n0-4:4\n0-a:6\n2-a:24\n2-c:6\nc-c:4\nd-d:4\n12-12:4\n20-21:4\n"
			      "6\n4:4\na:30\nc:10\nd:4\n12:4\n21:4\n"
			      "5\n4->d:4\na->2:30\nd->20:4\n12->c:4\n21->12:4\n"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_CSV, NULL,
			      "kind,from,to,last,count,mispredicted,function\n"
			      "branch,0x1004,0x100d,,4,4,f\n"
			      "branch,0x100a,0x1002,,30,3,f\n"
			      "branch,0x100c,,,10,0,f\n"
			      "branch,0x100d,0x1020,,4,0,f\n"
			      "branch,0x1012,0x100c,,4,0,f\n"
			      "branch,0x1021,0x1012,,4,0,g\n"
			      "branch,,0x1000,,10,1,f\n"
			      "range,,0x1000,0x1004,4,,f\n"
			      "range,,0x1000,0x100a,6,,f\n"
			      "range,,0x1002,0x100a,24,,f\n"
			      "range,,0x1002,0x100c,6,,f\n"
			      "range,,0x100c,0x100c,4,,f\n"
			      "range,,0x100d,0x100d,4,,f\n"
			      "call-range,,0x1012,0x1012,4,,f\n"
			      "range,,0x1020,0x1021,4,,g\n"
			      "trace,0x1004,0x100d,0x100d,4,,f\n"
			      "trace,0x1012,0x100c,0x100c,3,,f\n"));
	export_world_end(&w);
}

/* The build-id of the binary at this path stands behind each @ of the text that is wanted. */
static void check_folded(struct export_world *w, const char *path,
			 const struct pathprof_export_options *options, const char *want)
{
	char text[2 * NAME_MAX], id[PATHPROF_BUILD_ID_TEXT_LEN], *to = text;

	CU_ASSERT_EQUAL(pathprof_branch_profile_name(&w->profile, path, NULL, NULL), 0);
	pathprof_build_id_text(&w->graph->build_id, id);
	for (; *want; want++)
		to += sprintf(to, "%c%.12s", *want, *want == '@' ? id : "");
	CU_ASSERT_TRUE(writes(w, PATHPROF_FORMAT_FOLDED, options, text));
}

/* f: 10 times 3 instructions, 36 times 3 more, ..., by hand from the ranges. */
static void test_folded(void)
{
	struct export_world w;

	export_world_fill(&w);
	/* 00: 10; 02, 04: 40; 06, 08, 0a: 36; 0c: 10; 0d, 12: 4; 20, 21: 4 */
	check_folded(&w, "/x/made", NULL, "made@;f 216\nmade@;g 8\n");
	export_world_end(&w);
}

/* f ran half under main, a quarter under "x;y" and the rest without callers; g ran under "x;y". */
static void test_folded_callers(void)
{
	static const char *const main_names[] = {"_start", "main"}, *const deep_names[] = {"x;y"};
	static const struct pathprof_export_chain chains[] = {{main_names, 2}, {deep_names, 1}};
	static struct pathprof_export_called called[] = {
		{EXPORT_WORLD_AT, 0, 1},        {EXPORT_WORLD_AT + 0x02, 0, 1},
		{EXPORT_WORLD_AT, 1, 1},        {EXPORT_WORLD_AT, PATHPROF_NO_CHAIN, 1},
		{EXPORT_WORLD_AT + 0x20, 1, 7},
	};
	static const struct pathprof_export_callers callers = {chains, 2, called, 5};
	const struct pathprof_export_options options = {.callers = &callers};
	struct export_world w;

	export_world_fill(&w);
	check_folded(&w, "/x/made", &options,
		     "made@;_start;main;f 108\nmade@;f 54\nmade@;x:y;f 54\nmade@;x:y;g 8\n");
	called[0].chain = 2;
	CU_ASSERT_EQUAL(refusal(&w, PATHPROF_FORMAT_FOLDED, &options), -EINVAL);
	CU_ASSERT_EQUAL(refusal(&w, PATHPROF_FORMAT_PPROF, &options), -EINVAL);
	called[0].chain = 0;
	export_world_end(&w);
}

/* A clock's samples by place: in f, in f, in g, and in no function. */
static void add_times(struct export_world *w)
{
	static const uint64_t places[] = {0x00, 0x12, 0x20, 0x70};
	static const double ns[] = {1000, 500, 301, 77};

	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(pathprof_branch_profile_add_time(
					&w->profile, EXPORT_WORLD_AT + places[i], ns[i]),
				0);
	CU_ASSERT_EQUAL(pathprof_branch_profile_settle(&w->profile), 0);
}

static void test_folded_time(void)
{
	struct export_world w;

	export_world_fill(&w);
	add_times(&w);
	check_folded(&w, "/x/made", NULL, "made@;[unknown] 77\nmade@;f 1500\nmade@;g 301\n");
	export_world_end(&w);
}

/* The first line of `got` that begins with prefix, without it; "" when there is none. */
static const char *value_of(char *got, const char *prefix, char value[64])
{
	char *line = strstr(got, prefix);

	snprintf(value, 64, "%s", line ? line + strlen(prefix) : "");
	value[strcspn(value, "\n")] = '\0';
	return value;
}

/* Each format names the unit of its counts and the kind of the windows behind them. */
static void test_figure(void)
{
	const struct pathprof_export_options by_runs = {.runs = true};
	const enum pathprof_format folded = PATHPROF_FORMAT_FOLDED;
	struct export_world w;
	char value[64];
	size_t size;

	export_world_fill(&w);
	CU_ASSERT_STRING_EQUAL(pathprof_export_figure(folded, &w.profile, NULL), "instructions");
	char *timeless = written(&w, folded, NULL, &size);
	add_times(&w);
	char *by_runs_text = written(&w, folded, &by_runs, &size);
	CU_ASSERT_STRING_EQUAL(by_runs_text, timeless);
	CU_ASSERT_STRING_EQUAL(pathprof_export_figure(folded, &w.profile, NULL), "time");
	CU_ASSERT_STRING_EQUAL(pathprof_export_figure(folded, &w.profile, &by_runs),
			       "instructions");
	w.profile.origin.basis = PATHPROF_BASIS_TIME;
	w.profile.origin.weighed = true;
	w.profile.origin.horizon = 1024;
	char *csv = written(&w, PATHPROF_FORMAT_CSV, NULL, &size);
	CU_ASSERT_STRING_EQUAL(value_of(csv, "# basis=", value), "time");
	CU_ASSERT_STRING_EQUAL(value_of(csv, "# figure=", value), "runs");
	CU_ASSERT_STRING_EQUAL(value_of(csv, "# weighed=", value), "cpu-time");
	CU_ASSERT_STRING_EQUAL(value_of(csv, "# horizon=", value), "1024");
	free(timeless);
	free(by_runs_text);
	free(csv);
	export_world_end(&w);
}

/* Blanks, what parts and what a terminal obeys, U+009B in UTF-8 too, and what is not UTF-8; other
 * letters stay. */
static void test_words_of_others(void)
{
	struct export_world w;
	char value[64];
	size_t size;

	export_world_fill(&w);
	CU_ASSERT_EQUAL(pathprof_branch_profile_name(
				&w.profile, "/x/m\303\242de \302\23331m;\033\351", NULL, NULL),
			0);
	char *csv = written(&w, PATHPROF_FORMAT_CSV, NULL, &size);
	CU_ASSERT_STRING_EQUAL(value_of(csv, "# binary=", value),
			       "/x/m\303\242de___31m__\357\277\275");
	free(csv);
	export_world_end(&w);
}

/* Without symbols, as views name such functions. */
static void test_folded_nameless(void)
{
	struct export_world w;

	export_world_begin_as(&w, EXPORT_WORLD_NAMELESS);
	export_world_range(&w, 0x02, 0x0c, false, 5);
	export_world_range(&w, 0x20, 0x21, false, 4);
	export_world_settle(&w);
	check_folded(&w, "/x/made", NULL, "made@;made+0x1000 30\nmade@;made+0x1020 8\n");
	export_world_end(&w);
}

/* The longest name that a file may have leaves room for the build-id. */
static void test_folded_long_name(void)
{
	char path[4 + NAME_MAX] = "/x/", want[2 * NAME_MAX];
	struct export_world w;

	memset(path + 3, 'n', NAME_MAX);
	snprintf(want, sizeof(want), "%s@;g 8\n", path + 3);
	export_world_begin(&w);
	export_world_range(&w, 0x20, 0x21, false, 4);
	export_world_settle(&w);
	check_folded(&w, path, NULL, want);
	export_world_end(&w);
}

/* A line has one end in no function at most: there are none of functions without a symbol. */
static void test_fdata_nameless(void)
{
	struct export_world w;

	export_world_begin_as(&w, EXPORT_WORLD_NAMELESS);
	export_world_branch(&w, 0x0a, 0x02, 30, 3);
	export_world_branch(&w, PATHPROF_OUTSIDE, 0x00, 10, 0);
	export_world_range(&w, 0x02, 0x0c, false, 5);
	export_world_settle(&w);
	CU_ASSERT_EQUAL(refusal(&w, PATHPROF_FORMAT_BOLT_FDATA, NULL), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, "perf2bolt --allow-stripped"));
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_PREAGG, &older,
			      "B 40100a 401002 30 3\n"
			      "B X:0 401000 10 0\n"
			      "F 401002 40100c 5\n"));
	export_world_end(&w);
}

/* One of the two functions alone has a symbol, as in a library with its dynamic symbols alone. */
static void test_fdata_partly_named(void)
{
	struct pathprof_export_names names = {0};
	const struct pathprof_export_options options = {.names = &names};
	struct export_world w;

	export_world_begin_as(&w, EXPORT_WORLD_PARTLY_NAMED);
	export_world_branch(&w, 0x0a, 0x02, 30, 3);
	export_world_branch(&w, 0x0d, 0x20, 4, 0);
	export_world_branch(&w, PATHPROF_OUTSIDE, 0x20, 1, 0);
	export_world_branch(&w, PATHPROF_OUTSIDE, 0x00, 10, 0);
	export_world_branch(&w, 0x21, 0x12, 4, 0); /* a return, of which fdata has none */
	export_world_settle(&w);
	CU_ASSERT_TRUE(writes(&w, PATHPROF_FORMAT_BOLT_FDATA, &options,
			      "1 f a 1 f 2 3 30\n"
			      "1 f d 0 [unknown] 0 0 4\n"
			      "0 [unknown] 0 1 f 0 0 10\n"));
	CU_ASSERT_EQUAL(names.branches, 30 + 4 + 1 + 10);
	CU_ASSERT_EQUAL(names.nameless, 1);
	CU_ASSERT_EQUAL(names.half, 4);
	export_world_end(&w);
}

/* ---------------------------------------------------------------- pprof */

/* The profile that is written, unpacked; the caller frees it. */
static PpPprof__Profile *written_pprof(struct export_world *w)
{
	size_t size;
	char *got = written(w, PATHPROF_FORMAT_PPROF, NULL, &size);

	return export_world_pprof(got, size);
}

static void test_pprof(void)
{
	struct export_world w;
	PpPprof__Profile *p;
	int64_t sums[3] = {0};
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	bool told = false;

	export_world_fill(&w);
	w.profile.origin.begin_ns = 1000;
	w.profile.origin.end_ns = 3000;
	p = written_pprof(&w);
	CU_ASSERT_EQUAL(p->time_nanos, 1000);
	CU_ASSERT_EQUAL(p->duration_nanos, 2000);
	CU_ASSERT_EQUAL_FATAL(p->n_sample_type, 3);
	CU_ASSERT_STRING_EQUAL(p->string_table[0], "");
	CU_ASSERT_STRING_EQUAL(p->string_table[p->sample_type[1]->type], "branches");
	for (size_t i = 0; i < p->n_sample; i++)
		for (size_t j = 0; j < 3; j++)
			sums[j] += p->sample[i]->value[j];
	CU_ASSERT_EQUAL(sums[0], 224);
	/* those from outside have no place here */
	CU_ASSERT_EQUAL(sums[1], 56);
	CU_ASSERT_EQUAL(sums[2], 7);
	CU_ASSERT_EQUAL_FATAL(p->n_mapping, 1);
	CU_ASSERT_EQUAL(p->mapping[0]->memory_start, WRITER_TEXT);
	CU_ASSERT_EQUAL(p->mapping[0]->file_offset, EXPORT_WORLD_AT);
	CU_ASSERT_STRING_EQUAL(p->string_table[p->mapping[0]->build_id],
			       pathprof_build_id_text(&w.graph->build_id, id));
	for (size_t i = 0; i < p->n_comment; i++)
		told |= !strncmp(p->string_table[p->comment[i]], "build-id=", 9);
	CU_ASSERT_TRUE(told);
	pp_pprof__profile__free_unpacked(p, NULL);
	export_world_end(&w);
}

/* Readers of protobuf refuse all of a profile for a string that is not UTF-8. */
static void test_pprof_name_of_bytes(void)
{
	struct export_world w;
	PpPprof__Profile *p;

	export_world_fill(&w);
	CU_ASSERT_EQUAL(pathprof_branch_profile_name(&w.profile, "/x/caf\351", NULL, NULL), 0);
	p = written_pprof(&w);
	CU_ASSERT_EQUAL_FATAL(p->n_mapping, 1);
	CU_ASSERT_STRING_EQUAL(p->string_table[p->mapping[0]->filename], "/x/caf\357\277\275");
	pp_pprof__profile__free_unpacked(p, NULL);
	export_world_end(&w);
}

/* The branch is one from the first byte of the file. */
static void test_pprof_first_byte(void)
{
	struct export_world w;
	PpPprof__Profile *p;

	export_world_begin(&w);
	CU_ASSERT_EQUAL(pathprof_branch_profile_add_branch(&w.profile, 0, EXPORT_WORLD_AT, 5, 0),
			0);
	export_world_settle(&w);
	p = written_pprof(&w);
	CU_ASSERT_EQUAL_FATAL(p->n_location, 1);
	CU_ASSERT_EQUAL(p->location[0]->n_line, 1);
	pp_pprof__profile__free_unpacked(p, NULL);
	export_world_end(&w);
}

static void test_pprof_time(void)
{
	struct export_world w;
	PpPprof__Profile *p;
	int64_t cpu = 0, instructions = 0;

	export_world_fill(&w);
	add_times(&w);
	p = written_pprof(&w);
	CU_ASSERT_EQUAL_FATAL(p->n_sample_type, 4);
	CU_ASSERT_STRING_EQUAL(p->string_table[p->sample_type[0]->type], "cpu");
	CU_ASSERT_STRING_EQUAL(p->string_table[p->sample_type[0]->unit], "nanoseconds");
	CU_ASSERT_STRING_EQUAL(p->string_table[p->default_sample_type], "cpu");
	for (size_t i = 0; i < p->n_sample; i++) {
		CU_ASSERT_EQUAL_FATAL(p->sample[i]->n_value, 4);
		cpu += p->sample[i]->value[0];
		instructions += p->sample[i]->value[1];
	}
	CU_ASSERT_EQUAL(cpu, 1878);
	CU_ASSERT_EQUAL(instructions, 224);
	pp_pprof__profile__free_unpacked(p, NULL);
	export_world_end(&w);
}

/* From the first to the last time that there is. */
static void test_pprof_of_all_times(void)
{
	struct export_world w;
	PpPprof__Profile *p;

	export_world_fill(&w);
	w.profile.origin.begin_ns = INT64_MIN;
	w.profile.origin.end_ns = INT64_MAX;
	p = written_pprof(&w);
	CU_ASSERT_EQUAL(p->duration_nanos, INT64_MAX);
	pp_pprof__profile__free_unpacked(p, NULL);
	export_world_end(&w);
}

/* ---------------------------------------------------------------- back through the readers */

struct reading {
	struct export_world w;
	struct pathprof_branch_profile profile;
	enum pathprof_format format;
};

static int take_count(void *context, const struct pathprof_recorded_count *count)
{
	struct reading *r = context;

	return pathprof_branch_profile_add_count(&r->profile, r->w.code, r->w.graph,
						 pathprof_format_addresses(r->format), count,
						 &r->w.error);
}

static void read_back(struct reading *r, const char *bytes, size_t size)
{
	const struct pathprof_recording_sink sink = {.context = r, .count = take_count};
	struct pathprof_recording *recording;
	int fd = memfd_create("export", MFD_CLOEXEC), rc;

	CU_ASSERT_EQUAL(write(fd, bytes, size), (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	rc = pathprof_recording_open(&recording, r->format, fd, "written", &sink, &r->w.error);
	CU_ASSERT_EQUAL_FATAL(rc, 0);
	do
		rc = pathprof_recording_read(recording, &r->w.error);
	while (rc > 0);
	if (rc)
		printf("  %s\n", r->w.error.text);
	CU_ASSERT_EQUAL(rc, 0);
	pathprof_recording_free(recording);
	close(fd);
	CU_ASSERT_EQUAL(pathprof_branch_profile_settle(&r->profile), 0);
}

/* Formats differ in which branches from and to the outside they have. */
static bool same_inside(const struct pathprof_branch_profile *a,
			const struct pathprof_branch_profile *b)
{
	uint32_t j = 0;

	for (uint32_t i = 0; i < a->branch_cnt; i++) {
		const struct pathprof_branch_count *x = &a->branches[i];

		if (x->from == PATHPROF_OUTSIDE || x->to == PATHPROF_OUTSIDE)
			continue;
		while (j < b->branch_cnt && (b->branches[j].from == PATHPROF_OUTSIDE ||
					     b->branches[j].to == PATHPROF_OUTSIDE))
			j++;
		if (j == b->branch_cnt || x->from != b->branches[j].from ||
		    x->to != b->branches[j].to || x->count != b->branches[j].count)
			return false;
		j++;
	}
	return true;
}

static bool same_ranges(const struct pathprof_branch_profile *a,
			const struct pathprof_branch_profile *b)
{
	if (a->range_cnt != b->range_cnt)
		return false;
	for (uint32_t i = 0; i < a->range_cnt; i++)
		if (a->ranges[i].start != b->ranges[i].start ||
		    a->ranges[i].last != b->ranges[i].last ||
		    a->ranges[i].count != b->ranges[i].count)
			return false;
	return true;
}

static uint64_t all_taken(const struct pathprof_branch_profile *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->branch_cnt; i++)
		sum += p->branches[i].count;
	return sum;
}

/* A profile is written, read, and written again. */
static struct reading begin_round(enum pathprof_format format,
				  const struct pathprof_export_options *options)
{
	struct reading r = {.format = format};
	size_t size;
	char *got;

	export_world_fill(&r.w);
	got = written(&r.w, format, options, &size);
	CU_ASSERT_EQUAL_FATAL(pathprof_branch_profile_init(&r.profile, &r.w.graph->build_id), 0);
	read_back(&r, got, size);
	CU_ASSERT_EQUAL(r.profile.origin.refused, 0);
	CU_ASSERT_TRUE(writes_as(&r.w, &r.profile, format, options, got));
	free(got);
	return r;
}

static void end_round(struct reading *r)
{
	pathprof_branch_profile_release(&r->profile);
	export_world_end(&r->w);
}

static void round_trip(enum pathprof_format format, const struct pathprof_export_options *options)
{
	struct reading r = begin_round(format, options);

	CU_ASSERT_EQUAL(r.profile.origin.taken, all_taken(&r.profile));
	CU_ASSERT_TRUE(same_inside(&r.w.profile, &r.profile));
	CU_ASSERT_TRUE(same_ranges(&r.w.profile, &r.profile));
	/* the check can fail */
	r.profile.branches[0].count++;
	CU_ASSERT_FALSE(same_inside(&r.w.profile, &r.profile));
	end_round(&r);
}

static void test_round_trips(void)
{
	const struct pathprof_export_options branches = {.bolt_branches = true};

	round_trip(PATHPROF_FORMAT_BOLT_PREAGG, NULL);
	round_trip(PATHPROF_FORMAT_BOLT_PREAGG, &branches);
	round_trip(PATHPROF_FORMAT_PROFGEN_RAW, NULL);
	round_trip(PATHPROF_FORMAT_AUTOFDO_TEXT, NULL);
}

/*
 * fdata has no ranges and no returns. It has fall-throughs of blocks, which are read as ranges:
 * each instruction ran as often as in the ranges that were written.
 */
static void test_fdata_round_trip(void)
{
	static const struct pathprof_range_count ranges[] = {
		{0x00, 0x0a, false, 4},  {0x00, 0x0c, false, 6}, {0x02, 0x04, false, 4},
		{0x02, 0x0a, false, 26}, {0x0c, 0x0c, false, 4}, {0x0d, 0x0d, false, 4},
		{0x12, 0x12, true, 4},   {0x20, 0x21, false, 4},
	};
	struct reading r = begin_round(PATHPROF_FORMAT_BOLT_FDATA, NULL);

	CU_ASSERT_EQUAL(r.profile.branch_cnt, 5);
	/* 10 + 30 + 4 + 4 + 4: a fall-through is no taken branch */
	CU_ASSERT_EQUAL(r.profile.origin.taken, 52);
	CU_ASSERT_EQUAL_FATAL(r.profile.range_cnt, sizeof(ranges) / sizeof(ranges[0]));
	for (uint32_t i = 0; i < r.profile.range_cnt; i++) {
		const struct pathprof_range_count *have = &r.profile.ranges[i];

		CU_ASSERT_EQUAL(have->start, EXPORT_WORLD_AT + ranges[i].start);
		CU_ASSERT_EQUAL(have->last, EXPORT_WORLD_AT + ranges[i].last);
		CU_ASSERT_EQUAL(have->after_call, ranges[i].after_call);
		CU_ASSERT_EQUAL(have->count, ranges[i].count);
	}
	end_round(&r);
}

/* ---------------------------------------------------------------- what is refused */

static void test_refusals(void)
{
	struct pathprof_build_id other = {.bytes = {0xab}, .len_bytes = 20, .kind = 1};
	char id[PATHPROF_BUILD_ID_TEXT_LEN];
	struct export_world w;

	export_world_begin(&w);
	export_world_settle(&w);
	CU_ASSERT_EQUAL(refusal(&w, PATHPROF_FORMAT_CSV, NULL), -ENODATA);
	export_world_branch(&w, 0, 0x20, 1, 0);
	CU_ASSERT_EQUAL(refusal(&w, PATHPROF_FORMAT_CSV, NULL), -EINVAL);
	export_world_settle(&w);
	CU_ASSERT_EQUAL(refusal(&w, PATHPROF_FORMAT_PERF_DATA, NULL), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(refusal(&w, PATHPROF_FORMAT_LLVM_SAMPLE, NULL), -ENOENT);
	w.profile.origin.build_id = other;
	for (int f = 1; f < PATHPROF_FORMAT_CNT; f++) {
		if (!pathprof_format_writes((enum pathprof_format)f))
			continue;
		CU_ASSERT_EQUAL(refusal(&w, (enum pathprof_format)f, NULL), -ESTALE);
		CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, pathprof_build_id_text(&other, id)));
		pathprof_build_id_text(&w.graph->build_id, id);
		CU_ASSERT_PTR_NOT_NULL(strstr(w.error.text, id));
	}
	export_world_end(&w);
}

static void test_full_device(void)
{
	struct export_world w;
	FILE *file = fopen("/dev/full", "w");

	export_world_fill(&w);
	CU_ASSERT_EQUAL(pathprof_export(PATHPROF_FORMAT_CSV, &w.profile, w.code, w.graph, NULL,
					file, &w.error),
			-ENOSPC);
	fclose(file);
	export_world_end(&w);
}

/* ---------------------------------------------------------------- inline trees */

enum { INNER_LINE = __LINE__ + 1 };
static inline __attribute__((always_inline)) unsigned int pathprof_test_inner(unsigned int x)
{
	__asm__ volatile("nop; nop; nop; nop; nop" : "+r"(x));
	return x * 3;
}

__attribute__((noinline, used)) static unsigned int pathprof_test_outer(unsigned int x)
{
	return 1 + pathprof_test_inner(x);
}
enum { CALL_LINE = __LINE__ - 2, OUTER_LINE = __LINE__ - 4 };

/* Five no-ops in a row: the inner one's. */
static uint64_t find_nops(struct pathprof_code *code, uint64_t from)
{
	char name[64];
	unsigned int len, row = 0;

	for (uint64_t at = from; at < from + 512; at += len) {
		if (pathprof_code_instruction(code, at, name, sizeof(name), &len))
			return 0;
		row = strcmp(name, "nop") == 0 ? row + 1 : 0;
		if (row == 5)
			return at;
	}
	return 0;
}

static void test_inlines(void)
{
	struct pathprof_code *code = open_code(SELF);
	struct pathprof_source_frame frames[8];
	struct pathprof_inlines *inlines;
	struct pathprof_error error;
	uint64_t at;

	CU_ASSERT_EQUAL(pathprof_test_outer(2), 7);
	at = find_nops(code, offset_of(code, (const void *)pathprof_test_outer));
	CU_ASSERT_NOT_EQUAL_FATAL(at, 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_inlines_open(&inlines, code, &error), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_inlines_at(inlines, at, frames, 8), 2);
	CU_ASSERT_TRUE(is(frames[0].linkage_name, "pathprof_test_inner"));
	CU_ASSERT_EQUAL(frames[0].start_line, INNER_LINE);
	CU_ASSERT_EQUAL(frames[0].line, INNER_LINE + 2);
	CU_ASSERT_TRUE(is(frames[1].name, "pathprof_test_outer"));
	CU_ASSERT_EQUAL(frames[1].start_line, OUTER_LINE);
	CU_ASSERT_EQUAL(frames[1].line, CALL_LINE);
	CU_ASSERT_PTR_NOT_NULL(strstr(frames[1].file, "test_export.c"));
	/* Only as many as there is room for are filled in, and all are counted. */
	frames[1].name = NULL;
	CU_ASSERT_EQUAL(pathprof_inlines_at(inlines, at, frames, 1), 2);
	CU_ASSERT_PTR_NULL(frames[1].name);
	CU_ASSERT_EQUAL(pathprof_inlines_at(inlines, 0, frames, 8), 0);
	pathprof_inlines_free(inlines);
	pathprof_code_free(code);
}

static const struct unit_test tests[] = {
	{"BOLT's formats are the lines written by hand", test_bolt},
	{"raw counts and tables are the lines written by hand", test_raw},
	{"folded stacks count instructions", test_folded},
	{"functions without a symbol are the binary and their start", test_folded_nameless},
	{"a folded stack has the build-id of a binary with a long name", test_folded_long_name},
	{"fdata of functions without a symbol is refused", test_fdata_nameless},
	{"fdata counts the branches that no symbol has", test_fdata_partly_named},
	{"folded stacks have callers, and the parts add up", test_folded_callers},
	{"folded stacks count CPU time where a clock ran", test_folded_time},
	{"an export says what it counts, and out of what", test_figure},
	{"the origin holds no control characters", test_words_of_others},
	{"pprof has CPU time first where a clock ran", test_pprof_time},
	{"pprof's values, mapping and comments", test_pprof},
	{"pprof's names are UTF-8", test_pprof_name_of_bytes},
	{"pprof's locations have a line each", test_pprof_first_byte},
	{"pprof's duration stops at its end", test_pprof_of_all_times},
	{"what is written is read back the same", test_round_trips},
	{"fdata is read back by its symbols", test_fdata_round_trip},
	{"another binary, an empty profile and formats that are not written are refused",
	 test_refusals},
	{"a file that cannot be written is an error", test_full_device},
	{"frames of what was inlined, with lines", test_inlines},
};
UNIT_SUITE(export, tests)
