// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs of the experiments: ordinary Debian packages, each with an input that input.c
 * writes, so that a run needs nothing from elsewhere and is the same each time.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"

struct recipe {
	struct lab_program program; /* first: the program is the recipe */
	const char *command[16];
	const char *input; /* file to read as standard input; NULL: none */
	uint64_t skip;     /* blocks */
	struct {
		const char *file;
		lab_input_writer *write;
	} files[3];
};

static const struct recipe recipes[] = {
	{.program = {"cc1", "cpp-12", "compiles 300 functions of C at -O2"},
	 .command = {"/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "-quiet", "-O2", "-o", "/dev/null",
		     "unit.i"},
	 .skip = 2000000,
	 .files = {{"unit.i", lab_input_c}}},
	{.program = {"gzip", "gzip", "packs 4 MB of text"},
	 .command = {"/usr/bin/gzip", "-c", "-6", "text"},
	 .files = {{"text", lab_input_text}}},
	{.program = {"bzip2", "bzip2", "packs 4 MB of text"},
	 .command = {"/usr/bin/bzip2", "-c", "-9", "text"},
	 .files = {{"text", lab_input_text}}},
	{.program = {"perl", "perl", "counts and rearranges words"},
	 .command = {"/usr/bin/perl", "words.pl", "text"},
	 .files = {{"text", lab_input_text}, {"words.pl", lab_input_perl}}},
	{.program = {"xz", "xz-utils", "packs 4 MB of text"},
	 .command = {"/usr/bin/xz", "-c", "-T1", "-3", "text"},
	 .files = {{"text", lab_input_text}}},
	{.program = {"lua", "lua5.4", "queens, strings and tables"},
	 .command = {"/usr/bin/lua5.4", "work.lua"},
	 .files = {{"work.lua", lab_input_lua}}},
	{.program = {"sqlite3", "sqlite3", "fills, joins and groups two tables in memory"},
	 .command = {"/usr/bin/sqlite3", "-batch", ":memory:"},
	 .input = "work.sql",
	 .files = {{"work.sql", lab_input_sql}}},
	{.program = {"python3", "python3", "objects, dictionaries and sorting"},
	 .command = {"/usr/bin/python3", "-I", "-S", "work.py"},
	 .skip = 5000000,
	 .files = {{"work.py", lab_input_python}}},
	{.program = {"gnuchess", "gnuchess", "plays against itself, at a fixed depth"},
	 .command = {"/usr/games/gnuchess"},
	 .input = "game",
	 .skip = 20000000, /* its tables of moves */
	 .files = {{"game", lab_input_chess}}},
	{.program = {"gs", "ghostscript", "renders three pages of curves and text"},
	 .command = {"/usr/bin/gs", "-q", "-dSAFER", "-dNOPAUSE", "-dBATCH", "-sDEVICE=ppmraw",
		     "-r150", "-sOutputFile=/dev/null", "pages.ps"},
	 .skip = 10000000,
	 .files = {{"pages.ps", lab_input_postscript}}},
	{.program = {"gnugo", "gnugo", "plays Go against itself on a 13x13 board"},
	 .command = {"/usr/games/gnugo", "--mode", "gtp", "--seed", "1", "--level", "6"},
	 .input = "game",
	 .skip = 2000000,
	 .files = {{"game", lab_input_go}}},
	{.program = {"link-parser", "link-grammar", "parses sentences of English"},
	 .command = {"/usr/bin/link-parser", "en", "-batch"},
	 .input = "sentences",
	 .skip = 10000000,
	 .files = {{"sentences", lab_input_sentences}}},
};
#define RECIPE_CNT (sizeof(recipes) / sizeof(recipes[0]))

