// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Figures of control-flow graphs, and a check of them against an exact trace: each control transfer
 * that was executed inside a function must be an edge of its graph, each straight run must follow
 * its blocks. Misses are listed by class, most executed first. --forget leaves edges out, to test
 * that their misses are found.
 *
 * Workload: a trace of any length, one pass; then each distinct transfer once. The graph of each
 * file that ran is built, or opened from a cache, once; the file must still be the one that ran.
 */
#include "lab.h"

#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/vector.h"
#include "graph/transfers.h"
#include "graph/verdict.h"
#include "pathprof/code.h"
#include "pathprof/graph.h"

struct options {
	const char *file; /* an ELF file, or a trace */
	const char *cache;
	uint64_t allow;
	uint32_t top, forget;
	bool trace, json;
};

struct tally {
	uint64_t executions, edges; /* edges: distinct ones */
};

struct miss {
	enum lab_verdict verdict;
	uint32_t function; /* where it is wrong; PATHPROF_GRAPH_NONE */
	uint64_t from, next;
	const struct file *next_file; /* NULL: the file is not known */
	uint64_t cnt;
};

/* A file that ran. */
struct file {
	const struct pathprof_trace_module_info *module;
	struct pathprof_graph *graph; /* NULL: not available any more */
	double seconds;
	struct tally tallies[LAB_VERDICT_CNT]; /* of transfers */
	struct tally runs[LAB_VERDICT_CNT];
	struct miss *misses;
	size_t miss_cnt, miss_room;
};

struct truth {
	struct options options;
	const struct pathprof_trace *trace;
	struct lab_transfers transfers;
	struct file **files;
	size_t file_cnt;
	uint64_t elsewhere; /* transfers in code without a graph */
};

/* ---------------------------------------------------------------- graphs */

static uint64_t peak_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * 1024;
}

/* Returns NULL, and prints why, if there is no graph. */
static struct pathprof_graph *make_graph(const struct options *o, const char *path,
					 const struct pathprof_build_id *expect,
					 double *ret_seconds)
{
	struct pathprof_graph_cache cache = {.directory = o->cache};
	struct pathprof_graph *graph = NULL;
	struct pathprof_code *code;
	struct pathprof_error error = {""};
	double start = 1e-9 * (double)pp_monotonic_ns();
	int r = pathprof_code_open(&code, path, expect, &error);

	if (r == 0) {
		r = o->cache ? pathprof_graph_open(&graph, code, &cache, NULL, NULL, &error)
			     : pathprof_graph_build(&graph, code, NULL, NULL, &error);
		pathprof_code_free(code);
	}
	*ret_seconds = 1e-9 * (double)pp_monotonic_ns() - start;
	if (r == 0)
		return graph;
	fprintf(stderr, "# %s\n", error.text[0] ? error.text : strerror(-r));
	return NULL;
}

/* ---------------------------------------------------------------- one file */

static const char *edge_name(uint32_t kind)
{
	static const char *const names[PATHPROF_EDGE_KIND_CNT] = {
		"fall",    "not_taken", "taken",  "jump", "switch",
		"guessed", "continue",  "unwind", "call", "tail"};

	return names[kind];
}

static uint64_t count_flag(const struct pathprof_graph *g, uint32_t flag)
{
	uint64_t cnt = 0;

	for (uint32_t f = 0; f < g->function_cnt; f++)
		cnt += (g->functions[f].flags & flag) != 0;
	return cnt;
}

/* Counts the blocks that overlap the next one: code jumps over a prefix, or an address was wrongly
 * taken for a target. */
static uint64_t count_overlapping(const struct pathprof_graph *g)
{
	uint64_t cnt = 0;

	for (uint32_t b = 0; b + 1 < g->block_cnt; b++)
		cnt += g->blocks[b].end > g->blocks[b + 1].start;
	return cnt;
}

static void put(json_t *object, const char *name, uint64_t value)
{
	if (json_object_set_new(object, name, json_integer((json_int_t)value)))
		lab_fail("out of memory");
}

