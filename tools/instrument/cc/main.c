// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-cc and pathprof-c++: run clang so that the programs it builds count their own paths. All
 * arguments are clang's, except those that begin with --pathprof-.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whole.h"

#define PLUGIN      "counting-plugin-22.so"
#define RUNTIME     "libpathprof-counting.a"
#define THREADS     "libpathprof-counting-threads.a"
#define INTERESTING "--pathprof-interesting="
#define FOLLOWING   "--pathprof-interprocedural="
#define DEPTH       ",depth="
#define DEPTH_MAX   16

static const char help[] =
	"pathprof-cc, pathprof-c++: clang 22 that makes programs count their own paths\n\n"
	"usage: pathprof-cc [--pathprof-OPTION...] CLANG-ARGUMENT...\n\n"
	"  --pathprof-late       paths of what the optimiser left, not of the source's structure\n"
	"  --pathprof-cut=calls  paths end at calls: nothing is lost to longjmp() or exceptions\n"
	"  --pathprof-interesting=FILE\n"
	"                        paths that an earlier build ran (`pathprofctl interesting`) are\n"
	"                        counted at less cost; all others are counted as well\n"
	"  --pathprof-practical  counts paths apart that are not cold by what that file says, or\n"
	"                        clang's profile, and of the others how many there are\n"
	"  --pathprof-obvious    besides leaves functions and loops out whose paths that file "
	"tells\n"
	"  --pathprof-targeted   the older rules for both: what never ran, or has less than a\n"
	"                        twentieth of its branch, is cold; paths with an edge of their "
	"own\n"
	"                        are left out where all paths of a function or loop are such\n"
	"  --pathprof-interprocedural=FILE[,depth=K]\n"
	"                        paths go on into functions that are called, K calls deep (1), "
	"where\n"
	"                        a path of that file (all that an earlier build ran) has such a "
	"call\n"
	"  --pathprof-defer-turns\n"
	"                        turns of a loop with one way that calls nothing are counted when\n"
	"                        the loop ends: cheaper, but a kill within the loop loses them\n"
	"  --pathprof-targets    paths tell which function of the unit a pointer called; with the\n"
	"                        option above such calls are followed, too\n"
	"  --pathprof-whole-program\n"
	"                        compiles a program as one unit where it is linked, so that calls\n"
	"                        between its source files can be followed\n"
	"  --pathprof-llvm-profile\n"
	"                        describes clang's own counters (-fprofile-generate) as well, so "
	"that\n"
	"                        `pathprofctl export -F llvm-profile-text` can write its profile\n"
	"  --pathprof-verbose    names functions whose paths are not counted\n\n"
	"The program counts into files PATHPROF_DIR/BUILDID.PID.ppraw (the default is where it is\n"
	"started); `pathprof-lab counts FILE...` shows its hottest paths.\n";

struct invocation {
	char **arguments;   /* the arguments of clang, in order */
	bool *is_input;     /* by argument: it is an input file */
	bool *asks_library; /* by argument: it is -lNAME */
	size_t cnt;
	char *library;             /* the directory of the plugin and the runtime */
	char *plugin;              /* the clang option that loads the plugin */
	const char *level;         /* the optimisation level, as LLVM names its pipelines */
	const char *interesting;   /* file of interesting paths; "": none */
	const char *following;     /* file of paths that ran; "": none */
	const char *whole_refuses; /* an argument that --pathprof-whole-program excludes */
	const char *late_by;       /* the argument that forbids early counting; NULL: none does */
	unsigned long depth;       /* how many nested calls paths follow */
	bool cut_calls, practical, obvious, targeted, defers_turns, targets, verbose, oracle;
	bool llvm_profile; /* clang's own counters are described */
	bool whole, compiles, has_level;
	bool links, is_library, is_static, has_input, has_profile, had_lto;
};

static void fail(const char *what, const char *which)
{
	fprintf(stderr, "pathprof-cc: %s%s\n", what, which);
	exit(1);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void add(struct invocation *in, const char *argument)
{
	in->arguments[in->cnt++] = (char *)argument;
}

static void add_path(struct invocation *in, const char *before, const char *name)
{
	char *argument;

	if (asprintf(&argument, "%s%s/%s", before, in->library, name) < 0)
		fail("out of memory", "");
	add(in, argument);
}

/* ---------------------------------------------------------------- what clang is asked for */

static bool is_one_of(const char *argument, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(argument, *list) == 0)
			return true;
	return false;
}