/* Programs with several inputs, whose profiles are compared. Inputs of one stand together. */
#define GZIP  "/usr/bin/gzip", "-c", "-6"
#define BZIP2 "/usr/bin/bzip2", "-c", "-9"
#define XZ    "/usr/bin/xz", "-c", "-T1", "-3"
#define CC1   "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "-quiet", "-o", "/dev/null"
static const struct recipe inputs[] = {
	{.program = {"gzip.text", "gzip", "packs prose"},
	 .command = {GZIP, "text"},
	 .files = {{"text", lab_input_text}}},
	{.program = {"gzip.log", "gzip", "packs a log"},
	 .command = {GZIP, "log"},
	 .files = {{"log", lab_input_log}}},
	{.program = {"gzip.noise", "gzip", "packs noise"},
	 .command = {GZIP, "noise"},
	 .files = {{"noise", lab_input_noise}}},
	{.program = {"bzip2.text", "bzip2", "packs prose"},
	 .command = {BZIP2, "text"},
	 .files = {{"text", lab_input_text}}},
	{.program = {"bzip2.log", "bzip2", "packs a log"},
	 .command = {BZIP2, "log"},
	 .files = {{"log", lab_input_log}}},
	{.program = {"bzip2.noise", "bzip2", "packs noise"},
	 .command = {BZIP2, "noise"},
	 .files = {{"noise", lab_input_noise}}},
	{.program = {"xz.text", "xz-utils", "packs prose"},
	 .command = {XZ, "text"},
	 .files = {{"text", lab_input_text}}},
	{.program = {"xz.log", "xz-utils", "packs a log"},
	 .command = {XZ, "log"},
	 .files = {{"log", lab_input_log}}},
	{.program = {"xz.noise", "xz-utils", "packs noise"},
	 .command = {XZ, "noise"},
	 .files = {{"noise", lab_input_noise}}},
	{.program = {"perl.words", "perl", "counts and rearranges words of prose"},
	 .command = {"/usr/bin/perl", "words.pl", "text"},
	 .files = {{"text", lab_input_text}, {"words.pl", lab_input_perl}}},
	{.program = {"perl.logwords", "perl", "counts and rearranges words of a log"},
	 .command = {"/usr/bin/perl", "words.pl", "log"},
	 .files = {{"log", lab_input_log}, {"words.pl", lab_input_perl}}},
	{.program = {"perl.log", "perl", "evaluates a log"},
	 .command = {"/usr/bin/perl", "log.pl", "log"},
	 .files = {{"log", lab_input_log}, {"log.pl", lab_input_perl_log}}},
	{.program = {"sqlite3.joins", "sqlite3", "joins and groups two tables"},
	 .command = {"/usr/bin/sqlite3", "-batch", ":memory:"},
	 .input = "work.sql",
	 .files = {{"work.sql", lab_input_sql}}},
	{.program = {"sqlite3.keys", "sqlite3", "small statements by key"},
	 .command = {"/usr/bin/sqlite3", "-batch", ":memory:"},
	 .input = "work.sql",
	 .files = {{"work.sql", lab_input_sql_keys}}},
	{.program = {"sqlite3.text", "sqlite3", "searches and changes text"},
	 .command = {"/usr/bin/sqlite3", "-batch", ":memory:"},
	 .input = "work.sql",
	 .files = {{"work.sql", lab_input_sql_text}}},
	{.program = {"python3.objects", "python3", "objects, dictionaries and sorting"},
	 .command = {"/usr/bin/python3", "-I", "-S", "work.py"},
	 .skip = 5000000,
	 .files = {{"work.py", lab_input_python}}},
	{.program = {"python3.text", "python3", "JSON and regular expressions"},
	 .command = {"/usr/bin/python3", "-I", "-S", "work.py"},
	 .skip = 5000000,
	 .files = {{"work.py", lab_input_python_text}}},
	{.program = {"python3.numbers", "python3", "matrices, primes and long numbers"},
	 .command = {"/usr/bin/python3", "-I", "-S", "work.py"},
	 .skip = 5000000,
	 .files = {{"work.py", lab_input_python_numbers}}},
	{.program = {"lua.queens", "lua5.4", "queens, strings and tables"},
	 .command = {"/usr/bin/lua5.4", "work.lua"},
	 .files = {{"work.lua", lab_input_lua}}},
	{.program = {"lua.text", "lua5.4", "patterns and text"},
	 .command = {"/usr/bin/lua5.4", "work.lua"},
	 .files = {{"work.lua", lab_input_lua_text}}},
	{.program = {"lua.numbers", "lua5.4", "matrices and primes"},
	 .command = {"/usr/bin/lua5.4", "work.lua"},
	 .files = {{"work.lua", lab_input_lua_numbers}}},
	{.program = {"cc1.O0", "cpp-12", "compiles at -O0"},
	 .command = {CC1, "-O0", "unit.i"},
	 .skip = 2000000,
	 .files = {{"unit.i", lab_input_c}}},
	{.program = {"cc1.O1", "cpp-12", "compiles at -O1"},
	 .command = {CC1, "-O1", "unit.i"},
	 .skip = 2000000,
	 .files = {{"unit.i", lab_input_c}}},
	{.program = {"cc1.O2", "cpp-12", "compiles at -O2"},
	 .command = {CC1, "-O2", "unit.i"},
	 .skip = 2000000,
	 .files = {{"unit.i", lab_input_c}}},
};
#define INPUT_CNT (sizeof(inputs) / sizeof(inputs[0]))