static void put_edges(json_t *object, const struct pathprof_graph *g)
{
	uint64_t kinds[PATHPROF_EDGE_KIND_CNT] = {0};
	char name[32];

	for (uint32_t e = 0; e < g->edge_cnt; e++)
		kinds[g->edges[e].kind % PATHPROF_EDGE_KIND_CNT]++;
	put(object, "edges", g->edge_cnt);
	for (uint32_t k = 0; k < PATHPROF_EDGE_KIND_CNT; k++) {
		snprintf(name, sizeof(name), "edges_%s", edge_name(k));
		put(object, name, kinds[k]);
	}
}

static json_t *figures(const struct pathprof_graph *g, double seconds)
{
	const struct pathprof_graph_stats *s = &g->stats;
	json_t *object = json_object();

	if (!object)
		lab_fail("out of memory");
	put(object, "functions", g->function_cnt);
	put(object, "guessed_functions", count_flag(g, PATHPROF_FUNCTION_GUESSED));
	put(object, "parts", g->part_cnt);
	put(object, "joined", s->joined_cnt);
	put(object, "blocks", g->block_cnt);
	put(object, "overlapping", count_overlapping(g));
	put_edges(object, g);
	put(object, "instructions", s->insn_cnt);
	put(object, "switches", s->switch_cnt);
	put(object, "switch_targets", s->switch_target_cnt);
	put(object, "unresolved", s->unresolved_cnt);
	put(object, "indirect_tails", s->indirect_tail_cnt);
	put(object, "broken", s->broken_cnt);
	put(object, "landing_pads", s->landing_pad_cnt);
	put(object, "noreturn", count_flag(g, PATHPROF_FUNCTION_NORETURN));
	put(object, "setjmp", count_flag(g, PATHPROF_FUNCTION_SETJMP));
	put(object, "peak_bytes", peak_bytes());
	if (json_object_set_new(object, "seconds", json_real(seconds)))
		lab_fail("out of memory");
	return object;
}

static void print_json(json_t *value)
{
	json_dumpf(value, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(value);
}

static void print_lines(json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		if (json_is_real(value))
			printf("%s %.3f\n", name, json_real_value(value));
		else
			printf("%s %" JSON_INTEGER_FORMAT "\n", name, json_integer_value(value));
	}
	json_decref(object);
}

static int show_file(const struct options *o)
{
	double seconds;
	struct pathprof_graph *graph = make_graph(o, o->file, NULL, &seconds);
	json_t *object;

	if (!graph)
		return 1;
	object = figures(graph, seconds);
	pathprof_graph_free(graph);
	if (o->json)
		print_json(object);
	else
		print_lines(object);
	lab_finish_output();
	return 0;
}

/* ---------------------------------------------------------------- files of a trace */

static bool is_same_file(const struct pathprof_trace_module_info *a,
			 const struct pathprof_trace_module_info *b)
{
	return strcmp(a->name, b->name) == 0 && pathprof_build_id_equal(&a->build_id, &b->build_id);
}

static struct file *add_file(struct truth *t, const struct pathprof_trace_module_info *module)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file || pp_resize(&t->files, t->file_cnt + 1) < 0)
		lab_fail("out of memory");
	t->files[t->file_cnt++] = file;
	file->module = module;
	if (module->name[0] == '/' && module->build_id.len_bytes)
		file->graph =
			make_graph(&t->options, module->name, &module->build_id, &file->seconds);
	return file;
}

/* NULL: code without a graph. */
static struct file *place_of(struct truth *t, uint32_t process, uint64_t address,
			     struct lab_graph_place *ret_place)
{
	const struct pathprof_trace_module_info *module =
		pathprof_trace_locate(t->trace, process, address);
	struct file *file = NULL;

	*ret_place = (struct lab_graph_place){0};
	if (!module)
		return NULL;
	for (size_t i = 0; i < t->file_cnt && !file; i++)
		if (is_same_file(t->files[i]->module, module))
			file = t->files[i];
	if (!file)
		file = add_file(t, module);
	if (!file->graph)
		return NULL;
	ret_place->graph = file->graph;
	ret_place->offset = module->offset + (address - module->start);
	return file;
}

/* ---------------------------------------------------------------- checking */

static void add_miss(struct file *file, const struct miss *miss)
{
	if (pp_grow(&file->misses, file->miss_cnt, &file->miss_room) < 0)
		lab_fail("out of memory");
	file->misses[file->miss_cnt++] = *miss;
}

