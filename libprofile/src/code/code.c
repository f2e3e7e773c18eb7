// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Opening and freeing of a handle on one ELF file; see pp_code.h for workload and ownership. */
#include "pp_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pp_build_id.h"
#include "pp_lines.h"

static int check_identity(const struct pathprof_code *code, const struct pathprof_build_id *expect,
			  struct pathprof_error *error)
{
	char want[PATHPROF_BUILD_ID_TEXT_LEN], have[PATHPROF_BUILD_ID_TEXT_LEN];
	struct pathprof_build_id id;
	int rc = pp_build_id_read_fd(&id, code->fd, code->path, error);

	if (rc)
		return rc;
	if (pathprof_build_id_equal(&id, expect))
		return 0;
	return pathprof_fail(error, -ESTALE,
			     "%s: is another file (%s) than the one profiled (%s); find that one",
			     code->path, pathprof_build_id_text(&id, have),
			     pathprof_build_id_text(expect, want));
}

static int fill(struct pathprof_code *code, const char *path,
		const struct pathprof_build_id *expect, struct pathprof_error *error)
{
	int rc;

	code->path = strdup(path);
	if (!code->path)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", path);
	code->fd = pp_open_regular(path, error);
	if (code->fd < 0)
		return code->fd;
	rc = expect ? check_identity(code, expect, error) : 0;
	return rc ? rc : pp_elf_open(code, error);
}

int pathprof_code_open(struct pathprof_code **ret_code, const char *path,
		       const struct pathprof_build_id *expect, struct pathprof_error *error)
{
	struct pathprof_code *code = calloc(1, sizeof(*code));
	int rc;

	if (!code)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", path);
	code->fd = -1;
	rc = fill(code, path, expect, error);
	if (rc) {
		pathprof_code_free(code);
		return rc;
	}
	*ret_code = code;
	return 0;
}

void pathprof_code_free(struct pathprof_code *code)
{
	if (!code)
		return;
	pp_lines_free(code->lines);
	if (code->dwfl)
		dwfl_end(code->dwfl);
	elf_end(code->elf);
	if (code->fd >= 0)
		close(code->fd);
	pp_plt_free(code->plt);
	pp_data_free(code->data);
	free(code->symbols);
	free(code->frames);
	free(code->segments);
	free(code->path);
	free(code);
}