/* The last option takes effect; levels above 3 mean 3. */
static void take_level(struct invocation *in, const char *argument)
{
	switch (argument[2]) {
	case '0':
		in->level = NULL;
		break;
	case '1':
	case 'g':
	case 0:
		in->level = "O1";
		break;
	case '2':
		in->level = "O2";
		break;
	case 's':
		in->level = "Os";
		break;
	case 'z':
		in->level = "Oz";
		break;
	default:
		in->level = "O3";
		break;
	}
}

/*
 * With early counting, clang leaves its passes out and the plugin runs LLVM's own instead. That
 * loses the passes of sanitizers and of clang's own instrumentation, and those that read a profile
 * (but -fprofile-instr-use= is read before them). The contents of a file of arguments are unknown
 * here.
 */
static bool forbids_early(const char *argument)
{
	static const char *const options[] = {
		"-fsanitize=", "-fsanitize-coverage=", "-fcoverage-mapping", "--coverage",
		"-coverage",   "-ftest-coverage",      "-fxray-instrument",  "-fmemory-profile",
		"-fprofile-",
	};

	if (begins(argument, "-fprofile-instr-use="))
		return false;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (begins(argument, options[i]))
			return true;
	return argument[0] == '@';
}

/* Passes of sanitizers would run twice, and files of arguments are not looked into. */
static bool forbids_whole(const char *argument)
{
	return begins(argument, "-fsanitize=") || argument[0] == '@';
}

/* The runtime finds a thread's counters by variables that the loader makes thread-local. */
static void check_thread_local(const char *argument)
{
	if (strcmp(argument, "-femulated-tls") == 0)
		fail("counters of threads need the system's thread-local variables, so leave out ",
		     argument);
}

static bool gives_profile(const char *argument)
{
	return begins(argument, "-fprofile-instr-use=") || begins(argument, "-fprofile-use=") ||
	       begins(argument, "-fprofile-sample-use=");
}

static bool takes_level(const char *argument)
{
	return begins(argument, "-O") && !begins(argument, "-ObjC");
}

static bool is_input(const char *argument)
{
	return argument[0] != '-' || argument[1] == 0;
}

/* Clang makes a precompiled header of it, which is not linked. */
static bool is_header(const char *argument)
{
	static const char *const suffixes[] = {".h",   ".hh",  ".H",  ".hpp",
					       ".hxx", ".h++", ".hp", NULL};
	const char *dot = strrchr(argument, '.');

	return dot && is_one_of(dot, suffixes);
}

static bool is_header_language(const char *language)
{
	static const char end[] = "-header";
	size_t bytes = strlen(language);

	return bytes >= strlen(end) && strcmp(language + bytes - strlen(end), end) == 0;
}

static void take_clangs(struct invocation *in, const char *argument)
{
	static const char *const links_nothing[] = {"-c",         "-S",     "-E",
						    "-M",         "-MM",    "-fsyntax-only",
						    "-r",         "-Wl,-r", "-Wl,--relocatable",
						    "-emit-llvm", NULL};
	static const char *const is_library[] = {"-shared", "--shared", NULL};
	static const char *const is_static[] = {"-static", "--static", "-static-pie", NULL};

	in->links &= !is_one_of(argument, links_nothing) &&
		     !(begins(argument, "-x") && is_header_language(argument));
	in->is_library |= is_one_of(argument, is_library);
	in->is_static |= is_one_of(argument, is_static);
	in->is_input[in->cnt] = is_input(argument);
	in->has_input |= is_input(argument) && !is_header(argument);
	in->asks_library[in->cnt] = begins(argument, "-l") && argument[2];
	in->compiles |= strcmp(argument, "-c") == 0;
	check_thread_local(argument);
	if (forbids_early(argument))
		in->late_by = argument;
	in->has_profile |= gives_profile(argument);
	in->had_lto |= begins(argument, "-flto") && strcmp(argument, "-fno-lto") != 0;
	if (takes_level(argument)) {
		take_level(in, argument);
		in->has_level = true;
	}
	if (in->whole_refuses == NULL && forbids_whole(argument))
		in->whole_refuses = argument;
	add(in, argument);
}

