// SPDX-License-Identifier: GPL-2.0-or-later
/* See values.h. */
#include "values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "../bpf/values_program.h"
#include "../bpf/values_table.h"
#include "../shared/log.h"
#include "base/plural.h"
#include "value_site.h"

#define DRAIN_EVERY_US UINT64_C(20000)

struct pp_values {
	struct pp_value_site *sites;
	struct pp_values_place places[PP_VALUE_SPEC_MAX];
	uint32_t site_cnt;
	char *sampler;
	struct pp_values_program *program;
	struct pp_values_tables *tables;
	sd_event_source *on_ring, *on_timer;
	uint64_t message_cnt;
	/* The counts that earlier windows have stored. */
	struct pp_values_counts stored[PP_VALUE_SPEC_MAX];
	uint64_t stored_drops[PP_VALUES_DROPS_MAX];
};

_Static_assert(PP_VALUE_SPEC_MAX <= PP_VALUES_PLACE_MAX, "each has a place");

/* ---------------------------------------------------------------- draining */

static void on_message(void *context, uint32_t place, uint64_t value, uint64_t count)
{
	struct pp_values *values = context;

	values->message_cnt++;
	pp_values_tables_add(values->tables, place, value, count);
}

static void drain(struct pp_values *values)
{
	const struct pp_values_sink sink = {values, on_message};

	pp_values_program_drain(values->program, &sink);
}

static int on_ring(sd_event_source *event_source, int fd, uint32_t events, void *context)
{
	drain(context);
	return 0;
}

static int on_timer(sd_event_source *timer, uint64_t now_us, void *context)
{
	int r;

	drain(context);
	r = sd_event_source_set_time_relative(timer, DRAIN_EVERY_US);
	return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* The ring is readable as long as messages are in it; only a wake-up counts, a process's. */
static int watch(struct pp_values *values, sd_event *event, struct pathprof_error *error)
{
	int r = sd_event_add_io(event, &values->on_ring, pp_values_program_fd(values->program),
				EPOLLIN | EPOLLET, on_ring, values);

	/* before all else: until then a process that began is not probed */
	if (r >= 0)
		r = sd_event_source_set_priority(values->on_ring, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &values->on_timer, CLOCK_MONOTONIC,
					       DRAIN_EVERY_US, 0, on_timer, values);
	return r < 0 ? pathprof_fail(error, r, "event loop: %s", strerror(-r)) : 0;
}

/* ---------------------------------------------------------------- opening */

static int find_sites(struct pp_values *values, const struct pp_values_request *request,
		      struct pathprof_error *error)
{
	const struct pp_value_target target = {request->command, request->pid};

	values->sites = calloc(request->spec_cnt, sizeof(*values->sites));
	if (!values->sites)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < request->spec_cnt; i++) {
		struct pp_value_site *site = &values->sites[i];
		int r = pp_value_site_find(site, request->specs[i], &target, error);

		if (r < 0)
			return r;
		values->places[i] =
			(struct pp_values_place){site->path, site->probe, site->argument};
		values->site_cnt++;
	}
	return 0;
}

/* Two of one place would be one row of the store. */
static int check_twice(const struct pp_values *values, const struct pp_values_request *request,
		       struct pathprof_error *error)
{
	for (uint32_t i = 1; i < values->site_cnt; i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct pp_value_site *a = &values->sites[i], *b = &values->sites[j];

			if (a->start == b->start && a->argument == b->argument &&
			    pathprof_build_id_equal(&a->id, &b->id))
				return pathprof_fail(error, -EINVAL,
						     "--value %s: the same parameter as %s: leave "
						     "one out",
						     request->specs[i], request->specs[j]);
		}
	return 0;
}

static int open_program(struct pp_values *values, const struct pp_values_request *request,
			struct pathprof_error *error)
{
	const char *sampler = request->sampler ? request->sampler : PP_VALUES_SAMPLER;
	struct pathprof_compress_form form;
	int r = pathprof_compress_read(&form, sampler, error);

	if (r < 0)
		return r;
	values->sampler = strdup(sampler);
	if (!values->sampler ||
	    pp_values_tables_new(&values->tables, values->site_cnt, form.rate) < 0)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	return pp_values_program_open(&values->program, values->places, values->site_cnt, &form,
				      request->pid, error);
}

static void tell_dear(const struct pp_values *values)
{
	for (uint32_t i = 0; i < values->site_cnt; i++)
		if (!values->sites[i].emulated)
			pp_log(LOG_NOTICE,
			       "--value: the first instruction of %s is expensive to probe: each "
			       "call costs 10 us or more",
			       values->sites[i].function);
}

static int open_all(struct pp_values *values, const struct pp_values_request *request,
		    sd_event *event, struct pathprof_error *error)
{
	int r = request->spec_cnt && request->spec_cnt <= PP_VALUE_SPEC_MAX
			? find_sites(values, request, error)
			: pathprof_fail(error, -EINVAL, "--value: 1 to %d of them",
					PP_VALUE_SPEC_MAX);

	if (r == 0)
		r = check_twice(values, request, error);
	if (r == 0)
		r = open_program(values, request, error);
	if (r == 0)
		r = watch(values, event, error);
	return r;
}

