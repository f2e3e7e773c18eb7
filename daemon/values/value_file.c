// SPDX-License-Identifier: GPL-2.0-or-later
/* See value_file.h. */
#include "value_site.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "pathprof/code.h"
#include "pathprof/foreign.h"
#include "pathprof/mapped.h"

#include "../track/track_proc.h"

static const char *const library_folders[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};
#define LIBRARIES_MAX 1024 /* that a command needs, with those that they need */
#define MAPPED_MAX    1024 /* files that one process has mapped as code */
#define FOLDER_CNT    (sizeof(library_folders) / sizeof(library_folders[0]))

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* folder/name if there is such a file. */
static bool in_folder(const char *folder, size_t folder_len, const char *name, char *ret_path,
		      size_t path_size)
{
	int len = snprintf(ret_path, path_size, "%.*s/%s", (int)folder_len, folder, name);

	return len > 0 && (size_t)len < path_size && is_file(ret_path);
}

/* The search is execvp's: an empty part, also the last one, is the current folder. */
static bool in_search_path(const char *name, char *ret_path, size_t path_size)
{
	const char *at = getenv("PATH");

	for (at = at ? at : "/bin:/usr/bin";; at++) {
		size_t len = strcspn(at, ":");

		if (in_folder(len ? at : ".", len ? len : 1, name, ret_path, path_size) &&
		    access(ret_path, X_OK) == 0)
			return true;
		at += len;
		if (!*at)
			return false;
	}
}

static bool in_library_folders(const char *name, char *ret_path, size_t path_size)
{
	for (size_t i = 0; i < FOLDER_CNT; i++)
		if (in_folder(library_folders[i], strlen(library_folders[i]), name, ret_path,
			      path_size))
			return true;
	return false;
}

void pp_value_fd_path(int fd, char ret_path[PP_VALUE_FD_PATH_MAX])
{
	snprintf(ret_path, PP_VALUE_FD_PATH_MAX, "/proc/self/fd/%d", fd);
}

/* The file at path below that root; shown: its name for people. */
static bool look(struct pp_value_found *ret_found, int root_fd, const char *path, const char *shown)
{
	size_t len = strlen(shown);

	if (len >= sizeof(ret_found->path))
		return false;
	ret_found->fd = pathprof_foreign_look(root_fd, path);
	memcpy(ret_found->path, shown, len + 1);
	return ret_found->fd >= 0;
}

/* A process of another root is seen by its own alone: below ours the path leads to another file. */
static bool has_our_root(int root_fd)
{
	struct stat its, ours;

	return fstat(root_fd, &its) == 0 && stat("/", &ours) == 0 && its.st_dev == ours.st_dev &&
	       its.st_ino == ours.st_ino;
}

/* Each file that a process sees has a name of ours below /proc, whatever root the process has. */
static bool name_inside(pid_t pid, const char *path, char ret_name[static PATH_MAX])
{
	int len = snprintf(ret_name, PATH_MAX, "/proc/%d/root%s", (int)pid, path);

	return len > 0 && len < PATH_MAX;
}

/* Kernels before 5.6 cannot look below a root. */
static bool in_process(pid_t pid, const char *path, struct pp_value_found *ret_found)
{
	_cleanup_close_ int root_fd = pathprof_foreign_root(pid);
	char shown[PATH_MAX];

	if (root_fd < 0)
		return false;
	if (name_inside(pid, path, shown) && look(ret_found, root_fd, path, shown))
		return true;
	return has_our_root(root_fd) && look(ret_found, PATHPROF_OWN_ROOT, path, path);
}

/* ---------------------------------------------------------------- mappings */

/* A line of /proc/PID/maps. */
struct mapping {
	unsigned long long start, end;
	bool code;  /* as a dynamic linker maps it: private, and may run */
	char *path; /* as the kernel tells it, with " (deleted)" where the file is gone */
};

/* The path stays the line's. false: the mapping is of no file. */
static bool read_mapping(char *line, struct mapping *ret_mapping)
{
	char mode[5] = "";

	ret_mapping->path = strchr(line, '/');
	if (!ret_mapping->path ||
	    sscanf(line, "%llx-%llx %4s", &ret_mapping->start, &ret_mapping->end, mode) != 3)
		return false;
	ret_mapping->path[strcspn(ret_mapping->path, "\n")] = '\0';
	ret_mapping->code = mode[2] == 'x' && mode[3] == 'p';
	return true;
}

/*
 * The file that is mapped, also where an update has put another under its name. Without the right
 * to look through mappings it is found by its name.
 */
