// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofctl db check: integrity of the database. */
#include "../ctl.h"

#include <stdio.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../view/json.h"

static int check(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	_cleanup_free_ char *path = ctl_db_path(options);
	struct pathprof_error error = {""};
	unsigned int schema, known;
	int r = ctl_db_open(&store, options, PATHPROF_STORE_READ);

	if (r)
		return r;
	r = pathprof_store_check(store, &error);
	if (r < 0)
		return ctl_fail_error(path, r, &error);
	schema = pathprof_store_schema(store, &known);
	if (options->json) {
		_cleanup_json_ json_t *object = json_object();
		uint64_t bytes = 0;

		pathprof_store_size(store, &bytes);
		json_add_text(object, "db", path);
		json_add(object, "sound", json_true());
		json_add_count(object, "bytes", bytes);
		json_add_count(object, "schema", schema);
		json_dumpf(object, stdout, 0);
		putchar('\n');
	} else {
		_cleanup_free_ char *size = ctl_db_size_text(store);

		printf("%s: sound, %s", path, size);
		if (schema < known)
			printf(", written by an older pathprof (schema %u, this one writes %u)",
			       schema, known);
		putchar('\n');
	}
	return CTL_OK;
}

int cmd_db(const struct ctl_options *options)
{
	if (options->argc != 1 || strcmp(options->argv[0], "check") != 0)
		return ctl_usage(options, "one of: check");
	return check(options);
}