static void note(struct tally *tallies, enum lab_verdict verdict, uint64_t cnt)
{
	tallies[verdict].executions += cnt;
	tallies[verdict].edges++;
}

/* Guesses, and code outside all functions, are not misses, but worth a look. */
static bool is_listed(enum lab_verdict verdict)
{
	return verdict >= LAB_VERDICT_GUESSED;
}

static void check_run(struct truth *t, const struct lab_transfer *run)
{
	struct lab_graph_place start, last;
	struct file *file = place_of(t, run->process, run->from, &start);
	struct file *last_file = place_of(t, run->process, run->next, &last);
	enum lab_verdict verdict;
	struct miss miss;

	if (!file || last_file != file)
		return;
	verdict = lab_verdict_of_run(file->graph, start.offset, last.offset, t->options.forget);
	note(file->runs, verdict, run->cnt);
	if (!is_listed(verdict))
		return;
	miss = (struct miss){.verdict = verdict,
			     .function = lab_graph_function_at(file->graph, start.offset),
			     .from = start.offset,
			     .next = last.offset,
			     .next_file = file,
			     .cnt = run->cnt};
	add_miss(file, &miss);
}

static void check_transfer(struct truth *t, const struct lab_transfer *transfer)
{
	struct lab_graph_transfer x = {.kind = transfer->kind, .taken = transfer->taken};
	struct file *file = place_of(t, transfer->process, transfer->from, &x.from);
	struct file *next = place_of(t, transfer->process, transfer->next, &x.next);
	enum lab_verdict verdict;
	struct miss miss;
	bool at_next;

	if (!file) {
		t->elsewhere += transfer->cnt;
		return;
	}
	verdict = lab_verdict_of_transfer(&x, t->options.forget, &at_next);
	miss = (struct miss){.verdict = verdict,
			     .from = x.from.offset,
			     .next = x.next.offset,
			     .next_file = next,
			     .cnt = transfer->cnt};
	if (at_next && next && is_listed(verdict))
		file = next;
	note(file->tallies, verdict, transfer->cnt);
	if (!is_listed(verdict))
		return;
	miss.function = lab_graph_function_at(file->graph, at_next ? x.next.offset : x.from.offset);
	add_miss(file, &miss);
}

static void check_all(struct truth *t)
{
	for (uint32_t i = 0; i < t->transfers.table.cnt; i++) {
		const struct lab_transfer *transfer = &t->transfers.list[i];

		if (transfer->kind == LAB_TRANSFER_RUN)
			check_run(t, transfer);
		else
			check_transfer(t, transfer);
	}
}

/* ---------------------------------------------------------------- sums */

struct sums {
	uint64_t transfers, covered, guessed, runs;
	struct tally missing;
};

static void add_tally(struct tally *sum, const struct tally *t)
{
	sum->executions += t->executions;
	sum->edges += t->edges;
}

static void add_sums(struct sums *s, const struct file *file)
{
	for (int v = 0; v < LAB_VERDICT_CNT; v++) {
		s->transfers += file->tallies[v].executions;
		s->runs += file->runs[v].executions;
		if (v != LAB_VERDICT_OUTSIDE)
			s->covered += file->tallies[v].executions;
		if (v == LAB_VERDICT_GUESSED)
			s->guessed += file->tallies[v].executions;
		if (v < LAB_VERDICT_MISS)
			continue;
		add_tally(&s->missing, &file->tallies[v]);
		add_tally(&s->missing, &file->runs[v]);
	}
}

static struct tally listed_of(const struct file *file, enum lab_verdict verdict)
{
	struct tally sum = file->tallies[verdict];