static const struct recipe *recipe_of(const struct lab_program *program)
{
	return (const struct recipe *)program;
}

size_t lab_program_cnt(void)
{
	return RECIPE_CNT;
}

const struct lab_program *lab_program_all(size_t index)
{
	return index < RECIPE_CNT ? &recipes[index].program : NULL;
}

const struct lab_program *lab_program_find(const char *name)
{
	for (size_t i = 0; i < RECIPE_CNT; i++)
		if (strcmp(recipes[i].program.name, name) == 0)
			return &recipes[i].program;
	return NULL;
}

size_t lab_program_name_len(const char *name)
{
	return strcspn(name, ".");
}

bool lab_same_program(const struct lab_program *a, const struct lab_program *b)
{
	size_t len = lab_program_name_len(a->name);

	return len == lab_program_name_len(b->name) && strncmp(a->name, b->name, len) == 0;
}

void lab_run_inputs(struct lab_run *ret_sub, const struct lab_run *run)
{
	*ret_sub = *run;
	ret_sub->program_cnt = 0;
	for (size_t i = 0; i < INPUT_CNT; i++) {
		const struct lab_program *input = &inputs[i].program;
		bool wanted = false;

		for (size_t p = 0; p < run->program_cnt; p++)
			wanted = wanted || lab_same_program(run->programs[p], input);
		if (wanted && ret_sub->program_cnt < LAB_PROGRAMS_MAX)
			ret_sub->programs[ret_sub->program_cnt++] = input;
	}
	if (!ret_sub->program_cnt)
		lab_fail("%s: none of these programs has several inputs", run->experiment->name);
}

static void write_input(const char *dir, const char *name, lab_input_writer *write)
{
	char *path;
	FILE *file;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		lab_fail("out of memory");
	file = fopen(path, "we");
	if (!file)
		lab_fail("%s: %s", path, strerror(errno));
	write(file);
	lab_run_close(file, path);
	free(path);
}

void lab_program_prepare(const struct lab_program *program, const char *dir)
{
	const struct recipe *recipe = recipe_of(program);

	for (size_t i = 0; i < sizeof(recipe->files) / sizeof(recipe->files[0]); i++)
		if (recipe->files[i].file)
			write_input(dir, recipe->files[i].file, recipe->files[i].write);
}

static void redirect(const char *file, int flags, int fd)
{
	int from = open(file, flags | O_CLOEXEC, 0666);

	if (from < 0 || dup2(from, fd) < 0)
		_exit(126);
	close(from);
}

/* Sets a fixed environment and the standard streams, since a user's own settings would change what
 * the program does. */
void lab_program_environment(const struct lab_program *program)
{
	const char *input = recipe_of(program)->input;

	if (clearenv() || setenv("PATH", "/usr/bin:/bin:/usr/games", 1) ||
	    setenv("LC_ALL", "C", 1) || setenv("HOME", ".", 1) || setenv("PYTHONHASHSEED", "0", 1))
		_exit(126);
	redirect(input ? input : "/dev/null", O_RDONLY, STDIN_FILENO);
	redirect("/dev/null", O_WRONLY, STDOUT_FILENO);
	/* The tracer writes to this file why there is no trace. */
	redirect("messages", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
}

const char *const *lab_program_command(const struct lab_program *program)
{
	return recipe_of(program)->command;
}

uint64_t lab_program_skip(const struct lab_program *program)
{
	return recipe_of(program)->skip;
}
