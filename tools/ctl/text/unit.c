// SPDX-License-Identifier: GPL-2.0-or-later
/* A unit as systemd has it: see unit.h. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"

void unit_release(struct unit *unit)
{
	char *const texts[] = {unit->load,   unit->active,  unit->sub, unit->result,
			       unit->status, unit->network, unit->text};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
}

/* Keeps a line KEY=VALUE; those of other keys are passed over. */
static void take_line(struct unit *unit, char *line)
{
	const struct {
		const char *key;
		char **text;
		long *number;
	} keys[] = {
		{"LoadState", &unit->load, NULL},        {"ActiveState", &unit->active, NULL},
		{"SubState", &unit->sub, NULL},          {"Result", &unit->result, NULL},
		{"ExecMainStatus", &unit->status, NULL}, {"PrivateNetwork", &unit->network, NULL},
		{"StatusText", &unit->text, NULL},       {"MainPID", NULL, &unit->pid},
		{"NRestarts", NULL, &unit->restarts},
	};
	char *value = strchr(line, '=');

	if (!value)
		return;
	*value++ = '\0';
	value[strcspn(value, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(line, keys[i].key) != 0)
			continue;
		if (keys[i].number)
			*keys[i].number = strtol(value, NULL, 10);
		else if (!*keys[i].text)
			*keys[i].text = ctl_strdup(value);
	}
}

bool unit_read(struct unit *ret_unit, const char *name)
{
	_cleanup_free_ char *command =
		ctl_printf("systemctl show %s -p LoadState,ActiveState,SubState,Result,"
			   "ExecMainStatus,StatusText,MainPID,NRestarts,PrivateNetwork 2>/dev/null",
			   name);
	char line[4096];
	FILE *output;

	*ret_unit = (struct unit){0};
	output = popen(command, "re");
	while (output && fgets(line, sizeof(line), output))
		take_line(ret_unit, line);
	return output && pclose(output) == 0 && ret_unit->load && ret_unit->active;
}

/* Between an end and the start that follows it, systemd has restarted nothing yet. */
bool unit_is_starting(const struct unit *unit)
{
	bool has_ended = unit->restarts > 0 || (unit->sub && !strcmp(unit->sub, "auto-restart")) ||
			 (unit->result && strcmp(unit->result, "success") != 0);

	return !strcmp(unit->active, "activating") && !has_ended;
}

const char *unit_down(const struct unit *unit)
{
	if (!strcmp(unit->active, "inactive"))
		return "not running";
	if (!strcmp(unit->active, "deactivating"))
		return "it is being stopped";
	if (unit_is_starting(unit))
		return "it is starting";
	return !strcmp(unit->active, "failed") ? "failed" : "it ends and is started again";
}

char *unit_last_words(const struct unit *unit)
{
	return ctl_printf("%s (result %s, exit status %s)",
			  unit->text && *unit->text ? unit->text : "it left no word",
			  unit->result ? unit->result : "unknown",
			  unit->status ? unit->status : "unknown");
}
