// SPDX-License-Identifier: GPL-2.0-or-later
/* Events by name: see taken_event.h. Source: perf-list(1), libpfm4. */
#include "taken_event.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/machine.h"

#define RATE_DEFAULT_HZ 99
#define TAKEN_PER_S     UINT64_C(500000000) /* of a busy CPU */
#define WORD_MAX        64

/* ---------------------------------------------------------------- libpfm4 */

static bool encode(const char *name, struct pp_taken_event *ret_event)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};

	if (pfm_initialize() != PFM_SUCCESS ||
	    pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &arg) != PFM_SUCCESS)
		return false;
	*ret_event = (struct pp_taken_event){
		.type = attr.type,
		.config = attr.config,
		.config1 = attr.config1,
		.config2 = attr.config2,
	};
	snprintf(ret_event->name, sizeof(ret_event->name), "%s", name);
	return true;
}

static void taken_event(struct pp_taken_event *ret_event, const char *sysfs, uint32_t cpu)
{
	struct pathprof_hardware_event event;

	pathprof_taken_event(&event, cpu, sysfs);
	*ret_event = (struct pp_taken_event){
		.type = event.type,
		.config = event.config,
		.is_default = true,
	};
	snprintf(ret_event->name, sizeof(ret_event->name), "%s", event.name);
}

/* ---------------------------------------------------------------- pmu/terms/ */

struct place {
	const char *sysfs, *pmu;
};

/* Names become parts of paths. */
static bool is_word(const char *text)
{
	size_t len = strlen(text);

	if (!len || len >= WORD_MAX)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && *text != '_' && *text != '-')
			return false;
	return true;
}