static bool in_mapping(pid_t pid, const struct mapping *mapping, struct pp_value_found *ret_found)
{
	int fd = pp_proc_look_mapped(pid, mapping->start, mapping->end);

	if (fd < 0)
		return in_process(pid, mapping->path, ret_found);
	if (!name_inside(pid, mapping->path, ret_found->path)) {
		close(fd);
		return false;
	}
	ret_found->path[pathprof_mapped_name_len(ret_found->path)] = '\0';
	ret_found->fd = fd;
	return true;
}

/* name: a whole path, or the last part of one. */
static bool is_of_name(const struct mapping *mapping, const char *name)
{
	const char *path = name[0] == '/' ? mapping->path : strrchr(mapping->path, '/') + 1;
	size_t len = pathprof_mapped_name_len(path);

	return strlen(name) == len && memcmp(path, name, len) == 0;
}

static bool is_mapped(pid_t pid, const char *name, struct pp_value_found *ret_found)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char line[PATH_MAX + 128];
	struct mapping mapping;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
	maps = fopen(line, "re");
	while (maps && fgets(line, sizeof(line), maps))
		if (read_mapping(line, &mapping) && is_of_name(&mapping, name) &&
		    in_mapping(pid, &mapping, ret_found))
			return true;
	return false;
}

/* ---------------------------------------------------------------- libraries */

/*
 * Files that a process has mapped as code, by address. The dynamic linker maps downwards, each
 * library below those loaded before it, so from the top down they come about as it searches them.
 * Exceptions: a library that fitted a gap higher up, one that dlopen() brought while it keeps its
 * names to itself, and a process with the old layout (setarch -L), where addresses grow upwards.
 */
struct mapped {
	pid_t pid;
	char program[PATH_MAX];          /* "": not known */
	struct mapping ring[MAPPED_MAX]; /* of more the highest stay, which were loaded first */
	size_t cnt;                      /* all that there were */
};

/* Roles in the order in which they are searched. */
enum mapped_role {
	MAPPED_PROGRAM,
	MAPPED_LIBRARY,
	MAPPED_LOADER,
	MAPPED_ROLES,
};

static enum mapped_role role_of(const struct mapped *mapped, const char *path)
{
	if (strcmp(path, mapped->program) == 0)
		return MAPPED_PROGRAM;
	return fnmatch("ld-*.so*", strrchr(path, '/') + 1, 0) == 0 ? MAPPED_LOADER : MAPPED_LIBRARY;
}

/* Several mappings of a file in a row count once. */
static int add_mapped(struct mapped *mapped, const struct mapping *mapping)
{
	struct mapping *slot = &mapped->ring[mapped->cnt % MAPPED_MAX];

	if (mapped->cnt &&
	    strcmp(mapped->ring[(mapped->cnt - 1) % MAPPED_MAX].path, mapping->path) == 0)
		return 0;
	free(slot->path);
	*slot = *mapping;
	/* The analyzer loses sight of a place in the ring that is computed. */
	slot->path = strdup(mapping->path); /* NOLINT(clang-analyzer-unix.Malloc) */
	if (!slot->path)
		return -ENOMEM;
	mapped->cnt++;
	return 0;
}

/* The kernel lists by address, the lowest first. */
static int read_mapped(struct mapped *mapped)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char line[PATH_MAX + 128];
	struct mapping mapping;
	int r = 0;

	snprintf(line, sizeof(line), "/proc/%d/maps", (int)mapped->pid);
	maps = fopen(line, "re");
	while (!r && maps && fgets(line, sizeof(line), maps))
		if (read_mapping(line, &mapping) && mapping.code)
			r = add_mapped(mapped, &mapping);
	return r;
}

/* The program's name as /proc/PID/maps has it. */
static void name_program(struct mapped *mapped)
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)mapped->pid);
	len = readlink(link, mapped->program, sizeof(mapped->program) - 1);
	mapped->program[len > 0 ? len : 0] = '\0';
}

/* Reports the files of that role, from the highest address down. */
static int tell_role(const struct mapped *mapped, enum mapped_role role, pp_value_library_fn *fn,
		     void *context)
{
	size_t kept = mapped->cnt < MAPPED_MAX ? mapped->cnt : MAPPED_MAX;
	struct pp_value_found found;
	int r = 0;

	for (size_t i = 1; !r && i <= kept; i++) {
		const struct mapping *mapping = &mapped->ring[(mapped->cnt - i) % MAPPED_MAX];

		if (role_of(mapped, mapping->path) == role &&
		    in_mapping(mapped->pid, mapping, &found))
			r = fn(context, &found);
	}
	return r;
}