static void take_interesting(struct invocation *in, const char *file)
{
	if (!*file)
		fail("a file of interesting paths is missing: ", INTERESTING "FILE");
	in->interesting = file;
}

/* FILE[,depth=K]; the argument itself is cut behind FILE. */
static void take_following(struct invocation *in, const char *value)
{
	char *file = (char *)value, *comma = strstr(file, DEPTH), *end;

	in->following = file;
	in->depth = 1;
	if (!*file || comma == file)
		fail("a file of paths that ran is missing: ", FOLLOWING "FILE");
	if (!comma)
		return;
	*comma = 0;
	comma += strlen(DEPTH);
	in->depth = strtoul(comma, &end, 10);
	if (*end || in->depth < 1 || in->depth > DEPTH_MAX)
		fail("a depth of calls is a number from 1 to 16: ", comma);
}

static void take_ours(struct invocation *in, const char *argument)
{
	if (strcmp(argument, "--pathprof-late") == 0) {
		in->late_by = argument;
	} else if (strcmp(argument, "--pathprof-cut=calls") == 0) {
		in->cut_calls = true;
	} else if (strcmp(argument, "--pathprof-practical") == 0) {
		in->practical = true;
	} else if (strcmp(argument, "--pathprof-obvious") == 0) {
		in->practical = in->obvious = true;
	} else if (strcmp(argument, "--pathprof-targeted") == 0) {
		in->practical = in->targeted = true;
	} else if (strcmp(argument, "--pathprof-defer-turns") == 0) {
		in->defers_turns = true;
	} else if (strcmp(argument, "--pathprof-targets") == 0) {
		in->targets = true;
	} else if (strcmp(argument, "--pathprof-whole-program") == 0) {
		in->whole = true;
	} else if (strcmp(argument, "--pathprof-llvm-profile") == 0) {
		in->llvm_profile = true;
	} else if (strcmp(argument, "--pathprof-verbose") == 0) {
		in->verbose = true;
	} else if (begins(argument, INTERESTING)) {
		take_interesting(in, argument + strlen(INTERESTING));
	} else if (begins(argument, FOLLOWING)) {
		take_following(in, argument + strlen(FOLLOWING));
	} else if (strcmp(argument, "--pathprof-oracle") == 0) {
		in->oracle = true; /* for tests */
	} else if (strcmp(argument, "--pathprof-help") == 0) {
		fputs(help, stdout);
		exit(fflush(stdout) == 0 ? 0 : 1);
	} else {
		fail("no such option (--pathprof-help lists them): ", argument);
	}
}

/* Whether the next argument is the value of this one. */
static bool has_value(const char *argument)
{
	static const char *const list[] = {
		"-o",      "-x",         "-I",          "-D",       "-U",
		"-L",      "-l",         "-MF",         "-MT",      "-MQ",
		"-Xclang", "-Xlinker",   "-Xassembler", "-include", "-isystem",
		"-iquote", "-idirafter", "-imacros",    "-target",  "-arch",
		"-u",      "-z",         "-T",          "-mllvm",   "-Xpreprocessor",
		"-e",      "-iprefix",   "-isysroot",   "--param",  "--sysroot",
		"-MJ",     "-B",         "-F",          "-rpath",   "-include-pch",
		NULL};

	return is_one_of(argument, list);
}

/* Two arguments that ask for a library, -l NAME or -Xlinker -lNAME, as the single one that does. */
static const char *library_of(const char *argument, const char *value)
{
	char *library;

	if (!value)
		return NULL;
	if (strcmp(argument, "-Xlinker") == 0)
		return begins(value, "-l") && value[2] ? value : NULL;
	if (strcmp(argument, "-l") != 0)
		return NULL;
	if (asprintf(&library, "-l%s", value) < 0)
		fail("out of memory", "");
	return library;
}

/* All arguments behind "--" are files; "--" itself is left out, since options follow. */
static void take_files(struct invocation *in, char *const *files)
{
	char *file;

	for (; *files; files++) {
		bool is_option = (*files)[0] == '-' && (*files)[1];

		if (asprintf(&file, "%s%s", is_option ? "./" : "", *files) < 0)
			fail("out of memory", "");
		take_clangs(in, file);
	}
}

static void take_value(struct invocation *in, const char *argument, const char *value)
{
	in->links &= !(strcmp(argument, "-x") == 0 && is_header_language(value));
	add(in, value);
}