static int read_first(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	const char *got;

	if (!file)
		return -ENOENT;
	got = fgets(line, (int)size, file);
	fclose(file);
	if (!got)
		return -ENOENT;
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

static int read_line(const struct place *place, const char *directory, const char *name, char *line,
		     size_t size)
{
	char path[512];
	int len = snprintf(path, sizeof(path), "%s/%s/%s%s", place->sysfs, place->pmu, directory,
			   name);

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	return read_first(path, line, size);
}

static int read_number(const char *text, uint64_t *ret_value)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static uint64_t *field_named(struct pp_taken_event *event, const char *name, size_t len)
{
	if (len == 6 && !strncmp(name, "config", 6))
		return &event->config;
	if (len == 7 && !strncmp(name, "config1", 7))
		return &event->config1;
	if (len == 7 && !strncmp(name, "config2", 7))
		return &event->config2;
	return NULL;
}

/* Puts value, lowest bits first, into the bits that "0-7,32-35" names. -ERANGE: too few. */
static int scatter(uint64_t *field, const char *bits, uint64_t value)
{
	while (*bits) {
		char *end;
		unsigned long low = strtoul(bits, &end, 10), high = low;

		if (end == bits)
			return -EINVAL;
		if (*end == '-') {
			bits = end + 1;
			high = strtoul(bits, &end, 10);
		}
		if (end == bits || low > high || high > 63 || (*end && *end != ','))
			return -EINVAL;
		for (unsigned long bit = low; bit <= high; bit++, value >>= 1)
			*field = (*field & ~(UINT64_C(1) << bit)) | (value & 1) << bit;
		bits = *end ? end + 1 : end;
	}
	return value ? -ERANGE : 0;
}

/* "event", by the PMU's format file of that name: "config:0-7". */
static int set_formatted(struct pp_taken_event *event, const struct place *place, const char *name,
			 uint64_t value)
{
	char line[128] = "";
	const char *colon;
	uint64_t *field;
	int r = read_line(place, "format/", name, line, sizeof(line));

	if (r)
		return -ENOENT;
	colon = strchr(line, ':');
	field = colon ? field_named(event, line, (size_t)(colon - line)) : NULL;
	return field ? scatter(field, colon + 1, value) : -ENOENT;
}

/* "term=number"; a term alone stands for 1. */
static int set_term(struct pp_taken_event *event, const struct place *place, char *term,
		    struct pathprof_error *error)
{
	char *equals = strchr(term, '=');
	uint64_t value = 1, *field;
	int r = 0;

	if (equals) {
		*equals = '\0';
		r = read_number(equals + 1, &value);
	}
	if (r || !is_word(term))
		return pathprof_fail(error, -EINVAL, "Event=: %s/%.64s: wanted name=number",
				     place->pmu, term);
	field = field_named(event, term, strlen(term));
	if (field)
		*field = value;
	else
		r = set_formatted(event, place, term, value);
	if (r == -ENOENT)
		return pathprof_fail(error, r, "Event=: %s has no term %s", place->pmu, term);
	if (r)
		return pathprof_fail(error, -EINVAL,
				     "Event=: %s/%s: the number is too large for the term",
				     place->pmu, term);
	return 0;
}

static int find_pmu(struct pp_taken_event *event, const struct place *place,
		    struct pathprof_error *error)
{
	char line[32] = "";
	uint64_t type = 0;
	int r = is_word(place->pmu) ? read_line(place, "", "type", line, sizeof(line)) : -EINVAL;

	if (r)
		return pathprof_fail(error, -ENOENT, "Event=: no PMU %.64s: %s lists those there",
				     place->pmu, place->sysfs);
	if (read_number(line, &type) || type > UINT32_MAX)
		return pathprof_fail(error, -EINVAL, "Event=: %s: a type that is no number",
				     place->pmu);
	event->type = (uint32_t)type;
	return 0;
}

/* text is "pmu/terms/" and is cut into pieces. */
static int read_terms(struct pp_taken_event *event, char *text, const char *sysfs,
		      struct pathprof_error *error)
{
	struct place place = {sysfs, text};
	char *terms = strchr(text, '/'), *end = strrchr(text, '/'), *rest = NULL;
	int r;

	if (end == terms || end[1])
		return pathprof_fail(error, -EINVAL, "Event=%.64s: wanted pmu/terms/", text);
	*terms++ = '\0';
	*end = '\0';
	r = find_pmu(event, &place, error);
	for (char *term = strtok_r(terms, ",", &rest); !r && term;
	     term = strtok_r(NULL, ",", &rest))
		r = set_term(event, &place, term, error);
	return r;
}

static int find(struct pp_taken_event *ret_event, const char *text, const char *sysfs,
		struct pathprof_error *error)
{
	struct pp_taken_event event = {0};
	char copy[256];
	int r;

	if (!text || !text[0]) {
		taken_event(ret_event, sysfs, 0);
		return 0;
	}
	if (!strchr(text, '/')) {
		if (encode(text, ret_event))
			return 0;
		return pathprof_fail(error, -ENOENT,
				     "Event=%.64s: no event of this processor that libpfm4 knows",
				     text);
	}
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy))
		return pathprof_fail(error, -EINVAL, "Event=%.64s...: too long", text);
	snprintf(event.name, sizeof(event.name), "%.63s", text);
	r = read_terms(&event, copy, sysfs, error);
	if (r)
		return r;
	*ret_event = event;
	return 0;
}

int pp_taken_event_find(struct pp_taken_event *ret_event, const char *text, const char *sysfs,
			struct pathprof_error *error)
{
	struct pathprof_machine machine;
	struct pp_taken_event event;
	int r = find(&event, text, sysfs, error);

	if (r)
		return r;
	pathprof_machine_read(&machine, "");
	event.branch_sample_type = pathprof_branch_sample_type(&machine);
	*ret_event = event;
	return 0;
}

void pp_taken_event_for_cpu(struct pp_taken_event *event, const char *sysfs, uint32_t cpu)
{
	uint64_t branch_sample_type = event->branch_sample_type;

	if (!event->is_default)
		return;
	taken_event(event, sysfs, cpu);
	event->branch_sample_type = branch_sample_type;
}

/* An odd period: one that a loop's length divides would always strike at its same branch. */
uint64_t pp_taken_event_period(uint32_t frequency_hz)
{
	return TAKEN_PER_S / (frequency_hz ? frequency_hz : RATE_DEFAULT_HZ) | 1;
}
