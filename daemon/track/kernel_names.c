// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the kernel's functions: see kernel_names.h. Source: the kernel's kallsyms.c. */
#include "kernel_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "base/vector.h"

#define FUNCTIONS_MAX  1000000
#define NAME_BYTES_MAX (32u << 20)
#define LEN_BYTES_MAX  (64u << 10) /* what follows the last function of a module is not its code */

struct function {
	uint64_t start;
	uint32_t name; /* where it begins in the bytes */
	bool global;
};

struct list {
	struct function *functions; /* by start, one at each */
	char *bytes;
	size_t cnt, room, byte_cnt, byte_room;
	uint64_t base; /* 0: nothing is known */
};

struct pp_kernel_names {
	FILE *file;
	struct pathprof_build_id id;
	struct list list; /* the last that could be read */
	bool tried;
	uint64_t tried_ns; /* when it was tried last, with what outcome */
	int code;
};

/* Nothing is standard input's file from now on. */
static int close_input(void)
{
	_cleanup_close_ int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ? -errno : 0;
}

/*
 * Standard input was opened by a process with more rights: children must not inherit it. -ENOENT:
 * it is another file.
 */
static int take_input(const char *path)
{
	char target[32];
	ssize_t len = readlink("/proc/self/fd/0", target, sizeof(target) - 1);
	int fd, r;

	target[len > 0 ? len : 0] = 0;
	if (strcmp(target, path) != 0)
		return -ENOENT;
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd < 0)
		return -errno;
	r = close_input();
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

static int open_list(FILE **ret_file, const char *path, bool from_input)
{
	int fd = from_input ? take_input(path) : -ENOENT;

	if (fd == -ENOENT)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	else if (fd < 0)
		return fd;
	*ret_file = fd < 0 ? NULL : fdopen(fd, "r");
	return *ret_file ? 0 : -errno;
}

int pp_kernel_names_open(struct pp_kernel_names **ret_names, const char *path, bool from_input,
			 const char *boot_id)
{
	struct pp_kernel_names *names = calloc(1, sizeof(*names));
	char what[128];
	int r;

	if (!names)
		return -ENOMEM;
	r = open_list(&names->file, path, from_input);
	if (r < 0) {
		free(names);
		return r;
	}
	snprintf(what, sizeof(what), "kernel %s", boot_id);
	pathprof_build_id_make(&names->id, PATHPROF_ID_JIT, what, strlen(what));
	*ret_names = names;
	return 0;
}

static void release_list(struct list *list)
{
	free(list->functions);
	free(list->bytes);
	*list = (struct list){0};
}

void pp_kernel_names_free(struct pp_kernel_names *names)
{
	if (!names)
		return;
	fclose(names->file);
	release_list(&names->list);
	free(names);
}

const struct pathprof_build_id *pp_kernel_names_id(const struct pp_kernel_names *names)
{
	return &names->id;
}

/* ---------------------------------------------------------------- reading */

static int add_name(struct list *list, const char *name, const char *module)
{
	size_t len = strlen(name) + strlen(module) + 2;

	if (list->byte_cnt + len > NAME_BYTES_MAX)
		return -ENOSPC;
	if (pp_reserve(&list->bytes, list->byte_cnt + len, &list->byte_room) < 0)
		return -ENOMEM;
	snprintf(list->bytes + list->byte_cnt, len, "%s%s%s", name, *module ? " " : "", module);
	list->byte_cnt += len;
	return 0;
}

/* "ffffffff81000000 T _text", "ffffffffc0201000 t nft_do_chain	[nf_tables]" */
static int add_line(struct list *list, const char *line)
{
	struct function function = {.name = (uint32_t)list->byte_cnt};
	char type, name[256], module[64] = "";

	if (sscanf(line, "%" SCNx64 " %c %255s %63s", &function.start, &type, name, module) < 3 ||
	    !function.start || !strchr("tTwW", type))
		return 0;
	if (!strcmp(name, "_text"))
		list->base = function.start;
	function.global = type == 'T';
	if (list->cnt == FUNCTIONS_MAX)
		return -ENOSPC;
	if (pp_grow(&list->functions, list->cnt, &list->room) < 0)
		return -ENOMEM;
	list->functions[list->cnt++] = function;
	return add_name(list, name, module);
}

static unsigned int underscores(const struct list *list, const struct function *f)
{
	return (unsigned int)strspn(list->bytes + f->name, "_");
}

/* The better of several names at one address comes first: global, few underscores, read first. */
static int compare(const void *a, const void *b, void *context)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->global != y->global)
		return x->global ? -1 : 1;
	if (underscores(context, x) != underscores(context, y))
		return underscores(context, x) < underscores(context, y) ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

static void keep_one_each(struct list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->cnt; i++)
		if (!i || list->functions[i].start != list->functions[kept - 1].start)
			list->functions[kept++] = list->functions[i];
	list->cnt = kept;
}

static int read_lines(struct list *list, FILE *file)
{
	char *line = NULL;
	size_t size = 0;
	int r = 0;

	clearerr(file);
	rewind(file);
	while (r == 0 && getline(&line, &size, file) > 0)
		r = add_line(list, line);
	free(line);
	if (r == 0 && ferror(file))
		r = -EIO;
	/* without _text offsets would be addresses */
	return r == 0 && !list->base ? -EACCES : r;
}

/* A list that cannot be read leaves the last one as it is: most of it still holds. */
static void read_all(struct pp_kernel_names *names, uint64_t now_ns)
{
	struct list list = {0};

	names->tried = true;
	names->tried_ns = now_ns;
	names->code = read_lines(&list, names->file);
	if (names->code < 0) {
		release_list(&list);
		return;
	}
	qsort_r(list.functions, list.cnt, sizeof(*list.functions), compare, &list);
	keep_one_each(&list);
	release_list(&names->list);
	names->list = list;
}

/* ---------------------------------------------------------------- looking up */

static int find(const struct list *list, uint64_t address, struct pp_kernel_function *ret_function)
{
	size_t next = pp_first(i, 0, list->cnt, list->functions[i].start > address);
	const struct function *f;
	uint64_t len = LEN_BYTES_MAX;

	if (!next)
		return -ENOENT;
	f = &list->functions[next - 1];
	if (f->start < list->base)
		return -ENOENT;
	if (next < list->cnt && f[1].start - f->start < len)
		len = f[1].start - f->start;
	if (address - f->start >= len)
		return -ENOENT;
	*ret_function =
		(struct pp_kernel_function){f->start - list->base, len, list->bytes + f->name};
	return 0;
}

int pp_kernel_names_at(struct pp_kernel_names *names, uint64_t address, uint64_t now_ns,
		       struct pp_kernel_function *ret_function)
{
	if (!names->tried || now_ns - names->tried_ns >= PP_KERNEL_NAMES_REREAD_NS)
		read_all(names, now_ns);
	return names->list.base ? find(&names->list, address, ret_function) : names->code;
}

int pp_kernel_names_find(struct pp_kernel_names *names, uint64_t offset,
			 struct pp_kernel_function *ret_function)
{
	const struct list *list = &names->list;

	return list->base ? find(list, list->base + offset, ret_function) : -ENOENT;
}
