// SPDX-License-Identifier: GPL-2.0-or-later
#include "whole.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINKER   "llvm-link-22"
#define OVERRIDE "--override="

static const unsigned char bitcode_magic[4] = {'B', 'C', 0xc0, 0xde};
static const char archive_magic[] = "!<arch>\n";

/* A member's head in an archive, as ar.h has it. */
#define MEMBER_BYTES 60
#define MEMBER_SIZE  48

enum input { INPUT_OTHER, INPUT_SOURCE, INPUT_BITCODE, INPUT_ARCHIVE };

static void *must(void *memory)
{
	if (!memory) {
		fputs("pathprof-cc: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

static char *join(const char *a, const char *b, const char *c)
{
	char *text;

	return must(asprintf(&text, "%s%s%s", a, b, c) < 0 ? NULL : text);
}

int whole_run(char *const *arguments)
{
	extern char **environ;
	int status, r;
	pid_t pid;

	r = posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environ);
	if (r) {
		fprintf(stderr,
			"pathprof-cc: %s cannot be run: %s; install the packages clang-22 and "
			"llvm-22\n",
			arguments[0], strerror(r));
		return 127;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void whole_remove(char *directory)
{
	char rm[] = "rm", options[] = "-rf", end[] = "--";
	char *const remove[] = {rm, options, end, directory, NULL};

	if (directory)
		(void)whole_run(remove);
	free(directory);
}

static void run_or_exit(char *const *arguments, char *directory)
{
	int status = whole_run(arguments);

	if (!status)
		return;
	whole_remove(directory);
	exit(status);
}

/* ---------------------------------------------------------------- what an input is */

static bool is_source(const char *name)
{
	static const char *const suffixes[] = {".c",   ".cc", ".cpp", ".cxx", ".C",
					       ".c++", ".i",  ".ii",  NULL};
	const char *dot = strrchr(name, '.');

	if (strcmp(name, "-") == 0)
		return true;
	for (const char *const *s = suffixes; dot && *s; s++)
		if (strcmp(dot, *s) == 0)
			return true;
	return false;
}

/* Members that hold the archive's own tables of symbols and names. */
static bool is_index(const char *head)
{
	return head[0] == '/' &&
	       (head[1] == ' ' || head[1] == '/' || strncmp(head, "/SYM64/", 7) == 0);
}

/* An archive of at least one member, all of which are bitcode. */
static bool has_only_bitcode(FILE *file)
{
	char head[MEMBER_BYTES + 1] = {0};
	unsigned char magic[sizeof(bitcode_magic)];
	bool any = false;

	while (fread(head, MEMBER_BYTES, 1, file) == 1) {
		long bytes = strtol(head + MEMBER_SIZE, NULL, 10), at = ftell(file);

		if (bytes < 0 || at < 0)
			return false;
		if (!is_index(head)) {
			if (fread(magic, sizeof(magic), 1, file) != 1 ||
			    memcmp(magic, bitcode_magic, sizeof(magic)) != 0)
				return false;
			any = true;
		}
		if (fseek(file, at + bytes + bytes % 2, SEEK_SET) < 0)
			return false;
	}
	return any;
}

/* A file is bitcode, an archive of that, or something else. */
static enum input look_into(const char *name)
{
	FILE *file = fopen(name, "re");
	char magic[sizeof(archive_magic) - 1];
	enum input is = INPUT_OTHER;

	if (!file)
		return INPUT_OTHER;
	if (fread(magic, sizeof(magic), 1, file) != 1)
		is = INPUT_OTHER;
	else if (memcmp(magic, bitcode_magic, sizeof(bitcode_magic)) == 0)
		is = INPUT_BITCODE;
	else if (memcmp(magic, archive_magic, sizeof(magic)) == 0 && has_only_bitcode(file))
		is = INPUT_ARCHIVE;
	fclose(file);
	return is;
}

/* Whether the linker looks for archives alone where argument at stands. */
static bool takes_archives(const struct whole_command *command, size_t at)
{
	bool archives = false;

	if (command->is_static)
		return true;
	for (size_t i = 1; i < command->cnt; i++) {
		const char *argument = command->arguments[i];

		if (i < at && strcmp(argument, "-Wl,-Bstatic") == 0)
			archives = true;
		else if (i < at && strcmp(argument, "-Wl,-Bdynamic") == 0)
			archives = false;
	}
	return archives;
}

/* The libNAME.so or .a in directory that the linker takes; NULL: the directory has neither. */
static char *look_for(const char *directory, const char *name, bool archives)
{
	char *stem = join(directory, "/lib", name), *archive = join(stem, ".a", ""),
	     *shared = join(stem, ".so", ""), *found = NULL;

	if (!archives && access(shared, R_OK) == 0)
		found = shared;
	else if (access(archive, R_OK) == 0)
		found = archive;
	free(stem);
	if (found != archive)
		free(archive);
	if (found != shared)
		free(shared);
	return found;
}

/*
 * Finds the library of argument at, -lNAME, as the linker does: in the first directory of -L that
 * has one. NULL: none has, or it is no archive of bitcode.
 */
static char *find_library(const struct whole_command *command, size_t at)
{
	bool archives = takes_archives(command, at);
	char *found = NULL;

	for (size_t i = 1; i < command->cnt && !found; i++) {
		const char *directory = command->arguments[i];

		if (strncmp(directory, "-L", 2) != 0)
			continue;
		found = look_for(directory[2] || i + 1 == command->cnt ? directory + 2
								       : command->arguments[i + 1],
				 command->arguments[at] + 2, archives);
	}
	if (!found || look_into(found) == INPUT_ARCHIVE)
		return found;
	free(found);
	return NULL;
}

/* The kind of argument i; an argument -lNAME is replaced by the file if that holds bitcode. */
static enum input input_of(struct whole_command *command, size_t i)
{
	char *library;

	if (command->is_input[i] && is_source(command->arguments[i]))
		return INPUT_SOURCE;
	if (command->is_input[i])
		return look_into(command->arguments[i]);
	if (!command->is_library[i])
		return INPUT_OTHER;
	library = find_library(command, i);
	if (!library)
		return INPUT_OTHER;
	command->arguments[i] = library;
	command->is_input[i] = true;
	return INPUT_ARCHIVE;
}

/* ---------------------------------------------------------------- what is run */

struct words {
	char **words;
	size_t cnt;
};

static void add(struct words *words, const char *word)
{
	words->words[words->cnt++] = (char *)word;
}

/* The command's compiler and options, without its inputs, their -x options and its output. */
static struct words options_of(const struct whole_command *command, size_t room)
{
	struct words words = {must(calloc(command->cnt + room, sizeof(char *))), 0};

	add(&words, command->arguments[0]);
	add(&words, "--start-no-unused-arguments");
	for (size_t i = 1; i < command->cnt; i++) {
		if (strcmp(command->arguments[i], "-o") == 0 ||
		    strcmp(command->arguments[i], "-x") == 0)
			i++;
		else if (strcmp(command->arguments[i], "--end-no-unused-arguments") == 0)
			continue;
		else if (!command->is_input[i] && !command->is_library[i])
			add(&words, command->arguments[i]);
	}
	return words;
}

/* Copies the last -x that stands before input i. */
static void add_language(struct words *words, const struct whole_command *command, size_t i)
{
	while (i-- > 1) {
		if (strcmp(command->arguments[i], "-x") != 0)
			continue;
		add(words, command->arguments[i]);
		add(words, command->arguments[i + 1]);
		return;
	}
}

/* Compiles a source to bitcode, which takes the source's place among the inputs. */
static void compile_source(struct whole_command *command, size_t i, char *directory)
{
	struct words words = options_of(command, 8);
	char number[32];
	char *made;

	snprintf(number, sizeof(number), "/%zu.o", i);
	made = join(directory, number, "");
	add(&words, "-flto=full");
	add(&words, "-c");
	add_language(&words, command, i);
	add(&words, command->arguments[i]);
	add(&words, "-o");
	add(&words, made);
	run_or_exit(words.words, directory);
	free(words.words);
	command->arguments[i] = made;
}

/* Objects are linked without override: two of them may not define the same symbol. */
static char *link_objects(const struct whole_command *command, const enum input *inputs,
			  char *directory)
{
	struct words words = {must(calloc(command->cnt + 8, sizeof(char *))), 0};
	char *made = join(directory, "/objects.bc", "");

	add(&words, LINKER);
	for (size_t i = 1; i < command->cnt; i++)
		if (inputs[i] == INPUT_SOURCE || inputs[i] == INPUT_BITCODE)
			add(&words, command->arguments[i]);
	if (words.cnt > 1) {
		add(&words, "-o");
		add(&words, made);
		run_or_exit(words.words, directory);
	} else {
		free(made);
		made = NULL;
	}
	free(words.words);
	return made;
}

/* The last archive comes first; each earlier one overrides its symbols, and objects (NULL: none)
 * override all. */
static char *link_archives(const struct whole_command *command, const enum input *inputs,
			   const char *objects, char *directory)
{
	struct words words = {must(calloc(command->cnt + 8, sizeof(char *))), 0};
	char *made = join(directory, "/whole.bc", "");

	add(&words, LINKER);
	for (size_t i = command->cnt; i-- > 1;)
		if (inputs[i] == INPUT_ARCHIVE)
			add(&words, words.cnt == 1 ? command->arguments[i]
						   : join(OVERRIDE, command->arguments[i], ""));
	if (objects)
		add(&words, words.cnt == 1 ? objects : join(OVERRIDE, objects, ""));
	add(&words, "-o");
	add(&words, made);
	run_or_exit(words.words, directory);
	free(words.words);
	return made;
}

static char *compile_whole(const struct whole_command *command, const char *bitcode,
			   char *directory)
{
	char *made = join(directory, "/whole.o", "");
	struct words words;
	size_t cnt = 0;

	while (command->compiling[cnt])
		cnt++;
	words = options_of(command, cnt + 8);
	for (size_t i = 0; i < cnt; i++)
		add(&words, command->compiling[i]);
	add(&words, "-fno-lto");
	add(&words, "-c");
	add(&words, "-x");
	add(&words, "ir");
	add(&words, bitcode);
	add(&words, "-o");
	add(&words, made);
	run_or_exit(words.words, directory);
	free(words.words);
	return made;
}

/* Puts the whole program's object where the first of its inputs stood. */
static void replace_inputs(struct whole_command *command, const enum input *inputs, char *whole)
{
	size_t cnt = 0;
	bool stands = false;
	char **old = must(calloc(command->cnt, sizeof(char *)));

	memcpy(old, command->arguments, command->cnt * sizeof(char *));
	for (size_t i = 0; i < command->cnt; i++) {
		if (i == 0 || inputs[i] == INPUT_OTHER) {
			command->arguments[cnt++] = old[i];
			continue;
		}
		if (stands)
			continue;
		/* An earlier -x would apply to the object as well. */
		command->arguments[cnt++] = (char *)"-x";
		command->arguments[cnt++] = (char *)"none";
		command->arguments[cnt++] = whole;
		stands = true;
	}
	command->cnt = cnt;
	free(old);
}

char *whole_make_directory(void)
{
	const char *temporary = getenv("TMPDIR");
	char *directory =
		join(temporary && *temporary ? temporary : "/tmp", "/pathprof-cc.XXXXXX", "");

	if (!mkdtemp(directory)) {
		fprintf(stderr, "pathprof-cc: %s: %m\n", directory);
		exit(1);
	}
	return directory;
}

char *whole_compile(struct whole_command *command)
{
	enum input *inputs = must(calloc(command->cnt, sizeof(*inputs)));
	char *directory, *bitcode;
	bool any = false;

	for (size_t i = 1; i < command->cnt; i++)
		any |= (inputs[i] = input_of(command, i)) != INPUT_OTHER;
	if (!any) {
		free(inputs);
		return NULL;
	}
	directory = whole_make_directory();
	for (size_t i = 1; i < command->cnt; i++)
		if (inputs[i] == INPUT_SOURCE)
			compile_source(command, i, directory);
	bitcode =
		link_archives(command, inputs, link_objects(command, inputs, directory), directory);
	replace_inputs(command, inputs, compile_whole(command, bitcode, directory));
	free(inputs);
	return directory;
}
