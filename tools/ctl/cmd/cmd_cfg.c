// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprofctl cfg FUNCTION: its control-flow graph with what the profile counted, as a listing,
 * JSON, graphviz's language or a picture.
 */
#include "../ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../function/cfg.h"
#include "../function/counted.h"
#include "../text/cleanup.h"
#include "../text/output.h"
#include "../text/text.h"
#include "../untested/tested.h"
#include "base/plural.h"

enum form {
	FORM_TEXT,
	FORM_DOT,
	FORM_SVG,
	FORM_JSON,
};

/* Returns "" for a name without an ending, or for none. */
static const char *ending_of(const char *file)
{
	const char *name = file ? text_base_name(file) : "";
	const char *dot = strrchr(name, '.');

	return dot && dot > name ? dot : "";
}

/* The name of the output file chooses the format if no option does. An unknown ending is
 * refused. */
static int form_of_name(const char *file, enum form *ret_form)
{
	const char *end = ending_of(file);

	if (!strcmp(end, ".svg"))
		*ret_form = FORM_SVG;
	else if (!strcmp(end, ".dot"))
		*ret_form = FORM_DOT;
	else if (!strcmp(end, ".json"))
		*ret_form = FORM_JSON;
	else if (!*end || !strcmp(end, ".txt"))
		*ret_form = FORM_TEXT;
	else
		return ctl_fail("-o %s: cfg writes .svg, .dot, .json and .txt: choose one of "
				"these, or say what the file holds by --format or --json",
				file);
	return CTL_OK;
}

/* The format of --format, or else of the file's name. */
static int form_of(const struct ctl_options *options, enum form *ret_form)
{
	const char *format = options->format;

	if (options->json && format)
		return ctl_usage(options, "--json and --format exclude each other");
	if (!format && !options->json)
		return form_of_name(options->output, ret_form);
	if (options->json)
		*ret_form = FORM_JSON;
	else if (!strcmp(format, "text"))
		*ret_form = FORM_TEXT;
	else
		*ret_form = strcmp(format, "dot") ? FORM_SVG : FORM_DOT;
	return CTL_OK;
}

static void print(FILE *out, const struct cfg *cfg, enum form form)
{
	switch (form) {
	case FORM_TEXT:
		cfg_print_text(out, cfg);
		break;
	case FORM_JSON:
		cfg_print_json(out, cfg);
		break;
	case FORM_DOT:
	case FORM_SVG:
		cfg_print_dot(out, cfg);
		break;
	}
}

static int draw(FILE *out, const struct cfg *cfg)
{
	_cleanup_free_ char *dot = NULL;
	size_t len_bytes = 0;
	FILE *memory = open_memstream(&dot, &len_bytes);

	if (!memory)
		return ctl_fail("cfg: %s", strerror(errno));
	cfg_print_dot(memory, cfg);
	if (fclose(memory) != 0)
		return ctl_fail("cfg: %s", strerror(errno));
	return graphviz_svg(out, dot, len_bytes);
}

static int write_out(const struct ctl_options *options, const struct cfg *cfg, enum form form)
{
	struct pathprof_error error = {""};
	struct output output;
	int drawn = CTL_OK;
	int r = output_begin(&output, options->output, &error);

	if (r < 0)
		return ctl_fail_error("cfg", r, &error);
	if (form == FORM_SVG)
		drawn = draw(output.file, cfg);
	else
		print(output.file, cfg, form);
	r = output_end(&output, drawn ? -ECANCELED : 0, &error);
	if (drawn)
		return drawn;
	return r < 0 ? ctl_fail_error("cfg", r, &error) : CTL_OK;
}

static int show(const struct ctl_options *options, const struct cfg *cfg, enum form form)
{
	if (cfg->hidden_cnt)
		ctl_note("%s: %u of %u %s left out: --all shows them", cfg->target->name,
			 cfg->hidden_cnt, cfg->group_cnt,
			 pp_plural(cfg->hidden_cnt, "blocks is", "blocks are"));
	return write_out(options, cfg, form);
}

