// SPDX-License-Identifier: GPL-2.0-or-later
/* Truth and estimates out of a trace. */
#include "trace_pass.h"

#include <stdlib.h>
#include <string.h>

static bool is_tear(const struct pathprof_trace_event *event)
{
	return event->type == PATHPROF_TRACE_EVENT_SIGNAL ||
	       event->type == PATHPROF_TRACE_EVENT_SIGRETURN ||
	       event->type == PATHPROF_TRACE_EVENT_JUMP;
}

static bool feed_truth(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	struct lab_truth *truth = context;

	for (size_t i = 0; i < cnt; i++)
		if (events[i].type == PATHPROF_TRACE_EVENT_BRANCH)
			lab_truth_step(truth, &events[i].branch, events[i].insn_cnt);
		else if (is_tear(&events[i]))
			lab_truth_tear(truth);
	return true;
}

void lab_pass_truth(const struct pathprof_trace *trace, struct lab_truth *truth)
{
	lab_trace_each(trace, feed_truth, truth);
}

struct estimates {
	struct lab_estimate *list;
	size_t cnt;
};

static void feed_one(struct lab_estimate *estimate, const struct pathprof_trace_event *events,
		     size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (events[i].type == PATHPROF_TRACE_EVENT_BRANCH)
			lab_estimate_step(estimate, &events[i].branch, events[i].insn_cnt);
		else if (is_tear(&events[i]))
			lab_estimate_tear(estimate);
}

static bool feed_estimates(void *context, const struct pathprof_trace_event *events, size_t cnt)
{
	const struct estimates *estimates = context;

	for (size_t e = 0; e < estimates->cnt; e++)
		feed_one(&estimates->list[e], events, cnt);
	return true;
}

void lab_pass_estimates(const struct pathprof_trace *trace, struct lab_estimate *estimates,
			size_t cnt)
{
	struct estimates all = {estimates, cnt};

	lab_trace_each(trace, feed_estimates, &all);
	for (size_t e = 0; e < cnt; e++)
		lab_estimate_finish(&estimates[e]);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_named(const struct pathprof_trace_module_info *module, const char *program)
{
	return module->build_id.len_bytes && strcmp(module->name, program) == 0;
}

/* The name is as the program was called, or as the file is found, whole or its end. */
static bool is_main(const struct pathprof_trace_module_info *module, const char *called,
		    const char *program)
{
	return is_named(module, program) || is_named(module, called) ||
	       (module->name[0] != '/' && is_named(module, file_name(program)));
}

bool lab_pass_main_module(const struct pathprof_trace *trace, struct lab_module *ret_module)
{
	const struct pathprof_trace_info *info = pathprof_trace_info(trace);
	char *program = info->command[0] ? realpath(info->command[0], NULL) : NULL;
	uint32_t process = lab_trace_process(trace);
	bool found = false;

	for (uint32_t i = 0; program && i < info->module_cnt && !found; i++) {
		const struct pathprof_trace_module_info *m = pathprof_trace_module(trace, i);

		found = m->process == process && is_main(m, info->command[0], program);
		if (found)
			*ret_module = (struct lab_module){m->build_id, m->start, m->end, m->offset};
	}
	free(program);
	return found;
}

void lab_profile_keep_module(struct lab_profile *p, const struct lab_module *module)
{
	struct lab_profile old = *p;

	lab_profile_init(p, old.column_cnt);
	for (size_t i = 0; i < old.cnt; i++) {
		struct lab_path_key key = old.keys[i];

		if (key.start < module->start || key.start >= module->end)
			continue;
		key.start = key.start - module->start + module->offset;
		memcpy(lab_profile_at(p, &key), old.weights + i * old.column_cnt,
		       old.column_cnt * sizeof(old.weights[0]));
	}
	lab_profile_release(&old);
}
