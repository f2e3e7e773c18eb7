// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Opening and freeing of a handle on one ELF file; see pp_code.h for workload and ownership. */
#include "pp_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pathprof/build_id.h"
#include "pathprof/foreign.h"
#include "pp_code_apart.h"
#include "pp_lines.h"

static int check_identity(const struct pathprof_code *code, const struct pathprof_build_id *expect,
			  struct pathprof_error *error)
{
	char want[PATHPROF_BUILD_ID_TEXT_LEN], have[PATHPROF_BUILD_ID_TEXT_LEN];
	struct pathprof_build_id id;
	int r = pathprof_build_id_read_fd(&id, code->fd, code->path, error);

	if (r)
		return r;
	if (pathprof_build_id_is_of(expect, &id))
		return 0;
	return pathprof_fail(error, -ESTALE,
			     "%s: is another file (%s) than the one profiled (%s); find that one",
			     code->path, pathprof_build_id_text(&id, have),
			     pathprof_build_id_text(expect, want));
}

/* A descriptor of the caller's, or something else that it stands for. */
static bool copy_fd(int fd, int *ret_fd)
{
	*ret_fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 || *ret_fd >= 0;
}

static int fill(struct pathprof_code *code, const struct pathprof_code_file *file,
		const struct pathprof_build_id *expect, struct pathprof_error *error)
{
	int r;

	code->path = strdup(file->path);
	if (!code->path)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", file->path);
	if (!copy_fd(file->fd, &code->fd) || !copy_fd(file->root_fd, &code->root_fd))
		return pathprof_fail(error, -errno, "%s: cannot be kept open: %m", file->path);
	r = expect ? check_identity(code, expect, error) : 0;
	return r ? r : pp_elf_open(code, error);
}

static struct pathprof_code *new_code(void)
{
	struct pathprof_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->fd = -1;
	code->root_fd = PP_NO_ROOT;
	code->common_fd = -1;
	return code;
}

int pathprof_code_open_fd(struct pathprof_code **ret_code, const struct pathprof_code_file *file,
			  const struct pathprof_build_id *expect, struct pathprof_error *error)
{
	struct pathprof_code *code = new_code();
	int r;

	if (!code)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", file->path);
	r = fill(code, file, expect, error);
	if (r) {
		pathprof_code_free(code);
		return r;
	}
	*ret_code = code;
	return 0;
}

static int fill_apart(struct pathprof_code *code, const char *path,
		      const struct pathprof_build_id *expect, pathprof_apart_died_fn *died,
		      void *context, struct pathprof_error *error)
{
	code->path = strdup(path);
	if (!code->path)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", path);
	code->fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error);
	return code->fd < 0 ? code->fd : pp_apart_open(code, expect, died, context, error);
}

int pathprof_code_open_apart(struct pathprof_code **ret_code, const char *path,
			     const struct pathprof_build_id *expect, pathprof_apart_died_fn *died,
			     void *context, struct pathprof_error *error)
{
	struct pathprof_code *code = new_code();
	int r;

	if (!code)
		return pathprof_fail(error, -ENOMEM, "%s: out of memory", path);
	r = fill_apart(code, path, expect, died, context, error);
	if (r)
		pathprof_code_free(code);
	else
		*ret_code = code;
	return r;
}

int pathprof_code_call(struct pathprof_code *code, const char *name)
{
	char *path = strdup(name);

	if (!path)
		return -ENOMEM;
	free(code->path);
	code->path = path;
	return 0;
}

int pathprof_code_build_id(const struct pathprof_code *code, struct pathprof_build_id *ret_id,
			   struct pathprof_error *error)
{
	if (!code->apart)
		return pathprof_build_id_read_fd(ret_id, code->fd, code->path, error);
	*ret_id = code->id;
	return 0;
}

int pathprof_code_owner(const struct pathprof_code *code, uid_t *ret_uid)
{
	struct stat status;

	if (fstat(code->fd, &status) < 0)
		return -errno;
	*ret_uid = status.st_uid;
	return 0;
}

int pathprof_code_open(struct pathprof_code **ret_code, const char *path,
		       const struct pathprof_build_id *expect, struct pathprof_error *error)
{
	struct pathprof_code_file file = {.path = path, .root_fd = PATHPROF_OWN_ROOT};
	int r;

	file.fd = pathprof_foreign_open(PATHPROF_OWN_ROOT, path, error);
	if (file.fd < 0)
		return file.fd;
	r = pathprof_code_open_fd(ret_code, &file, expect, error);
	close(file.fd);
	return r;
}

void pathprof_code_free(struct pathprof_code *code)
{
	if (!code)
		return;
	pp_apart_close(code);
	pp_dwfl_close(code);
	pp_lines_free(code->lines);
	elf_end(code->elf);
	if (code->fd >= 0)
		close(code->fd);
	if (code->root_fd >= 0)
		close(code->root_fd);
	pp_plt_free(code->plt);
	pp_data_free(code->data);
	free(code->symbols);
	free(code->frames);
	free(code->segments);
	free(code->path);
	free(code);
}