static int tell_mapped(pid_t pid, pp_value_library_fn *fn, void *context)
{
	struct mapped mapped = {.pid = pid};
	int r;

	name_program(&mapped);
	r = read_mapped(&mapped);
	for (int role = 0; !r && role < MAPPED_ROLES; role++)
		r = tell_role(&mapped, (enum mapped_role)role, fn, context);
	for (size_t i = 0; i < MAPPED_MAX; i++)
		free(mapped.ring[i].path);
	return r;
}

/* Breadth first, each once, as the dynamic linker searches them. */
struct needed {
	char *paths[LIBRARIES_MAX];
	size_t cnt;
};

static int add_needed(void *context, const char *name)
{
	struct needed *needed = context;
	char path[PATH_MAX];

	if (needed->cnt == LIBRARIES_MAX || strchr(name, '/') ||
	    !in_library_folders(name, path, sizeof(path)))
		return 0;
	for (size_t i = 0; i < needed->cnt; i++)
		if (strcmp(needed->paths[i], path) == 0)
			return 0;
	needed->paths[needed->cnt] = strdup(path);
	if (!needed->paths[needed->cnt])
		return -ENOMEM;
	needed->cnt++;
	return 0;
}

/* A file that cannot be read as a program needs nothing. */
static int add_needed_of(struct needed *needed, const char *path)
{
	struct pathprof_code *code = NULL;
	int r = 0;

	if (pathprof_code_open(&code, path, NULL, NULL) == 0)
		r = pathprof_code_needed(code, add_needed, needed);
	pathprof_code_free(code);
	return r;
}

static int tell_needed(const char *program, pp_value_library_fn *fn, void *context)
{
	struct needed needed = {.cnt = 0};
	int r = add_needed_of(&needed, program);

	for (size_t i = 0; !r && i < needed.cnt; i++) {
		struct pp_value_found found;

		if (look(&found, PATHPROF_OWN_ROOT, needed.paths[i], needed.paths[i]))
			r = fn(context, &found);
		if (!r)
			r = add_needed_of(&needed, needed.paths[i]);
	}
	for (size_t i = 0; i < needed.cnt; i++)
		free(needed.paths[i]);
	return r;
}

int pp_value_libraries(const struct pp_value_target *target, const char *program,
		       pp_value_library_fn *fn, void *context)
{
	return target->command ? tell_needed(program, fn, context)
			       : tell_mapped(target->pid, fn, context);
}

/* ---------------------------------------------------------------- the file that is meant */

static int own_program(const struct pp_value_target *target, char *ret_path, size_t path_size,
		       struct pathprof_error *error)
{
	const char *command = target->command;

	if (!command) {
		snprintf(ret_path, path_size, "/proc/%d/exe", (int)target->pid);
		return 0;
	}
	if (strchr(command, '/') && strlen(command) < path_size && is_file(command)) {
		snprintf(ret_path, path_size, "%s", command);
		return 0;
	}
	if (!strchr(command, '/') && in_search_path(command, ret_path, path_size))
		return 0;
	return pathprof_fail(error, -ENOENT, "%s: no such program", command);
}

/* The program, or a name that this machine knows. */
static int find_path(const struct pp_value_target *target, const char *file, char *ret_path,
		     size_t path_size, struct pathprof_error *error)
{
	if (!file[0])
		return own_program(target, ret_path, path_size, error);
	if (strchr(file, '/')) {
		snprintf(ret_path, path_size, "%s", file);
		return 0;
	}
	if (in_search_path(file, ret_path, path_size) ||
	    in_library_folders(file, ret_path, path_size))
		return 0;
	return pathprof_fail(error, -ENOENT,
			     "%s: neither a program of $PATH nor a library of this machine: give "
			     "its whole path",
			     file);
}

/* A process that runs sees the file below its own root; its program has a name of /proc. */
static bool take_path(const struct pp_value_target *target, const char *path,
		      struct pp_value_found *ret_found)
{
	bool inside = !target->command && path[0] == '/' && strncmp(path, "/proc/", 6) != 0;

	return inside ? in_process(target->pid, path, ret_found)
		      : look(ret_found, PATHPROF_OWN_ROOT, path, path);
}

int pp_value_file(const struct pp_value_target *target, const char *file,
		  struct pp_value_found *ret_found, struct pathprof_error *error)
{
	bool may_be_mapped = !target->command && file[0] && (file[0] == '/' || !strchr(file, '/'));
	char path[PATH_MAX];
	int r;

	if (may_be_mapped && is_mapped(target->pid, file, ret_found))
		return 0;
	r = find_path(target, file, path, sizeof(path), error);
	if (r < 0 || take_path(target, path, ret_found))
		return r;
	return pathprof_fail(error, -ENOENT, "%s: no such file", path);
}