static void take_arguments(struct invocation *in, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *library = library_of(argv[i], argv[i + 1]);

		if (strcmp(argv[i], "--") == 0) {
			take_files(in, argv + i + 1);
			return;
		}
		if (begins(argv[i], "--pathprof-")) {
			take_ours(in, argv[i]);
			continue;
		}
		take_clangs(in, library ? library : argv[i]);
		if (!library && has_value(argv[i]) && argv[i + 1])
			take_value(in, argv[i], argv[i + 1]);
		else if (!library)
			continue;
		i++;
	}
}

/* ---------------------------------------------------------------- what clang is given */

static void find_library(struct invocation *in)
{
	char program[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (bytes < 0)
		fail("/proc/self/exe cannot be read: ", strerror(errno));
	program[bytes] = 0;
	if (asprintf(&in->library, "%s/../lib/pathprof", dirname(program)) < 0 ||
	    asprintf(&in->plugin, "-fpass-plugin=%s/%s", in->library, PLUGIN) < 0)
		fail("out of memory", "");
}

/* Added before the user's arguments, which may override it. Paths are shown by source lines. */
static void add_lines(struct invocation *in)
{
	add(in, "--start-no-unused-arguments");
	add(in, "-gline-tables-only");
	add(in, "--end-no-unused-arguments");
}

static void add_plugin(struct invocation *in)
{
	add(in, "--start-no-unused-arguments");
	add(in, in->plugin);
	add(in, "--end-no-unused-arguments");
}

static void add_early(struct invocation *in)
{
	add(in, "--start-no-unused-arguments");
	add(in, "-Xclang");
	add(in, "-disable-llvm-passes");
	add(in, "--end-no-unused-arguments");
}

/* Passed by -Xlinker: clang would take a plain file name for source after -x c. */
static void add_archive(struct invocation *in, const char *name)
{
	add(in, "-Xlinker");
	add_path(in, "", name);
}

/* The C++ library may be the only caller of pthread_create(), and is linked after the runtime. */
static void add_static_threads(struct invocation *in)
{
	add(in, "-Wl,--wrap=pthread_create");
	add(in, "-Wl,-u,__wrap_pthread_create");
}

/*
 * Libraries call it too, and have to find the one in the program. Whole: a sanitizer's, which is
 * weak, comes before, and the linker takes nothing from an archive for a name that it has.
 */
static void add_program_threads(struct invocation *in)
{
	add(in, "-Wl,--push-state,--whole-archive");
	add_archive(in, THREADS);
	add(in, "-Wl,--pop-state");
	add(in, "-Wl,--export-dynamic-symbol=__pathprof_objects");
	add(in, "-Wl,--export-dynamic-symbol=__pathprof_objects_held");
}

static void add_threads(struct invocation *in)
{
	if (in->is_static)
		add_static_threads(in);
	else if (in->is_library)
		add_archive(in, THREADS);
	else
		add_program_threads(in);
}

/* A file of arguments may contain -c. */
static void add_linking(struct invocation *in)
{
	add(in, "--start-no-unused-arguments");
	add_threads(in);
	add_archive(in, RUNTIME);
	add(in, "-Wl,--build-id");
	add(in, "--end-no-unused-arguments");
}

static void set_environment(const struct invocation *in, bool early)
{
	char words[128];

	snprintf(words, sizeof(words), "%s%s,%s,%s,%s,%s,%s,%s,%s,%s,depth=%lu,%s",
		 early ? "early=" : "", early ? in->level : "", in->cut_calls ? "cut=calls" : "",
		 in->practical ? "practical" : "", in->obvious ? "obvious" : "",
		 in->targeted ? "targeted" : "", in->defers_turns ? "defer-turns" : "",
		 in->targets ? "targets" : "", in->whole ? "whole" : "",
		 in->verbose ? "verbose" : "", in->depth, in->oracle ? "oracle" : "");
	if (setenv("PATHPROF_INSTRUMENT", words, 1) < 0 ||
	    setenv("PATHPROF_INTERESTING", in->interesting, 1) < 0 ||
	    setenv("PATHPROF_INTERPROCEDURAL", in->following, 1) < 0 ||
	    setenv("PATHPROF_STAGE", "", 1) < 0)
		fail("out of memory", "");
}

/* Clang counts by itself, and prints the unit just after its counters were inserted (stage.h). */
static void add_stage(struct invocation *in, const char *directory)
{
	char *printing;

	if (asprintf(&printing, "-ir-dump-directory=%s", directory) < 0)
		fail("out of memory", "");
	add(in, "--start-no-unused-arguments");
	add(in, "-Xclang");
	add(in, "-fprofile-instrument=llvm");
	/* Without names LLVM does not read what it has printed. */
	add(in, "-fno-discard-value-names");
	add(in, "-mllvm");
	/* Two passes of LLVM share a class, which has only one of their names. */
	add(in, "-print-after=pgo-instr-gen,ctx-instr-gen");
	add(in, "-mllvm");
	add(in, printing);
	add(in, "--end-no-unused-arguments");
}

/* Refuses options that would make the paths differ from those of the unit with clang's counters. */
static void check_stage(const struct invocation *in)
{
	const char *other = in->late_by;

	if (in->practical)
		other = "--pathprof-practical, --pathprof-obvious and --pathprof-targeted";
	else if (in->following[0])
		other = FOLLOWING;
	else if (in->targets)
		other = "--pathprof-targets";
	else if (in->whole)
		other = "--pathprof-whole-program";
	else if (in->has_profile)
		other = "a profile";
	if (other)
		fail("--pathprof-llvm-profile goes without ", other);
}

static int build_staged(struct invocation *in)
{
	char *directory = whole_make_directory();
	int status;

	if (setenv("PATHPROF_STAGE", directory, 1) < 0)
		fail("out of memory", "");
	add_stage(in, directory);
	status = whole_run(in->arguments);
	whole_remove(directory);
	return status;
}

/* If nothing is linked, bitcode is written to the object file, as with -flto. */
static int build_whole(struct invocation *in)
{
	const char *const compiling[] = {in->plugin, NULL};
	struct whole_command command = {in->arguments, in->is_input, in->asks_library, 0,
					compiling,     in->is_static};
	char *directory;
	int status;

	if (in->whole_refuses)
		fail("--pathprof-whole-program goes without ", in->whole_refuses);
	if (!in->links || !in->has_input) {
		add(in, "-flto=full");
		return whole_run(in->arguments);
	}
	command.cnt = in->cnt;
	directory = whole_compile(&command);
	in->cnt = command.cnt;
	add_linking(in);
	in->arguments[in->cnt] = NULL;
	status = whole_run(in->arguments);
	whole_remove(directory);
	return status;
}

int main(int argc, char **argv)
{
	size_t name = strlen(argv[0]);
	bool is_cxx = name >= 2 && strcmp(argv[0] + name - 2, "++") == 0;
	struct invocation in = {.links = true, .interesting = "", .following = ""};
	bool early;

	in.arguments = calloc((size_t)argc + 48 + WHOLE_ROOM, sizeof(char *));
	in.is_input = calloc((size_t)argc + 32, sizeof(bool));
	in.asks_library = calloc((size_t)argc + 32, sizeof(bool));
	if (!in.arguments || !in.is_input || !in.asks_library)
		fail("out of memory", "");
	find_library(&in);
	add(&in, is_cxx ? "clang++-22" : "clang-22");
	add_lines(&in);
	take_arguments(&in, argc, argv);
	if (in.practical && in.has_input && !in.has_profile && !in.interesting[0])
		fail("--pathprof-practical, --pathprof-obvious and --pathprof-targeted need a "
		     "profile: ",
		     INTERESTING "FILE, or clang's, -fprofile-instr-use=FILE");
	/* A whole program is optimised where it is linked, so a command without a level uses O2. */
	if (in.whole && !in.has_level)
		in.level = "O2";
	early = in.level && !in.late_by;
	if (in.llvm_profile)
		check_stage(&in);
	else if (early)
		add_early(&in);
	set_environment(&in, early);
	if (in.whole && (in.compiles || in.links))
		return build_whole(&in);
	add_plugin(&in);
	if (in.had_lto) {
		fputs("pathprof-cc: -flto is left out: paths are counted in each unit by itself\n",
		      stderr);
		add(&in, "-fno-lto");
	}
	if (in.links && in.has_input)
		add_linking(&in);
	if (in.llvm_profile)
		return build_staged(&in);
	execvp(in.arguments[0], in.arguments);
	fprintf(stderr, "pathprof-cc: %s cannot be run: %m; install clang-22\n", in.arguments[0]);
	return 1;
}