int pp_values_new(struct pp_values **ret_values, const struct pp_values_request *request,
		  sd_event *event, struct pathprof_error *error)
{
	struct pp_values *values = calloc(1, sizeof(*values));
	int r;

	if (!values)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	r = open_all(values, request, event, error);
	if (r < 0) {
		pp_values_free(values);
		return r;
	}
	tell_dear(values);
	*ret_values = values;
	return 0;
}

static void unwatch(struct pp_values *values)
{
	values->on_ring = sd_event_source_disable_unref(values->on_ring);
	values->on_timer = sd_event_source_disable_unref(values->on_timer);
}

void pp_values_free(struct pp_values *values)
{
	if (!values)
		return;
	unwatch(values);
	pp_values_program_free(values->program);
	pp_values_tables_free(values->tables);
	for (uint32_t i = 0; i < values->site_cnt; i++)
		pp_value_site_release(&values->sites[i]);
	free(values->sites);
	free(values->sampler);
	free(values);
}

static void tell_unprobed(const struct pp_values *values)
{
	const char *why = "";
	uint64_t cnt = pp_values_program_unprobed(values->program, &why);

	if (cnt)
		pp_log(LOG_WARNING, "--value: %" PRIu64 " %s not recorded: %s", cnt,
		       pp_plural(cnt, "descendant", "descendants"), why);
}

void pp_values_stop(struct pp_values *values)
{
	const struct pp_values_sink sink = {values, on_message};

	if (!values)
		return;
	unwatch(values);
	pp_values_program_stop(values->program, &sink);
	tell_unprobed(values);
}

/* ---------------------------------------------------------------- a window's rows */

static void fill_row(struct pp_values *values, uint32_t place,
		     struct pp_values_top tops[PP_VALUES_TOP_MAX],
		     struct pathprof_value_count counts[PP_VALUES_TOP_MAX],
		     struct pathprof_value_row *ret_row)
{
	const struct pp_value_site *site = &values->sites[place];
	struct pp_values_counts now = pp_values_program_counts(values->program, place);
	struct pp_values_counts *stored = &values->stored[place];

	*ret_row = (struct pathprof_value_row){
		.binary_id = site->id,
		.binary_name = site->name,
		.start = site->start,
		.function = site->function,
		.argument = site->argument,
		.sampler = values->sampler,
		.entry_max = PP_VALUES_TOP_MAX,
		.executed = now.executed - stored->executed,
		.same = now.same - stored->same,
		.values = counts,
	};
	ret_row->value_cnt = pp_values_tables_read(values->tables, place, tops, &ret_row->profiled);
	for (uint32_t i = 0; i < ret_row->value_cnt; i++)
		counts[i] = (struct pathprof_value_count){tops[i].value, tops[i].count};
	/* counted a moment apart while probes stand */
	if (ret_row->same > ret_row->executed)
		ret_row->same = ret_row->executed;
	stored->executed += ret_row->executed;
	stored->same += ret_row->same;
}

static size_t fill_drops(struct pp_values *values, struct pathprof_value_drop *ret_drops)
{
	uint64_t now[PP_VALUES_DROPS_MAX];
	size_t cnt;

	pp_values_program_drops(values->program, now);
	for (cnt = 0; pp_values_drop_names[cnt]; cnt++) {
		ret_drops[cnt].reason = pp_values_drop_names[cnt];
		ret_drops[cnt].cnt = now[cnt] - values->stored_drops[cnt];
		values->stored_drops[cnt] = now[cnt];
	}
	return cnt;
}

int pp_values_store(struct pp_values *values, struct pathprof_store *store, int64_t window,
		    struct pathprof_error *error)
{
	struct pathprof_value_count counts[PP_VALUE_SPEC_MAX][PP_VALUES_TOP_MAX];
	struct pathprof_value_row rows[PP_VALUE_SPEC_MAX];
	struct pathprof_value_drop drops[PP_VALUES_DROPS_MAX];
	struct pp_values_top tops[PP_VALUES_TOP_MAX];
	size_t drop_cnt;

	if (!values)
		return 0;
	drain(values);
	for (uint32_t i = 0; i < values->site_cnt; i++)
		fill_row(values, i, tops, counts[i], &rows[i]);
	drop_cnt = fill_drops(values, drops);
	pp_values_tables_clear(values->tables);
	return pathprof_store_add_values(store, window, rows, values->site_cnt, drops, drop_cnt,
					 error);
}

void pp_values_describe(const struct pp_values *values, char *ret_text, size_t text_size)
{
	uint64_t executed = 0;

	for (uint32_t i = 0; i < values->site_cnt; i++)
		executed += pp_values_program_counts(values->program, i).executed;
	snprintf(ret_text, text_size,
		 "values of %" PRIu32 " %s in %" PRIu64 " %s, %" PRIu64 " %s, by %s",
		 values->site_cnt, pp_plural(values->site_cnt, "parameter", "parameters"), executed,
		 pp_plural(executed, "execution", "executions"), values->message_cnt,
		 pp_plural(values->message_cnt, "message", "messages"),
		 pp_values_program_way(values->program));
}
