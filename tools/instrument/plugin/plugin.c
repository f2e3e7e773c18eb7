// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pass plugin for clang (-fpass-plugin) that makes programs count their own paths.
 *
 * Passes of LLVM are C++. But since LLVM 22 a plugin may also ask to be called with the whole
 * module before code is generated, and a C function can take that call: references are pointers.
 * Late, it sees the module as the optimiser left it. Early, clang leaves its passes out: the plugin
 * cleans the module up a little, inserts counting, and then optimises everything.
 *
 * PATHPROF_INSTRUMENT, set by pathprof-cc, holds words: early=O2 (any level), cut=calls, verbose;
 * practical, obvious, targeted (each of these with practical), defer-turns, targets, whole;
 * depth=N; and oracle, for tests. PATHPROF_STAGE names a directory, if clang's own counters are to
 * be described: paths are those of the unit as clang prints it there (stage.h).
 * PATHPROF_INTERESTING names a file of interesting paths, if there is one, and
 * PATHPROF_INTERPROCEDURAL one of paths that ran.
 */
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/instrument_abi.h"
#include "counters.h"
#include "crossing.h"
#include "promote.h"
#include "resolvers.h"
#include "stage.h"
#include "supergraph.h"

#define LLVM_MAJOR         22
#define PLUGIN_API_VERSION 2

/* The name of a unit that is compiled from all source files. */
#define WHOLE_NAME "whole program"

/* The layout of llvm/Plugins/PassPlugin.h. */
struct plugin_info {
	uint32_t api_version;
	const char *name, *version;
	void (*register_callbacks)(void *pass_builder);
	bool (*before_codegen)(LLVMModuleRef module, LLVMTargetMachineRef machine, int file_type,
			       void *stream);
};

__attribute__((visibility("default"))) struct plugin_info llvmGetPassPluginInfo(void);

/* ---------------------------------------------------------------- settings */

/* The rest of the settings behind this word; NULL: the word is not among them. */
static const char *setting(const char *word)
{
	const char *at = getenv("PATHPROF_INSTRUMENT");
	size_t bytes = strlen(word);

	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, word, bytes) == 0)
			return at + bytes;
	return NULL;
}

/* The directory where clang prints the unit with its own counters; NULL: they are not asked for. */
static const char *stage_directory(void)
{
	const char *directory = getenv("PATHPROF_STAGE");

	return directory && *directory ? directory : NULL;
}

/* ---------------------------------------------------------------- which functions */

static void leave_out(struct unit *unit, LLVMValueRef function)
{
	size_t bytes;

	unit->left_out_cnt++;
	counters_miss(unit, function);
	if (setting("verbose"))
		fprintf(stderr, "pathprof: %s: its paths are not counted\n",
			LLVMGetValueName2(function, &bytes));
}

/*
 * An available_externally function exists to be inlined. Early, it may yet be, and then runs as
 * part of this unit; later, its remains are dropped. If always inlined, it is only a header's
 * wrapper.
 */
static bool is_elsewhere(const struct unit *unit, LLVMValueRef function)
{
	if (LLVMIsDeclaration(function))
		return true;
	return LLVMGetLinkage(function) == LLVMAvailableExternallyLinkage &&
	       (!setting("early=") || unit_has_attribute(function, unit->always_inline));
}

/* Reads the file that the variable names; NULL: it names none. */
static struct pathprof_interesting *read_paths(const char *variable)
{
	const char *file = getenv(variable);
	struct pathprof_interesting *interesting = NULL;
	struct pathprof_error error;

	if (file && *file && pathprof_interesting_read(&interesting, file, &error) < 0) {
		fprintf(stderr, "pathprof: %s\n", error.text);
		exit(1);
	}
	return interesting;
}

static void say_misfit(const struct unit *unit)
{
	size_t bytes;

	if (unit->misfit_cnt)
		fprintf(stderr,
			"pathprof: %s: %u functions are not those that %s was written for: no path "
			"goes on from them into what they call; build without "
			"--pathprof-interprocedural, run the program and write the file anew\n",
			LLVMGetSourceFileName(unit->module, &bytes), unit->misfit_cnt,
			getenv("PATHPROF_INTERPROCEDURAL"));
}

static void say_changed(const struct unit *unit)
{
	size_t bytes;

	if (!unit->changed_cnt)
		return;
	if (!unit->interesting)
		fprintf(stderr,
			"pathprof: %s: clang's profile does not know %u functions: all their paths "
			"are counted\n",
			LLVMGetSourceFileName(unit->module, &bytes), unit->changed_cnt);
	else
		fprintf(stderr,
			"pathprof: %s: %u functions have changed since %s was written, and are "
			"compiled without it: run the program again and write it anew\n",
			LLVMGetSourceFileName(unit->module, &bytes), unit->changed_cnt,
			getenv("PATHPROF_INTERESTING"));
}

