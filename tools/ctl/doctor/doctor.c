// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of facts and the common part of the probes: see doctor.h. */
#include "doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../text/cleanup.h"

void facts_release(struct facts *facts)
{
	for (size_t i = 0; i < facts->cnt; i++) {
		free(facts->list[i].value);
		free(facts->list[i].why);
		free(facts->list[i].change);
	}
	free(facts->list);
	*facts = (struct facts){0};
}

struct fact *facts_add(struct facts *facts, enum fact_state state, const char *name,
		       const char *why, const char *change)
{
	struct fact *fact;

	facts->list = ctl_realloc(facts->list, facts->cnt, facts->cnt + 1, sizeof(struct fact));
	fact = &facts->list[facts->cnt++];
	fact->state = state;
	fact->name = name;
	fact->value = ctl_strdup("");
	fact->why = why && *why ? ctl_strdup(why) : NULL;
	fact->change = change && *change ? ctl_strdup(change) : NULL;
	return fact;
}

void fact_value(struct fact *fact, const char *format, ...)
{
	char *value = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&value, format, args) >= 0) {
		free(fact->value);
		fact->value = value;
	}
	va_end(args);
}

bool doctor_capable(unsigned int capability)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "CapEff:", 7))
			return strtoull(line + 7, NULL, 16) >> capability & 1;
	return false;
}

char *doctor_release(void)
{
	struct utsname name;

	return ctl_strdup(uname(&name) == 0 ? name.release : "");
}
