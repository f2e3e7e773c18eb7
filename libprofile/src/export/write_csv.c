// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The profile as a table, for tools that have no format of their own here: CSV with the origin in
 * comment lines, or JSON with the same fields. Positions are file offsets, in JSON as numbers.
 *
 *     kind,from,to,last,count,mispredicted,function
 *     branch,0x1139,0x1150,,17,2,main         from -> to; outside: empty
 *     range,,0x1150,0x115b,17,,main           to .. last; behind a call: kind call-range
 *     trace,0x1139,0x1150,0x115b,17,,main     both
 */
#include "pp_export.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/utf8.h"
#include "pathprof/profile.h"

struct row {
	const char *kind;
	uint64_t from, to, last; /* PATHPROF_OUTSIDE: none */
	uint64_t count, mispredicted;
	bool has_mispredicted;
};

typedef void row_fn(const struct pp_export *x, const struct row *row, bool first);

static const char *function_of(const struct pp_export *x, const struct row *row)
{
	const char *name = NULL;
	uint64_t at = row->from != PATHPROF_OUTSIDE ? row->from : row->to, start;

	if (pathprof_code_function(x->code, at, &name, &start) || !name)
		return "";
	return name;
}

static void put_hex(FILE *file, uint64_t address)
{
	if (address != PATHPROF_OUTSIDE)
		fprintf(file, "0x%" PRIx64, address);
}

/* RFC 4180, in UTF-8. */
static void put_field(FILE *file, const char *text)
{
	bool quoted = text[strcspn(text, ",\"\r\n")];

	if (quoted)
		fputc('"', file);
	while (*text) {
		if (*text == '"')
			fputc('"', file);
		text += pp_utf8_put(text, file);
	}
	if (quoted)
		fputc('"', file);
}

static void put_csv(const struct pp_export *x, const struct row *row, bool first)
{
	fprintf(x->file, "%s,", row->kind);
	put_hex(x->file, row->from);
	fputc(',', x->file);
	put_hex(x->file, row->to);
	fputc(',', x->file);
	put_hex(x->file, row->last);
	fprintf(x->file, ",%" PRIu64 ",", row->count);
	if (row->has_mispredicted)
		fprintf(x->file, "%" PRIu64, row->mispredicted);
	fputc(',', x->file);
	put_field(x->file, function_of(x, row));
	fputc('\n', x->file);
}

static json_t *number_of(uint64_t number)
{
	return json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number);
}

static void set_place(json_t *object, const char *name, uint64_t offset)
{
	if (offset != PATHPROF_OUTSIDE)
		json_object_set_new(object, name, number_of(offset));
}

static void put_json(const struct pp_export *x, const struct row *row, bool first)
{
	json_t *object = json_object();
	const char *function = function_of(x, row);

	json_object_set_new(object, "kind", json_string(row->kind));
	set_place(object, "from", row->from);
	set_place(object, "to", row->to);
	set_place(object, "last", row->last);
	json_object_set_new(object, "count", number_of(row->count));
	if (row->has_mispredicted)
		json_object_set_new(object, "mispredicted", number_of(row->mispredicted));
	if (function[0])
		json_object_set_new(object, "function", pp_utf8_json(function));
	fputs(first ? "\n  " : ",\n  ", x->file);
	json_dumpf(object, x->file, JSON_COMPACT);
	json_decref(object);
}

static void each_row(const struct pp_export *x, row_fn *fn)
{
	const struct pathprof_branch_profile *p = x->profile;
	bool first = true;

	for (uint32_t i = 0; i < p->branch_cnt; i++, first = false) {
		const struct pathprof_branch_count *b = &p->branches[i];
		fn(x,
		   &(struct row){"branch", b->from, b->to, PATHPROF_OUTSIDE, b->count,
				 b->mispredicted, true},
		   first);
	}
	for (uint32_t i = 0; i < p->range_cnt; i++, first = false) {
		const struct pathprof_range_count *r = &p->ranges[i];
		fn(x,
		   &(struct row){r->after_call ? "call-range" : "range", PATHPROF_OUTSIDE, r->start,
				 r->last, r->count, 0, false},
		   first);
	}
	for (uint32_t i = 0; i < p->trace_cnt; i++, first = false) {
		const struct pathprof_trace_count *t = &p->traces[i];
		fn(x, &(struct row){"trace", t->from, t->start, t->last, t->count, 0, false},
		   first);
	}
}

static void set_text(json_t *object, const char *name, const char *text)
{
	if (text && text[0])
		json_object_set_new(object, name, pp_utf8_json(text));
}

/* In the words of `import`: see pathprof/ledger.h. */
static json_t *json_ledger(const struct pathprof_ledger *ledger)
{
	json_t *object = json_object(), *left = json_object();

	json_object_set_new(object, "branches", number_of(ledger->branches));
	json_object_set_new(object, "used", number_of(ledger->used));
	for (int i = 0; i < PATHPROF_LEDGER_CNT; i++)
		json_object_set_new(left, pathprof_ledger_name((enum pathprof_ledger_reason)i),
				    number_of(ledger->left[i]));
	json_object_set_new(object, "left_out", left);
	json_object_set_new(object, "loss_percent",
			    json_real((double)pathprof_ledger_loss_ppm(ledger) / 1e4));
	return object;
}

static void put_json_origin(const struct pp_export *x)
{
	const struct pathprof_branch_origin *o = &x->profile->origin;
	char id[PATHPROF_BUILD_ID_TEXT_LEN], time[32];
	json_t *object = json_object();

	set_text(object, "build_id", pathprof_build_id_text(&o->build_id, id));
	set_text(object, "binary", o->binary);
	set_text(object, "host", o->host);
	set_text(object, "source", o->sources);
	set_text(object, "basis", pathprof_basis_name(o->basis));
	set_text(object, "figure", pathprof_export_figure(x->format, x->profile, &x->options));
	json_object_set_new(object, "weighed", json_boolean(o->weighed));
	json_object_set_new(object, "horizon", number_of(o->horizon));
	set_text(object, "begin", o->begin_ns ? pp_export_time(o->begin_ns, time) : NULL);
	set_text(object, "end", o->end_ns ? pp_export_time(o->end_ns, time) : NULL);
	json_object_set_new(object, "samples", number_of(o->samples));
	json_object_set_new(object, "weight", json_real(o->weight));
	json_object_set_new(object, "taken", number_of(o->taken));
	json_object_set_new(object, "refused", number_of(o->refused));
	json_object_set_new(object, "scale", json_real(o->scale));
	if (o->ledger.branches)
		json_object_set_new(object, "ledger", json_ledger(&o->ledger));
	json_dumpf(object, x->file, JSON_COMPACT);
	json_decref(object);
}

int pp_write_csv(const struct pp_export *x)
{
	if (x->options.json) {
		fputs("{\"profile\": ", x->file);
		put_json_origin(x);
		fputs(",\n \"counts\": [", x->file);
		each_row(x, put_json);
		fputs("]}\n", x->file);
		return 0;
	}
	pp_export_origin(x, x->file, "# ", "\n");
	fputs("kind,from,to,last,count,mispredicted,function\n", x->file);
	each_row(x, put_csv);
	return 0;
}
