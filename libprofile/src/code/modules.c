// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The file as libdwfl sees it: with its separate debug file, found by build-id or debuglink, or
 * fetched by debuginfod (only when DEBUGINFOD_URLS is set).
 *
 * libdwfl and libdw open no file by a name that this file or its debug information gives: they ask
 * find_debuginfo() for the one and are handed the other in open_common(). They open only .dwo files
 * by themselves (inlines.c).
 *
 * Workload: once a handle, when the first name or line is asked for.
 */
#include "pp_code.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pp_debug_files.h"
#include "pp_foreign_asked.h"

/* The module's file is given by descriptor. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **ret_name, Elf **ret_elf)
{
	return -1;
}

static int fetch_apart(const void *id, size_t id_bytes)
{
	struct pathprof_build_id wanted = {.kind = PATHPROF_ID_BUILD_ID,
					   .len_bytes = (uint8_t)id_bytes};

	if (!id_bytes || id_bytes > sizeof(wanted.bytes))
		return -1;
	memcpy(wanted.bytes, id, id_bytes);
	return pp_foreign_is_asked()->fetch(&wanted);
}

/* Finds the file of that build-id in /usr/lib/debug or by debuginfod, not by names in the file. */
static int fetch(Dwfl_Module *module, void **userdata, const void *id, ssize_t id_bytes,
		 char **ret_name)
{
	if (pp_foreign_is_asked())
		return fetch_apart(id, id_bytes > 0 ? (size_t)id_bytes : 0);
	return dwfl_standard_find_debuginfo(module, userdata, NULL, 0, NULL, NULL, 0, ret_name);
}

/* Whether libdwfl asks for the file of .gnu_debugaltlink: open_common() knows of that one. */
static bool is_for_common(const struct pathprof_code *code, const char *link)
{
	GElf_Word crc;
	const char *own = dwelf_elf_gnu_debuglink(code->elf, &crc);

	return link && (!own || strcmp(own, link) != 0);
}

static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	const struct pathprof_code *code = *userdata;
	const void *id = NULL;
	ssize_t id_bytes;
	int fd;

	if (is_for_common(code, link))
		return -1;
	fd = pp_debug_file_find(code, link, crc);
	if (fd >= 0)
		return fd;
	id_bytes = dwelf_elf_gnu_build_id(code->elf, &id);
	return fetch(module, userdata, id, id_bytes, ret_name);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* libdwfl keeps the descriptor it is given, so it gets one of its own. */
static Dwfl_Module *report(struct pathprof_code *code)
{
	int fd = fcntl(code->fd, F_DUPFD_CLOEXEC, 0);
	Dwfl_Module *module;
	void **userdata;

	if (fd < 0)
		return NULL;
	dwfl_report_begin(code->dwfl);
	module = dwfl_report_offline(code->dwfl, code->path, code->path, fd);
	if (!module)
		close(fd);
	else if (dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = code;
	dwfl_report_end(code->dwfl, NULL, NULL);
	return module;
}

static bool open_module(struct pathprof_code *code)
{
	GElf_Addr bias;

	code->dwfl = dwfl_begin(&callbacks);
	if (!code->dwfl)
		return false;
	code->module = report(code);
	if (!code->module || !dwfl_module_getelf(code->module, &bias))
		return false;
	code->bias = bias;
	return true;
}

int pp_dwfl_open(struct pathprof_code *code)
{
	/* Only the process apart reads the file of such a handle; callers should have asked it. */
	if (code->apart)
		return -ENOENT;
	if (code->dwfl_state == PP_LAZY_NOT_YET)
		code->dwfl_state = open_module(code) ? PP_LAZY_THERE : PP_LAZY_ABSENT;
	return code->dwfl_state == PP_LAZY_THERE ? 0 : -ENOENT;
}

/* ---------------------------------------------------------------- debug information */

/*
 * libdw is always given a file of common parts where one is named, if need be one without anything:
 * else it opens that name by itself.
 */
static bool open_common(struct pathprof_code *code, Dwarf *dwarf)
{
	const char *name = NULL;
	const void *id = NULL;
	ssize_t id_bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
	char *fetched = NULL;
	void *userdata = code;

	if (id_bytes == 0)
		return true;
	if (id_bytes > 0)
		code->common_fd = pp_debug_file_find_common(code, name, id, (size_t)id_bytes);
	if (id_bytes > 0 && code->common_fd < 0)
		code->common_fd = fetch(code->module, &userdata, id, id_bytes, &fetched);
	free(fetched);
	if (code->common_fd >= 0)
		code->common = dwarf_begin(code->common_fd, DWARF_C_READ);
	if (!code->common)
		code->nothing = pp_nothing_new();
	if (!code->common && !code->nothing)
		return false;
	dwarf_setalt(dwarf, code->common ? code->common : pp_nothing_dwarf(code->nothing));
	return true;
}

int pp_dwfl_open_dwarf(struct pathprof_code *code)
{
	Dwarf_Addr bias;
	Dwarf *dwarf;

	if (code->dwarf_state == PP_LAZY_NOT_YET) {
		code->dwarf_state = PP_LAZY_ABSENT;
		dwarf = pp_dwfl_open(code) ? NULL : dwfl_module_getdwarf(code->module, &bias);
		if (dwarf && open_common(code, dwarf))
			code->dwarf_state = PP_LAZY_THERE;
	}
	return code->dwarf_state == PP_LAZY_THERE ? 0 : -ENOENT;
}

void pp_dwfl_close(struct pathprof_code *code)
{
	if (code->dwfl)
		dwfl_end(code->dwfl);
	dwarf_end(code->common);
	pp_nothing_free(code->nothing);
	if (code->common_fd >= 0)
		close(code->common_fd);
}