	add_tally(&sum, &file->runs[verdict]);
	return sum;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static int by_count(const void *a, const void *b)
{
	const struct miss *x = a, *y = b;

	if (x->cnt != y->cnt)
		return x->cnt > y->cnt ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->next < y->next ? -1 : x->next > y->next;
}

/* Sorts misses first. */
static int by_weight(const void *a, const void *b)
{
	const struct miss *x = a, *y = b;
	bool x_misses = x->verdict >= LAB_VERDICT_MISS, y_misses = y->verdict >= LAB_VERDICT_MISS;

	return x_misses != y_misses ? (x_misses ? -1 : 1) : by_count(a, b);
}

/* name+0xoff of a function that may have no name; text is the caller's. */
static const char *function_text(const struct file *file, const struct miss *m, char *text,
				 size_t size)
{
	const struct pathprof_graph *g = file->graph;
	uint64_t at = m->verdict == LAB_VERDICT_NORETURN || m->verdict == LAB_VERDICT_RETURN ||
				      m->verdict == LAB_VERDICT_ENTRY
			      ? m->next
			      : m->from;
	const char *name;
	uint64_t start;

	if (m->function == PATHPROF_GRAPH_NONE)
		return "-";
	name = pathprof_graph_name(g, m->function);
	start = g->parts[g->functions[m->function].first_part].start;
	if (at >= start)
		snprintf(text, size, "%s+0x%" PRIx64, name[0] ? name : "?", at - start);
	else
		snprintf(text, size, "%s-0x%" PRIx64, name[0] ? name : "?", start - at);
	return text;
}

/* ---------------------------------------------------------------- printing */

static void print_miss(const struct file *file, const struct miss *m)
{
	char text[300];

	printf("  %-8s %10" PRIu64 " 0x%" PRIx64 " -> 0x%" PRIx64 " %s%s%s\n",
	       lab_verdict_name(m->verdict), m->cnt, m->from, m->next,
	       function_text(file, m, text, sizeof(text)),
	       m->next_file && m->next_file != file ? " of " : "",
	       m->next_file && m->next_file != file ? m->next_file->module->name : "");
}

static void print_row(const char *name, const struct sums *s, double seconds)
{
	printf("%-44s %11" PRIu64 " %8.4f %9" PRIu64 " %8.5f %6" PRIu64 " %8" PRIu64 " %7.2f\n",
	       name, s->transfers, percent(s->covered, s->transfers), s->missing.executions,
	       percent(s->missing.executions, s->transfers + s->runs), s->missing.edges, s->guessed,
	       seconds);
}

static void print_file(const struct truth *t, struct file *file)
{
	struct sums s = {0};

	add_sums(&s, file);
	print_row(file->module->name, &s, file->seconds);
	for (int v = LAB_VERDICT_GUESSED; v < LAB_VERDICT_CNT; v++) {
		struct tally tally = listed_of(file, (enum lab_verdict)v);

		if (tally.edges)
			printf("  # %s: %" PRIu64 " executions of %" PRIu64 "\n",
			       lab_verdict_name((enum lab_verdict)v), tally.executions,
			       tally.edges);
	}
	for (size_t i = 0; i < file->miss_cnt && i < t->options.top; i++)
		print_miss(file, &file->misses[i]);
}

static struct sums sum_all(const struct truth *t)
{
	struct sums all = {0};