static enum pathprof_warm_rules rules(void)
{
	if (setting("targeted"))
		return PATHPROF_WARM_TARGETED;
	return setting("obvious") ? PATHPROF_WARM_OBVIOUS : PATHPROF_WARM_PRACTICAL;
}

/* Called before paths are numbered. */
static void follow_calls(struct unit *unit)
{
	struct pathprof_interesting *ran = read_paths("PATHPROF_INTERPROCEDURAL");
	const char *depth = setting("depth=");

	if (!ran)
		return;
	unit->ran = ran;
	unit->depth = depth ? (uint32_t)strtoul(depth, NULL, 10) : 1;
	supergraph_make(unit);
	say_misfit(unit);
	unit->ran = NULL;
	pathprof_interesting_free(ran);
}

/* Whether a target triple begins with this architecture. */
static bool is_of(const char *target, const char *architecture)
{
	size_t len = strlen(architecture);

	return strncmp(target, architecture, len) == 0 && (target[len] == '-' || !target[len]);
}

/* The counting code is for x86-64, with pointers of eight bytes. */
static void check_target(LLVMModuleRef module)
{
	const char *target = LLVMGetTarget(module);
	size_t bytes;

	if ((is_of(target, "x86_64") || is_of(target, "amd64")) &&
	    LLVMPointerSize(LLVMGetModuleDataLayout(module)) == sizeof(uint64_t))
		return;
	fprintf(stderr,
		"pathprof: %s: target %s: paths are counted in programs of x86-64 alone; compile "
		"this with clang-%d\n",
		LLVMGetSourceFileName(module, &bytes), target, LLVM_MAJOR);
	exit(1);
}

static void instrument(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
	struct pathprof_interesting *interesting = read_paths("PATHPROF_INTERESTING");
	struct unit unit;

	if (setting("whole"))
		LLVMSetSourceFileName(module, WHOLE_NAME, strlen(WHOLE_NAME));
	unit_init(&unit, module, machine);
	unit.interesting = interesting;
	unit.cut_calls = setting("cut=calls") != NULL;
	unit.oracle = setting("oracle") != NULL;
	unit.practical = setting("practical") != NULL;
	unit.defers_turns = setting("defer-turns") != NULL;
	unit.rules = rules();
	resolvers_mark(&unit);
	if (stage_directory())
		counters_take(&unit);
	if (setting("targets"))
		promote_calls(&unit);
	follow_calls(&unit);
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (f == unit.cached || f == unit.in_table || f == unit.in_hot_table ||
		    f == unit.counts_turns || is_elsewhere(&unit, f))
			continue;
		if (unit_leaves_out(&unit, f) || !function_instrument(&unit, f))
			leave_out(&unit, f);
	}
	crossing_remove_all(&unit);
	say_changed(&unit);
	unit_finish(&unit);
	pathprof_interesting_free(interesting);
}

/* ---------------------------------------------------------------- called by clang */

static bool before_codegen(LLVMModuleRef module, LLVMTargetMachineRef machine, int file_type,
			   void *stream)
{
	const char *early = setting("early=");
	char passes[64];

	(void)file_type;
	(void)stream;
	check_target(module);
	if (stage_directory())
		stage_take(module, machine, stage_directory());
	else if (early)
		unit_run_passes(module, machine, "function(sroa,simplifycfg)");
	instrument(module, machine);
	if (early) {
		snprintf(passes, sizeof(passes), "default<%.*s>", (int)strcspn(early, ","), early);
		unit_run_passes(module, machine, passes);
	} else {
		unit_run_passes(module, machine, "function(mem2reg),always-inline");
	}
	return false;
}

/* A plugin must have it, though this one registers no passes with LLVM. */
static void register_callbacks(void *pass_builder)
{
	(void)pass_builder;
}

struct plugin_info llvmGetPassPluginInfo(void)
{
	unsigned int major;

	LLVMGetVersion(&major, NULL, NULL);
	if (major != LLVM_MAJOR) {
		fprintf(stderr, "pathprof: this plugin is for clang %d, not for clang %u\n",
			LLVM_MAJOR, major);
		exit(1);
	}
	return (struct plugin_info){PLUGIN_API_VERSION, "pathprof", PATHPROF_VERSION,
				    register_callbacks, before_codegen};
}
