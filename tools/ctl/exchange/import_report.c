// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of an import: see import_report.h. Rows of nought are left out of the table. */
#include "import_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl.h"
#include "../view/json.h"
#include "base/plural.h"

/* Files named; more are counted. */
#define FILES_MAX 10
#define ROWS_MAX  (32 + PATHPROF_LEDGER_CNT + PATHPROF_REFUSED_CNT)

struct row {
	const char *group, *name; /* group NULL: a total */
	uint64_t value;
	bool always;
};

struct rows {
	struct row list[ROWS_MAX];
	unsigned int cnt;
};

static void add(struct rows *rows, const char *group, const char *name, uint64_t value)
{
	rows->list[rows->cnt++] = (struct row){group, name, value, !group};
}

static void add_read(struct rows *rows, const struct pathprof_recording_stats *recording,
		     const struct pathprof_import_stats *stats)
{
	add(rows, NULL, "samples", stats->samples);
	add(rows, "samples", "without branches", stats->bare);
	add(rows, "samples", "of events of another kind", stats->other);
	add(rows, "samples", "of processes beyond the bound", stats->nobody);
	add(rows, NULL, "branches", stats->ledger.branches);
	for (int i = 0; i < PATHPROF_LEDGER_CNT; i++)
		add(rows, "branches", pathprof_ledger_name((enum pathprof_ledger_reason)i),
		    stats->ledger.left[i]);
	add(rows, "branches", "without code", stats->no_code);
	add(rows, "branches", "filtered", stats->filtered);
	add(rows, NULL, "edges", stats->ledger.used);
	if (stats->counts)
		add(rows, NULL, "counts", stats->counts);
	add(rows, "counts", "outside the code", stats->counts_left);
	add(rows, "recording", "lost", recording->lost);
	add(rows, "recording", "passed over", recording->unknown);
	add(rows, "recording", "reordered", recording->reordered);
	add(rows, "recording", "truncated", recording->truncated);
}

static void add_made(struct rows *rows, const struct pathprof_import_stats *stats)
{
	add(rows, NULL, "runs", stats->windows);
	for (int i = 1; i < PATHPROF_REFUSED_CNT; i++)
		add(rows, "refused", pathprof_refusal_name((enum pathprof_refusal)i),
		    stats->refused[i]);
	add(rows, "refused", "repeated entry", stats->repeated);
	add(rows, NULL, "paths", stats->paths);
	add(rows, NULL, "windows", stats->written);
}

static void print_table(const struct rows *rows, const char *db, FILE *out)
{
	for (unsigned int i = 0; i < rows->cnt; i++) {
		const struct row *row = &rows->list[i];
		char name[64];

		if (!row->value && !row->always)
			continue;
		snprintf(name, sizeof(name), "%s%s%s", row->group ? row->group : "",
			 row->group ? ": " : "", row->name);
		fprintf(out, "%-40s %16" PRIu64 "\n", name, row->value);
	}
	if (db)
		fprintf(out, "%-40s %16s\n", "written to", db);
}

static void print_json(const struct rows *rows, const struct pathprof_ledger *ledger,
		       const char *db, FILE *out)
{
	json_t *object = json_object();

	for (unsigned int i = 0; object && i < rows->cnt; i++) {
		const struct row *row = &rows->list[i];
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", row->group ? row->group : "",
			 row->group ? "_" : "", row->name);
		for (char *c = name; *c; c++)
			*c = *c == ' ' ? '_' : *c;
		json_object_set_new(object, name, json_integer((json_int_t)row->value));
	}
	json_object_set_new(object, "loss_percent",
			    json_real((double)pathprof_ledger_loss_ppm(ledger) / 1e4));
	if (db)
		json_add_text(object, "db", db);
	else
		json_object_set_new(object, "db", json_null());
	if (object && json_dumpf(object, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER) == 0)
		fputc('\n', out);
	json_decref(object);
}

void import_report(const struct pathprof_import *import,
		   const struct pathprof_recording_stats *recording, const char *db, bool json,
		   FILE *out)
{
	struct rows rows = {.cnt = 0};
	const char *written_to = pathprof_import_stats(import)->written ? db : NULL;

	add_read(&rows, recording, pathprof_import_stats(import));
	add_made(&rows, pathprof_import_stats(import));
	if (json)
		print_json(&rows, &pathprof_import_stats(import)->ledger, written_to, out);
	else
		print_table(&rows, written_to, out);
}

static void say(const struct pathprof_import_file *file, const char *what)
{
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	ctl_note("%.1000s (%s %s): %s", file->name,
		 file->id->kind == PATHPROF_ID_BUILD_ID ? "build-id" : "identity",
		 pathprof_build_id_text(file->id, text), what);
}

void import_report_files(const struct pathprof_import *import)
{
	struct pathprof_import_file file;
	unsigned int said = 0, more = 0;

	for (uint32_t i = 0; pathprof_import_file(import, i, &file); i++) {
		if (file.id->kind == PATHPROF_ID_JIT || (file.has_code && !file.assumed))
			continue;
		if (said == FILES_MAX) {
			more++;
			continue;
		}
		said++;
		if (file.has_code)
			say(&file, "taken by its name: the recording has no build-id of it");
		else if (file.assumed)
			say(&file, "no build-id recorded, counted under its name: branches only; "
				   "name the file by --binary");
		else
			say(&file, "not found: branches only; name it by --binary, its tree by "
				   "--sysroot");
	}
	if (more)
		ctl_note("and %u more %s", more, pp_plural(more, "file", "files"));
}
