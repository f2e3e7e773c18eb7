// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The settings' file under libFuzzer: whatever the bytes, settings are either taken over, and then
 * print as text that reads back the same, or unchanged with one line that names file and line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/shared/config.h"
#include "fuzz.h"

static void check_refused(const struct pp_config *config, const struct pathprof_error *error)
{
	struct pp_config defaults;

	pp_config_defaults(&defaults);
	if (memcmp(config, &defaults, sizeof(defaults)) != 0)
		abort();
	if (strncmp(error->text, "fuzz:", 5) != 0 || strchr(error->text, '\n'))
		abort();
}

static void check_taken(const struct pp_config *config)
{
	struct pp_config back;
	char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);

	if (!file)
		abort();
	pp_config_print(config, file);
	fclose(file);
	pp_config_defaults(&back);
	if (pp_config_parse(&back, "printed", text, len, NULL) < 0 ||
	    memcmp(&back, config, sizeof(back)) != 0)
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pathprof_error error = {""};
	struct pp_config config;

	pp_config_defaults(&config);
	if (pp_config_parse(&config, "fuzz", (const char *)data, size, &error) < 0)
		check_refused(&config, &error);
	else
		check_taken(&config);
	return 0;
}
