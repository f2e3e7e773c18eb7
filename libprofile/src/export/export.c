// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The checks before all writers, and the functions that writers share; see export.h. */
#include "pp_export.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "../branch/pp_branch_profile.h"
#include "../code/pp_code_apart.h"
#include "base/utf8.h"
#include "pathprof/build_id.h"

uint64_t pp_export_address(const struct pp_export *x, uint64_t offset)
{
	/* Readers see this as the ELF address 0, which is in no code. */
	uint64_t address = x->addresses == PATHPROF_ADDRESS_TEXT ? -x->base.first_text : 0;

	if (offset != PATHPROF_OUTSIDE)
		pp_address_of(&x->base, x->addresses, offset, &address);
	return address;
}

const char *pp_export_binary(const struct pp_export *x)
{
	const char *path = x->profile->origin.binary ?: x->code->path;
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The next range that differs in more than how it began, and the sum up to it. */
static uint32_t next_range(const struct pathprof_branch_profile *p, uint32_t i, uint64_t *ret_count)
{
	const struct pathprof_range_count *r = &p->ranges[i];

	*ret_count = 0;
	for (; i < p->range_cnt && p->ranges[i].start == r->start && p->ranges[i].last == r->last;
	     i++)
		*ret_count = pp_count_sum(*ret_count, p->ranges[i].count);
	return i;
}

void pp_export_ranges(const struct pp_export *x)
{
	const struct pathprof_branch_profile *p = x->profile;
	uint32_t cnt = 0;
	uint64_t count;

	for (uint32_t i = 0; i < p->range_cnt; cnt++)
		i = next_range(p, i, &count);
	fprintf(x->file, "%" PRIu32 "\n", cnt);
	for (uint32_t i = 0; i < p->range_cnt;) {
		const struct pathprof_range_count *r = &p->ranges[i];

		i = next_range(p, i, &count);
		fprintf(x->file, "%" PRIx64 "-%" PRIx64 ":%" PRIu64 "\n",
			pp_export_address(x, r->start), pp_export_address(x, r->last), count);
	}
}

const char *pp_export_time(int64_t time_ns, char text[32])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
		text[0] = '\0';
	return text;
}

/* U+0080 to U+009F in UTF-8, which some terminals obey. */
static bool is_control(unsigned char first, unsigned char second)
{
	return first == 0xc2 && second >= 0x80 && second <= 0x9f;
}

/* Names come from outside: blanks, separators and control characters are replaced, and bytes that
 * are not UTF-8, for which readers would refuse all of the file. */
static void put_word(FILE *file, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		bool control = is_control(at[0], at[1]);

		if (!control && *at > ' ' && !strchr("\x7f,;", *at)) {
			at += pp_utf8_put((const char *)at, file);
			continue;
		}
		fputs(control ? "__" : "_", file);
		at += control ? 2 : 1;
	}
}

void pp_export_origin(const struct pp_export *x, FILE *file, const char *prefix,
		      const char *separator)
{
	const struct pathprof_branch_origin *o = &x->profile->origin;
	char id[PATHPROF_BUILD_ID_TEXT_LEN], time[32];

	fprintf(file, "%sbuild-id=%s%s", prefix, pathprof_build_id_text(&o->build_id, id),
		separator);
	const struct {
		const char *name, *value;
	} words[] = {{"binary", o->binary},
		     {"host", o->host},
		     {"source", o->sources},
		     {"basis", pathprof_basis_name(o->basis)},
		     {"figure", pathprof_export_figure(x->format, x->profile, &x->options)},
		     {"weighed", o->weighed ? "cpu-time" : NULL}};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!words[i].value || !words[i].value[0])
			continue;
		fprintf(file, "%s%s=", prefix, words[i].name);
		put_word(file, words[i].value);
		fputs(separator, file);
	}
	if (o->horizon)
		fprintf(file, "%shorizon=%" PRIu32 "%s", prefix, o->horizon, separator);
	if (o->begin_ns)
		fprintf(file, "%sbegin=%s%s", prefix, pp_export_time(o->begin_ns, time), separator);
	if (o->end_ns)
		fprintf(file, "%send=%s%s", prefix, pp_export_time(o->end_ns, time), separator);
	fprintf(file, "%ssamples=%" PRIu64 "%s%sweight=%.9g%s%staken=%" PRIu64 "%s%sscale=%.9g",
		prefix, o->samples, separator, prefix, o->weight, separator, prefix, o->taken,
		separator, prefix, o->scale);
	fprintf(file, "%s%sby=pathprof-%s%s", separator, prefix, PATHPROF_VERSION,
		separator[0] == '\n' ? separator : "");
}

const char *pathprof_export_figure(enum pathprof_format format,
				   const struct pathprof_branch_profile *profile,
				   const struct pathprof_export_options *options)
{
	if (format != PATHPROF_FORMAT_FOLDED && format != PATHPROF_FORMAT_PPROF)
		return "runs";
	return profile->time_cnt && !(options && options->runs) ? "time" : "instructions";
}

static int check_binary(const struct pp_export *x)
{
	struct pathprof_build_id id;
	int r = pathprof_code_build_id(x->code, &id, x->error);

	if (!r)
		r = pp_branch_check_id(x->profile, &id, x->code->path, x->error);
	return r ? r
		 : pp_branch_check_id(x->profile, &x->graph->build_id, "the control-flow graph",
				      x->error);
}

/* BOLT rewrites a binary once, and reads profiles of what it was made from. */
static int check_bolted(const struct pp_export *x)
{
	if ((x->format != PATHPROF_FORMAT_BOLT_FDATA && x->format != PATHPROF_FORMAT_BOLT_PREAGG) ||
	    !x->code->layout.is_bolted)
		return 0;
	return pathprof_fail(x->error, -EPROTO,
			     "%s: was written by BOLT (.note.bolt_info), which takes no profile of "
			     "it: record what it was made from",
			     x->code->path);
}

int pp_export_finish(FILE *file, enum pathprof_format format, struct pathprof_error *error)
{
	errno = 0;
	if (fflush(file) || ferror(file))
		return pathprof_fail(error, errno ? -errno : -EIO, "%s cannot be written: %s",
				     pathprof_format_name(format), strerror(errno ? errno : EIO));
	return 0;
}

int pathprof_export(enum pathprof_format format, const struct pathprof_branch_profile *profile,
		    struct pathprof_code *code, const struct pathprof_graph *graph,
		    const struct pathprof_export_options *options, FILE *file,
		    struct pathprof_error *error)
{
	struct pp_export x = {
		.format = format,
		.addresses = pathprof_format_addresses(format),
		.profile = profile,
		.code = code,
		.graph = graph,
		.file = file,
		.error = error,
	};
	pp_writer_fn *write = pp_format_writer(format);
	int r;

	if (options)
		x.options = *options;
	if (!write)
		return pathprof_fail(error, -EOPNOTSUPP, "%s is a format that is only read",
				     pathprof_format_name(format) ?: "this");
	if (!profile->settled)
		return pathprof_fail(error, -EINVAL, "the profile is not settled");
	r = check_binary(&x);
	if (!r && !profile->branch_cnt && !profile->range_cnt)
		r = pathprof_fail(error, -ENODATA, "%s: the profile has no samples in it",
				  code->path);
	if (!r)
		r = check_bolted(&x);
	pp_address_base_of(&x.base, code);
	if (!r)
		r = write(&x);
	/* Half a profile must not pass for a whole one. */
	if (!r)
		r = pp_apart_check(code, error);
	return r ? r : pp_export_finish(file, format, error);
}
