// SPDX-License-Identifier: GPL-2.0-or-later
/* See command.h. */
#include "command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_DEPTH_MAX 5 /* as the kernel's */
#define HEAD_BYTES       256

static int check_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	return access(path, X_OK) < 0 ? -errno : 0;
}

int trace_command_find(const char *name, char ret_path[PATH_MAX])
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX] = "";
	int result = -ENOENT;

	if (!dirs)
		dirs = "/usr/local/bin:/usr/bin:/bin";
	for (const char *dir = dirs, *end; dir; dir = *end ? end + 1 : NULL) {
		int len = (int)strcspn(dir, ":"), r;

		end = dir + len;
		if (snprintf(path, sizeof(path), "%.*s/%s", len ? len : 1, len ? dir : ".", name) >=
		    (int)sizeof(path))
			continue;
		r = check_executable(path);
		if (r == 0) {
			memcpy(ret_path, path, sizeof(path));
			return 0;
		}
		if (r == -EACCES)
			result = r;
	}
	return result;
}

static int resolve(struct trace_command *command, const char *name, struct pathprof_error *error)
{
	int r;

	if (strlen(name) >= PATH_MAX)
		return pathprof_fail(error, -ENAMETOOLONG, "%.40s...: name too long", name);
	if (strchr(name, '/')) {
		memcpy(command->program, name, strlen(name) + 1);
		r = check_executable(name);
	} else {
		r = trace_command_find(name, command->program);
	}
	if (r < 0)
		return pathprof_fail(error, r, "%s: %s", name,
				     r == -ENOENT ? "no such program" : strerror(-r));
	return 0;
}

static ssize_t read_head(const char *path, char *head, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, head, size);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

static bool is_x86_64(const char *head, size_t len_bytes)
{
	Elf64_Ehdr header;

	if (len_bytes < sizeof(header))
		return false;
	memcpy(&header, head, sizeof(header));
	return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64 &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

static size_t word_cnt(char *const *argv)
{
	size_t cnt = 0;

	while (argv[cnt])
		cnt++;
	return cnt;
}

/* before: up to two words to put in front. argv[0] is replaced by script. */
static int replace_words(struct trace_command *command, const char *const *before,
			 size_t before_cnt, const char *script)
{
	size_t cnt = word_cnt(command->argv);
	char **words = calloc(cnt + before_cnt + 2, sizeof(*words));
	char *name = strdup(script);
	size_t at = 0;

	if (!words || !name) {
		free(words);
		free(name);
		return -ENOMEM;
	}
	for (; at < before_cnt; at++)
		words[at] = strdup(before[at]);
	words[at++] = name;
	memcpy(words + at, command->argv + 1, (cnt - 1) * sizeof(*words));
	free(command->argv[0]);
	free(command->argv);
	command->argv = words;
	return 0;
}

/* Follows the kernel's rule: an interpreter and at most one argument, which is the rest of the
 * line. */
static int use_interpreter(struct trace_command *command, char *line, struct pathprof_error *error)
{
	char script[PATH_MAX];
	const char *words[2];
	char *argument, *end;

	line[strcspn(line, "\n")] = '\0';
	end = line + strlen(line);
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	line += strspn(line, " \t");
	argument = line + strcspn(line, " \t");
	if (*argument) {
		*argument++ = '\0';
		argument += strspn(argument, " \t");
	}
	if (!*line)
		return pathprof_fail(error, -ENOEXEC, "%s: names no interpreter", command->program);
	memcpy(script, command->program, sizeof(script));
	words[0] = line;
	words[1] = argument;
	if (replace_words(command, words, *argument ? 2 : 1, script) < 0)
		return pathprof_fail(error, -ENOMEM, "%s: no memory", script);
	snprintf(command->program, sizeof(command->program), "%s", line);
	return 0;
}

/* Returns 1 for a program; 0 for a script, when the command is changed to its interpreter's. */
static int look_at(struct trace_command *command, struct pathprof_error *error)
{
	char head[HEAD_BYTES + 1] = "";
	ssize_t n = read_head(command->program, head, HEAD_BYTES);
	int r;

	if (n < 0)
		return pathprof_fail(error, (int)n, "%s: %s", command->program, strerror((int)-n));
	if (is_x86_64(head, (size_t)n))
		return 1;
	if (n < 2 || head[0] != '#' || head[1] != '!')
		return pathprof_fail(error, -ENOEXEC,
				     "%s: neither an x86-64 program nor a script with #!",
				     command->program);
	r = use_interpreter(command, head + 2, error);
	if (r < 0)
		return r;
	r = check_executable(command->program);
	if (r < 0)
		return pathprof_fail(error, r, "%s: interpreter: %s", command->program,
				     strerror(-r));
	return 0;
}

static int copy_words(struct trace_command *command, char *const *argv)
{
	size_t cnt = word_cnt(argv);

	command->argv = calloc(cnt + 1, sizeof(*command->argv));
	if (!command->argv)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		command->argv[i] = strdup(argv[i]);
		if (!command->argv[i])
			return -ENOMEM;
	}
	return 0;
}

int trace_command_init(struct trace_command *command, char *const *argv,
		       struct pathprof_error *error)
{
	int r;

	command->argv = NULL;
	r = resolve(command, argv[0], error);
	if (r < 0)
		return r;
	r = copy_words(command, argv);
	if (r < 0)
		r = pathprof_fail(error, r, "%s: no memory", argv[0]);
	for (int depth = 0; r == 0 && depth < SCRIPT_DEPTH_MAX; depth++)
		r = look_at(command, error);
	if (r == 0)
		r = pathprof_fail(error, -ELOOP, "%s: interpreters go on for ever", argv[0]);
	if (r < 0)
		trace_command_release(command);
	return r < 0 ? r : 0;
}

void trace_command_release(struct trace_command *command)
{
	for (size_t i = 0; command->argv && command->argv[i]; i++)
		free(command->argv[i]);
	free(command->argv);
	command->argv = NULL;
}