static int read_tested(struct cfg *cfg, const struct tested *tested, struct pathprof_error *error)
{
	struct pathprof_filter all = {.binary = NULL};
	struct cfg *counted = cfg_new(cfg->target);
	struct kinds kinds;
	int r = kinds_choose(&kinds, tested->store, &all, error);

	if (r == 0)
		r = cfg_count(counted, tested->store, &all, kinds.used, error);
	if (r == 0)
		cfg_mark_untested(cfg, counted);
	cfg_free(counted);
	return r;
}

static void note_not_whole(const char *file, const struct tested *tested)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tested->run_cnt; i++)
		cnt += tested->runs[i].lost != 0;
	if (cnt)
		ctl_note("--tested: %zu of the %zu %s in %s %s not whole: what they ran may be "
			 "shown as untested",
			 cnt, tested->run_cnt, pp_plural(tested->run_cnt, "run", "runs"), file,
			 pp_plural(cnt, "is", "are"));
}

/* --tested: marks the parts of cfg that no test ran. Returns CTL_OK, or a status after a
 * message. */
static int mark_untested(const struct ctl_options *options, struct cfg *cfg)
{
	struct pathprof_error error = {""};
	struct tested tested;
	int r;

	if (!options->tested)
		return CTL_OK;
	r = tested_open(&tested, options->tested, &error);
	if (r < 0)
		return ctl_fail_error(options->tested, r, &error);
	note_not_whole(options->tested, &tested);
	r = read_tested(cfg, &tested, &error);
	tested_release(&tested);
	if (r < 0)
		return ctl_fail_error(options->tested, r, &error);
	if (!cfg->has_tested)
		ctl_note("--tested: no path of %s was seen whole, so nothing can be held against "
			 "the "
			 "tests",
			 cfg->target->name);
	else if (!cfg->tested_path_cnt)
		ctl_note("--tested: no run in %s ran %s of this build (build-id)", options->tested,
			 cfg->target->name);
	return CTL_OK;
}

/* The word means a function that counted its paths, else one of machine code. Returns CTL_OK, or a
 * status after a message. */
static int open_target(struct target *ret_target, struct view_query *query,
		       const struct ctl_options *options)
{
	struct pathprof_error error = {""};
	int r = counted_open_function(ret_target, query, options->argv[0], &error);

	if (r < 0)
		return ctl_fail_error("cfg", r, &error);
	return r ? CTL_OK : target_open(ret_target, query, options, options->argv[0]);
}

static int run(const struct ctl_options *options, struct view_query *query, enum form form)
{
	struct pathprof_error error = {""};
	struct target target;
	struct cfg *cfg;
	int r = open_target(&target, query, options);

	if (r)
		return r;
	cfg = cfg_new(&target);
	r = cfg_count(cfg, query->store, &query->filter, query->kinds.used, &error);
	if (r < 0) {
		r = ctl_fail_error("cfg", r, &error);
	} else {
		if (options->sort == CTL_SORT_TIME)
			cfg_show_time(cfg);
		if (options->sort == CTL_SORT_TIME && !cfg->by_time)
			ctl_note("--sort time: TIME is not known of what is selected");
		cfg_arrange(cfg, options->all_blocks, options->all);
		r = mark_untested(options, cfg);
		if (r == CTL_OK)
			r = show(options, cfg, form);
	}
	cfg_free(cfg);
	target_release(&target);
	return r;
}

int cmd_cfg(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct view_query query = {.filter = options->filter};
	enum form form = FORM_TEXT;
	int r = form_of(options, &form);

	if (r)
		return r;
	if (options->argc != 1)
		return ctl_usage(options, "one FUNCTION is needed: a name, NAME@BINARY or a file "
					  "offset 0x...");
	r = ctl_db_open(&store, options, PATHPROF_STORE_READ);
	if (r)
		return r;
	query.store = store;
	query.symbols = symbols_new(store);
	r = kinds_settle(store, &query.filter, &query.kinds);
	if (r == CTL_OK)
		r = run(options, &query, form);
	symbols_free(query.symbols);
	return r;
}
