// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The file as libdwfl sees it: with its separate debug file, found by build-id or debuglink, or
 * fetched by debuginfod (only when DEBUGINFOD_URLS is set).
 *
 * Workload: once a handle, when the first name or line is asked for.
 */
#include "pp_code.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* libdwfl keeps the descriptor it is given, so it gets one of its own. */
static Dwfl_Module *report(struct pathprof_code *code)
{
	int fd = fcntl(code->fd, F_DUPFD_CLOEXEC, 0);
	Dwfl_Module *module;

	if (fd < 0)
		return NULL;
	dwfl_report_begin(code->dwfl);
	module = dwfl_report_offline(code->dwfl, code->path, code->path, fd);
	if (!module)
		close(fd);
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
	if (code->dwfl_state == PP_LAZY_NOT_YET)
		code->dwfl_state = open_module(code) ? PP_LAZY_THERE : PP_LAZY_ABSENT;
	return code->dwfl_state == PP_LAZY_THERE ? 0 : -ENOENT;
}
