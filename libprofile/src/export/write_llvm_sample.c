// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * LLVM's sample profile as text, read by clang's -fprofile-sample-use and llvm-profdata:
 *
 *     main:184019:0            function:total:head, by falling total
 *      4: 534                  line from the function's, count
 *      9.1: 2064 callee:1471   line.discriminator, count, whom it called
 *      11: inlined:1200        a call that was inlined, its lines indented further
 *
 * Lines that begin with # are passed over by the reader: the origin stands there.
 *
 * Source: clang's user manual, "Sample Profile Text Format"; llvm/lib/ProfileData/
 * SampleProfReader.cpp.
 */
#include "pp_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pp_source_profile.h"

static void put_position(FILE *file, struct pp_position at)
{
	fprintf(file, at.discriminator ? "%" PRIu32 ".%" PRIu32 ": " : "%" PRIu32 ": ", at.line,
		at.discriminator);
}

static int by_count(const void *a, const void *b)
{
	const struct pp_call_count *left = a, *right = b;
	size_t len = left->callee_len < right->callee_len ? left->callee_len : right->callee_len;
	int c;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	c = memcmp(left->callee, right->callee, len);
	return c ? c : left->callee_len < right->callee_len ? -1 : 1;
}

static void put_body(FILE *file, const struct pp_body_count *body, int indent)
{
	fprintf(file, "%*s", indent, "");
	put_position(file, body->at);
	fprintf(file, "%" PRIu64, body->count);
	if (body->call_cnt)
		qsort(body->calls, body->call_cnt, sizeof(body->calls[0]), by_count);
	for (uint32_t i = 0; i < body->call_cnt; i++)
		fprintf(file, " %.*s:%" PRIu64, (int)body->calls[i].callee_len,
			body->calls[i].callee, body->calls[i].count);
	fputc('\n', file);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as inlining went, which is bounded */
static void put_function(FILE *file, const struct pp_source_function *f, int depth)
{
	fprintf(file, "%.*s:%" PRIu64, (int)f->name_len, f->name, f->total);
	if (!depth)
		fprintf(file, ":%" PRIu64, f->head);
	fputc('\n', file);
	for (uint32_t i = 0; i < f->body_cnt; i++)
		put_body(file, &f->body[i], depth + 1);
	for (uint32_t i = 0; i < f->inlined_cnt; i++) {
		fprintf(file, "%*s", depth + 1, "");
		put_position(file, f->inlined[i]->at);
		put_function(file, f->inlined[i], depth + 1);
	}
}

static int by_total(const void *a, const void *b)
{
	const struct pp_source_function *left = *(struct pp_source_function *const *)a;
	const struct pp_source_function *right = *(struct pp_source_function *const *)b;
	size_t len = left->name_len < right->name_len ? left->name_len : right->name_len;
	int c;

	if (left->total != right->total)
		return left->total > right->total ? -1 : 1;
	c = memcmp(left->name, right->name, len);
	return c ? c : left->name_len < right->name_len ? -1 : left->name_len > right->name_len;
}

int pp_write_llvm_sample(const struct pp_export *x)
{
	struct pp_source_profile profile;
	struct pathprof_inlines *inlines;
	int r = pathprof_inlines_open(&inlines, x->code, x->error);

	if (r)
		return r;
	r = pp_source_profile_make(&profile, x, inlines);
	if (r) {
		pathprof_inlines_free(inlines);
		return pathprof_fail(x->error, r, "llvm-sample: %s", strerror(-r));
	}
	pp_export_origin(x, x->file, "# ", "\n");
	if (profile.root.inlined_cnt)
		qsort(profile.root.inlined, profile.root.inlined_cnt,
		      sizeof(struct pp_source_function *), by_total);
	for (uint32_t i = 0; i < profile.root.inlined_cnt; i++)
		put_function(x->file, profile.root.inlined[i], 0);
	pp_source_profile_release(&profile);
	pathprof_inlines_free(inlines);
	return 0;
}