	for (size_t i = 0; i < t->file_cnt; i++)
		if (t->files[i]->graph)
			add_sums(&all, t->files[i]);
	return all;
}

static void print_table(const struct truth *t)
{
	struct sums all = sum_all(t);
	double seconds = 0;

	printf("%-44s %11s %8s %9s %8s %6s %8s %7s\n", "# file", "transfers", "in_func%", "missing",
	       "missing%", "edges", "guessed", "seconds");
	for (size_t i = 0; i < t->file_cnt; i++) {
		seconds += t->files[i]->seconds;
		if (t->files[i]->graph)
			print_file(t, t->files[i]);
	}
	print_row("total", &all, seconds);
	printf("# no file: %" PRIu64 " transfers; peak %" PRIu64 " MB\n", t->elsewhere,
	       peak_bytes() >> 20);
}

static void put_text(json_t *object, const char *name, const char *text)
{
	json_t *value = json_string(text);

	/* Names of files and symbols need not be UTF-8. */
	if (json_object_set_new(object, name, value ? value : json_string("?")))
		lab_fail("out of memory");
}

static void put_classes(json_t *object, const struct file *file)
{
	json_t *classes = json_object();

	for (int v = LAB_VERDICT_GUESSED; v < LAB_VERDICT_CNT; v++) {
		struct tally tally = listed_of(file, (enum lab_verdict)v);

		if (tally.edges)
			put(classes, lab_verdict_name((enum lab_verdict)v), tally.executions);
	}
	if (json_object_set_new(object, "classes", classes))
		lab_fail("out of memory");
}

static json_t *json_of_miss(const struct file *file, const struct miss *m)
{
	json_t *object = json_object();
	char text[300];

	put_text(object, "class", lab_verdict_name(m->verdict));
	put(object, "from", m->from);
	put(object, "to", m->next);
	put(object, "executions", m->cnt);
	put_text(object, "function", function_text(file, m, text, sizeof(text)));
	return object;
}

static void put_sums(json_t *object, const struct sums *s)
{
	put(object, "transfers", s->transfers);
	put(object, "covered", s->covered);
	put(object, "runs", s->runs);
	put(object, "guessed", s->guessed);
	put(object, "missing", s->missing.executions);
	put(object, "missing_edges", s->missing.edges);
}

static json_t *json_of_file(const struct truth *t, const struct file *file)
{
	json_t *object = figures(file->graph, file->seconds), *misses = json_array();
	struct sums s = {0};

	add_sums(&s, file);
	put_text(object, "file", file->module->name);
	put_sums(object, &s);
	put_classes(object, file);
	for (size_t i = 0; i < file->miss_cnt && i < t->options.top; i++)
		json_array_append_new(misses, json_of_miss(file, &file->misses[i]));
	if (json_object_set_new(object, "misses", misses))
		lab_fail("out of memory");
	return object;
}

static void print_truth_json(const struct truth *t)
{
	json_t *object = json_object(), *files = json_array();
	struct sums all = sum_all(t);

	put_sums(object, &all);
	put(object, "no_file", t->elsewhere);
	for (size_t i = 0; i < t->file_cnt; i++)
		if (t->files[i]->graph)
			json_array_append_new(files, json_of_file(t, t->files[i]));
	if (json_object_set_new(object, "files", files))
		lab_fail("out of memory");
	print_json(object);
}

/* ---------------------------------------------------------------- the command */

static void release(struct truth *t)
{
	for (size_t i = 0; i < t->file_cnt; i++) {
		pathprof_graph_free(t->files[i]->graph);
		free(t->files[i]->misses);
		free(t->files[i]);
	}
	free(t->files);
	lab_transfers_release(&t->transfers);
}

static int hold_against(const struct options *o)
{
	struct pathprof_trace *trace = lab_trace_open(o->file);
	struct truth t = {.options = *o, .trace = trace};
	struct sums all;

	lab_transfers_read(&t.transfers, trace);
	check_all(&t);
	for (size_t i = 0; i < t.file_cnt; i++)
		if (t.files[i]->miss_cnt)
			qsort(t.files[i]->misses, t.files[i]->miss_cnt, sizeof(struct miss),
			      by_weight);
	all = sum_all(&t);
	if (o->json)
		print_truth_json(&t);
	else
		print_table(&t);
	release(&t);
	pathprof_trace_free(trace);
	lab_finish_output();
	return all.missing.executions > o->allow;
}

static struct options parse(int argc, char **argv)
{
	static const struct option long_options[] = {{"trace", required_argument, NULL, 't'},
						     {"cache", required_argument, NULL, 'c'},
						     {"json", no_argument, NULL, 'j'},
						     {"top", required_argument, NULL, 'n'},
						     {"allow", required_argument, NULL, 'a'},
						     {"forget", required_argument, NULL, 'f'},
						     {0}};
	struct options o = {.top = 20};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		switch (c) {
		case 't':
			o.file = optarg;
			o.trace = true;
			break;
		case 'c':
			o.cache = optarg;
			break;
		case 'j':
			o.json = true;
			break;
		case 'n':
			o.top = (uint32_t)lab_option("--top", optarg, 0, 1000000);
			break;
		case 'a':
			o.allow = lab_option("--allow", optarg, 0, UINT64_MAX);
			break;
		case 'f':
			o.forget = (uint32_t)lab_option("--forget", optarg, 1, UINT32_MAX);
			break;
		default:
			lab_usage("graph: bad option");
		}
	if (argc - optind != (o.trace ? 0 : 1))
		lab_usage("graph: one file, or --trace and one trace, please");
	if (!o.trace)
		o.file = argv[optind];
	return o;
}

int lab_graph_command(int argc, char **argv)
{
	struct options options = parse(argc, argv);

	return options.trace ? hold_against(&options) : show_file(&options);
}
