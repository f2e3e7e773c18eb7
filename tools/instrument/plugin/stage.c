// SPDX-License-Identifier: GPL-2.0-or-later
#include "stage.h"

#include <dirent.h>
#include <errno.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"
#include "unit.h"

/* The symbol that holds the version of clang's instrumentation, and its value for plain IR
 * counters. */
#define VERSION_SYMBOL "__llvm_profile_raw_version"
#define KIND_MASK      (UINT64_MAX << 56)
#define KIND_IR        (1ull << 56)

static void fail(const char *what, const char *which)
{
	fprintf(stderr, "pathprof: --pathprof-llvm-profile: %s%s\n", what, which);
	exit(1);
}

/* ---------------------------------------------------------------- the printed module */

static char *find_printed(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char *path = NULL;

	while (dir && !path && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' &&
		    asprintf(&path, "%s/%s", directory, entry->d_name) < 0)
			must_allocate(SIZE_MAX, 1);
	if (dir)
		closedir(dir);
	if (!path)
		fail("clang has not printed the module that it put counters in, into ", directory);
	return path;
}

static LLVMMemoryBufferRef read_printed(const char *directory)
{
	char *path = find_printed(directory), *message = NULL;
	LLVMMemoryBufferRef text;

	if (LLVMCreateMemoryBufferWithContentsOfFile(path, &text, &message))
		fail("the module that clang printed cannot be read: ", message);
	unlink(path);
	free(path);
	return text;
}

static LLVMModuleRef parse(LLVMContextRef context, LLVMMemoryBufferRef text)
{
	char *message = NULL;
	LLVMModuleRef module;

	if (LLVMParseIRInContext2(context, text, &module, &message))
		fail("the module that clang printed cannot be read: ", message);
	return module;
}

/* Profiles of other kinds (context-sensitive, one-byte counters) have another format. */
static void remove_version(LLVMModuleRef module)
{
	LLVMValueRef version = LLVMGetNamedGlobal(module, VERSION_SYMBOL);
	LLVMValueRef value = version ? LLVMGetInitializer(version) : NULL;

	if (!value || (LLVMConstIntGetZExtValue(value) & KIND_MASK) != KIND_IR)
		fail("clang makes a profile of another kind than -fprofile-generate does", "");
	LLVMDeleteGlobal(version);
}

/* ---------------------------------------------------------------- the module of clang's pipeline
 */

static void delete_lists(LLVMModuleRef module)
{
	static const char *const lists[] = {"llvm.used", "llvm.compiler.used", "llvm.global_ctors",
					    "llvm.global_dtors", "llvm.global.annotations"};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		LLVMValueRef list = LLVMGetNamedGlobal(module, lists[i]);

		if (list)
			LLVMDeleteGlobal(list);
	}
}

static void delete_ifuncs(LLVMModuleRef module)
{
	LLVMValueRef next;

	for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(module); i; i = next) {
		next = LLVMGetNextGlobalIFunc(i);
		LLVMReplaceAllUsesWith(i, LLVMGetUndef(LLVMTypeOf(i)));
		LLVMEraseGlobalIFunc(i);
	}
}

/* Makes everything internal, so that LLVM removes it. */
static void make_empty(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
	delete_lists(module);
	delete_ifuncs(module);
	LLVMStripModuleDebugInfo(module);
	LLVMSetModuleInlineAsm2(module, "", 0);
	unit_run_passes(module, machine, "internalize,globaldce");
}

/* ---------------------------------------------------------------- groups */

/*
 * Clang's module keeps the COMDAT groups of removed functions, and LLVM links one module's
 * functions only if two modules have the same group. So groups are of kind "no deduplicate" until
 * the modules are linked. Their names are found only in the text.
 */
struct group {
	char *name;
	LLVMComdatSelectionKind kind;
};

struct groups {
	struct group *groups;
	size_t cnt, room;
};

static int digit(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* A name in a line of text: up to the next blank, or quoted, where \XX is a byte. */
static char *name_at(const char *at, const char *end)
{
	char *name = must_allocate((size_t)(end - at) + 1, 1), *to = name;
	char last = *at == '"' ? '"' : ' ';

	for (at += *at == '"'; at < end && *at != last; at++) {
		bool is_byte = *at == '\\' && end - at > 2;

		*to++ = is_byte ? (char)(digit(at[1]) << 4 | digit(at[2])) : *at;
		at += is_byte ? 2 : 0;
	}
	return name;
}

/* Lines of the form $NAME = comdat KIND. */
static struct groups find_groups(LLVMMemoryBufferRef text)
{
	const char *line = LLVMGetBufferStart(text), *end = line + LLVMGetBufferSize(text), *next;
	struct groups found = {0};

	for (; line < end; line = next) {
		next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		if (*line != '$')
			continue;
		if (pp_grow(&found.groups, found.cnt, &found.room) < 0)
			must_allocate(SIZE_MAX, 1);
		found.groups[found.cnt++].name = name_at(line + 1, next);
	}
	return found;
}

static void have_both_stay(LLVMModuleRef module, LLVMModuleRef printed, struct groups *groups)
{
	const LLVMComdatSelectionKind both = LLVMNoDeduplicateComdatSelectionKind;

	for (size_t i = 0; i < groups->cnt; i++) {
		struct group *group = &groups->groups[i];
		LLVMComdatRef comdat = LLVMGetOrInsertComdat(printed, group->name);

		group->kind = LLVMGetComdatSelectionKind(comdat);
		LLVMSetComdatSelectionKind(comdat, both);
		LLVMSetComdatSelectionKind(LLVMGetOrInsertComdat(module, group->name), both);
	}
}

static void restore_kinds(LLVMModuleRef module, struct groups *groups)
{
	for (size_t i = 0; i < groups->cnt; i++) {
		struct group *group = &groups->groups[i];

		LLVMSetComdatSelectionKind(LLVMGetOrInsertComdat(module, group->name), group->kind);
		free(group->name);
	}
	free(groups->groups);
}

void stage_take(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *directory)
{
	LLVMMemoryBufferRef text = read_printed(directory);
	LLVMModuleRef printed = parse(LLVMGetModuleContext(module), text);
	struct groups groups = find_groups(text);

	LLVMDisposeMemoryBuffer(text);
	remove_version(printed);
	make_empty(module, machine);
	have_both_stay(module, printed, &groups);
	if (LLVMLinkModules2(module, printed))
		fail("the module that clang printed cannot take the place of its own", "");
	restore_kinds(module, &groups);
}
