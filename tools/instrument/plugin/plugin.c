// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pass plugin for clang (-fpass-plugin) that makes programs count their own paths.
 *
 * Passes of LLVM are C++. But since LLVM 22 a plugin may also ask to be called with the whole
 * module before code is generated, and a C function can take that call: references are pointers.
 * Late, it sees the module as the optimiser left it. Early, clang was told to leave its passes out:
 * it cleans the module up a little, puts counting in, and has everything else optimised then.
 *
 * PATHPROF_INSTRUMENT, set by pathprof-cc, holds words: early=O2 (any level), cut=calls, verbose;
 * practical, obvious; and oracle, for tests. PATHPROF_INTERESTING names a file of interesting
 * paths, if there is one.
 */
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/instrument_abi.h"
#include "unit.h"

#define LLVM_MAJOR         22
#define PLUGIN_API_VERSION 2

/* As llvm/Plugins/PassPlugin.h has it. */
struct plugin_info {
	uint32_t api_version;
	const char *name, *version;
	void (*register_callbacks)(void *pass_builder);
	bool (*before_codegen)(LLVMModuleRef module, LLVMTargetMachineRef machine, int file_type,
			       void *stream);
};

__attribute__((visibility("default"))) struct plugin_info llvmGetPassPluginInfo(void);

/* ---------------------------------------------------------------- settings */

/* What follows a word of the settings; NULL: it is not among them. */
static const char *setting(const char *word)
{
	const char *at = getenv("PATHPROF_INSTRUMENT");
	size_t bytes = strlen(word);

	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strncmp(at, word, bytes) == 0)
			return at + bytes;
	return NULL;
}

static void run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;

	LLVMPassBuilderOptionsSetSLPVectorization(options, true);
	error = LLVMRunPasses(module, passes, machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (!error)
		return;
	fprintf(stderr, "pathprof: LLVM refuses the passes '%s': %s\n", passes,
		LLVMGetErrorMessage(error));
	exit(1);
}

/* ---------------------------------------------------------------- which functions */

/* Resolvers run before a thread's variables can be used. */
static bool is_resolver(LLVMModuleRef module, LLVMValueRef function)
{
	for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(module); i; i = LLVMGetNextGlobalIFunc(i))
		if (LLVMGetGlobalIFuncResolver(i) == function)
			return true;
	return false;
}

static bool is_left_out(const struct unit *unit, LLVMValueRef function)
{
	return unit_has_attribute(function, unit->naked) ||
	       unit_has_attribute(function, unit->noprofile) ||
	       unit_has_attribute(function, unit->coroutine) || is_resolver(unit->module, function);
}

static void leave_out(struct unit *unit, LLVMValueRef function)
{
	size_t bytes;

	unit->left_out_cnt++;
	if (setting("verbose"))
		fprintf(stderr, "pathprof: %s: its paths are not counted\n",
			LLVMGetValueName2(function, &bytes));
}

/* NULL: none is named. */
static struct pathprof_interesting *read_interesting(void)
{
	const char *file = getenv("PATHPROF_INTERESTING");
	struct pathprof_interesting *interesting = NULL;
	struct pathprof_error error;

	if (file && *file && pathprof_interesting_read(&interesting, file, &error) < 0) {
		fprintf(stderr, "pathprof: %s\n", error.text);
		exit(1);
	}
	return interesting;
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

static void instrument(LLVMModuleRef module)
{
	struct pathprof_interesting *interesting = read_interesting();
	struct unit unit;

	unit_init(&unit, module);
	unit.interesting = interesting;
	unit.cut_calls = setting("cut=calls") != NULL;
	unit.oracle = setting("oracle") != NULL;
	unit.obvious = setting("obvious") != NULL;
	unit.practical = setting("practical") != NULL;
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (f == unit.cached || f == unit.in_table || LLVMIsDeclaration(f) ||
		    LLVMGetLinkage(f) == LLVMAvailableExternallyLinkage)
			continue;
		if (is_left_out(&unit, f) || !function_instrument(&unit, f))
			leave_out(&unit, f);
	}
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
	if (early)
		run_passes(module, machine, "function(sroa,simplifycfg)");
	instrument(module);
	if (early) {
		snprintf(passes, sizeof(passes), "default<%.*s>", (int)strcspn(early, ","), early);
		run_passes(module, machine, passes);
	} else {
		run_passes(module, machine, "function(mem2reg),always-inline");
	}
	return false;
}

/* A plugin has to have it; passes of our own are none of LLVM's. */
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
