// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl doctor: the capabilities of this machine, the reasons for limits, and ways to change
 * them. */
#include "../ctl.h"

#include <stdio.h>
#include <string.h>

#include "../doctor/doctor.h"
#include "../text/cleanup.h"
#include "../text/term.h"
#include "../text/text.h"
#include "../view/json.h"
#include "pathprof/sources.h"

static const char *const state_names[] = {"ok", "no", "warn"};

/* The BPF source needs both the event on every CPU and the program that it runs. */
static bool add_source_bpf(struct facts *facts)
{
	bool no_event = facts->branch_stacks_code != 0;
	int code = no_event ? facts->branch_stacks_code : facts->bpf_code;
	struct pathprof_refused refused = pathprof_explain(
		no_event ? PATHPROF_ASK_BRANCH_STACK : PATHPROF_ASK_BPF, code, &facts->machine);
	_cleanup_free_ char *why = ctl_printf("%s: %s", refused.code, refused.why);

	if (code == 0)
		fact_value(facts_add(facts, FACT_OK, "source bpf", NULL, NULL), "yes");
	else
		fact_value(facts_add(facts, FACT_NO, "source bpf", why, refused.change), "no");
	return code == 0;
}

static unsigned int what_is_there(const struct facts *facts, bool bpf)
{
	unsigned int there = 0;

	if (facts->module)
		there |= PATHPROF_NEEDS_MODULE;
	if (facts->branch_stack)
		there |= PATHPROF_NEEDS_BRANCH_STACK;
	if (bpf)
		there |= PATHPROF_NEEDS_BPF;
#ifdef __x86_64__
	if (facts->can_step)
		there |= PATHPROF_NEEDS_PTRACE;
#endif
	return there;
}

/* An addition to the line of a source, or "". */
static const char *remark(const struct facts *facts, unsigned int needs)
{
	if (needs & PATHPROF_NEEDS_MODULE)
		return facts->module_in_use ? ", in use now" : "";
	if (needs & PATHPROF_NEEDS_PTRACE)
		return facts->clock_sampling ? ", sampler cpu-clock" : ", sampler /proc";
	return "";
}

/* Picks the source as pathprofd does with Source=auto: the best that can run here. */
static bool add_source(struct facts *facts)
{
#define ROW(id, name, needs, what, help) {name, what, needs},
	static const struct {
		const char *name, *what;
		unsigned int needs;
	} sources[] = {PATHPROF_SOURCES(ROW)};
	const unsigned int there = what_is_there(facts, add_source_bpf(facts));

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (sources[i].needs & ~there)
			continue;
		fact_value(facts_add(facts, FACT_OK, "source auto", NULL, NULL), "%s (%s)%s",
			   sources[i].name, sources[i].what, remark(facts, sources[i].needs));
		return true;
	}
	fact_value(facts_add(facts, FACT_NO, "source auto",
			     "no source can run here: see single steps",
			     "what the lines above say"),
		   "none");
	return false;
}

static void print_fact(const struct fact *fact)
{
	static const enum ctl_style styles[] = {CTL_GOOD, CTL_HOT, CTL_WARM};
	_cleanup_free_ char *value = text_escape(fact->value);
	_cleanup_free_ char *why = fact->why ? text_escape(fact->why) : NULL;

	printf("%s%-4s%s  %s%s%s%s", ctl_style_on(styles[fact->state]), state_names[fact->state],
	       ctl_style_off(styles[fact->state]), ctl_style_on(CTL_NAME), fact->name,
	       ctl_style_off(CTL_NAME), *value ? ": " : "");
	fputs(value, stdout);
	if (why)
		printf(" %s-- %s%s", ctl_style_on(CTL_DIM), why, ctl_style_off(CTL_DIM));
	if (fact->change)
		printf(" -- %s", fact->change);
	putchar('\n');
}

static void print_text(const struct facts *facts)
{
	for (size_t i = 0; i < facts->cnt; i++)
		print_fact(&facts->list[i]);
}

static void print_json(const struct facts *facts)
{
	struct json_rows rows;

	json_rows_begin(&rows, stdout);
	for (size_t i = 0; i < facts->cnt; i++) {
		const struct fact *fact = &facts->list[i];
		json_t *object = json_object();

		json_add_text(object, "state", state_names[fact->state]);
		json_add_text(object, "fact", fact->name);
		json_add_text(object, "value", fact->value);
		if (fact->why)
			json_add_text(object, "why", fact->why);
		if (fact->change)
			json_add_text(object, "change", fact->change);
		json_rows_add(&rows, object);
	}
	json_rows_end(&rows);
}

/* Whether a source can run. */
static bool look_at_machine(struct facts *facts, const struct ctl_options *options)
{
	pathprof_machine_read(&facts->machine, "");
	doctor_machine(facts);
	doctor_perf(facts);
	doctor_module(facts);
	doctor_bpf(facts);
	doctor_ptrace(facts);
	doctor_oom(facts);
	doctor_files(facts, options);
	return add_source(facts);
}

/* Returns whether nothing keeps the service from working. */
static bool look_at_service(struct facts *facts, const struct ctl_options *options)
{
	bool well = true;

	doctor_service(facts, options);
	for (size_t i = 0; i < facts->cnt; i++)
		well = well && facts->list[i].state != FACT_NO;
	return well;
}

int cmd_doctor(const struct ctl_options *options)
{
	struct facts facts = {0};
	int r = ctl_no_operands(options);
	bool can;

	if (r)
		return r;
	can = options->service ? look_at_service(&facts, options)
			       : look_at_machine(&facts, options);
	if (options->json)
		print_json(&facts);
	else
		print_text(&facts);
	facts_release(&facts);
	return can ? CTL_OK : CTL_FAILURE;
}
