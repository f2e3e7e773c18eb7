// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Imported functions that never return, or return twice, by name.
 *
 * Only imports are looked up: a program's own function of such a name is read instead. error() and
 * its like are not among them: they return when their status is 0. Sources: POSIX.1-2017, the
 * manuals of glibc, the Itanium C++ ABI.
 */
#include "pp_builder.h"

#include <stdlib.h>
#include <string.h>

/* Sorted by strcmp. */
static const char *const noreturn_names[] = {
	"_Exit",
	"_Unwind_Resume",
	"_ZSt10unexpectedv",
	"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
	"_ZSt9terminatev",
	"__assert",
	"__assert_fail",
	"__assert_perror_fail",
	"__chk_fail",
	"__cxa_bad_cast",
	"__cxa_bad_typeid",
	"__cxa_call_terminate",
	"__cxa_call_unexpected",
	"__cxa_rethrow",
	"__cxa_throw",
	"__cxa_throw_bad_array_length",
	"__cxa_throw_bad_array_new_length",
	"__fortify_fail",
	"__libc_fatal",
	"__libc_start_main",
	"__longjmp_chk",
	"__stack_chk_fail",
	"_exit",
	"_longjmp",
	"abort",
	"err",
	"errx",
	"exit",
	"longjmp",
	"pthread_exit",
	"quick_exit",
	"siglongjmp",
	"thrd_exit",
	"verr",
	"verrx",
};

static const char *const setjmp_names[] = {
	"__sigsetjmp", "_setjmp", "getcontext", "setjmp", "sigsetjmp", "vfork",
};

static int compare(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

/* Whether a name up to '@', which begins a version or "plt", is among the sorted names. */
static bool is_among(const char *name, const char *const *names, size_t cnt)
{
	char stem[64];
	size_t len = name ? strcspn(name, "@") : sizeof(stem);

	if (len >= sizeof(stem))
		return false;
	memcpy(stem, name, len);
	stem[len] = '\0';
	return bsearch(stem, names, cnt, sizeof(names[0]), compare);
}

/* std::__throw_length_error(char const*) and its family. */
static bool is_std_throw(const char *name)
{
	char *rest;

	if (!name || strncmp(name, "_ZSt", 4) != 0)
		return false;
	strtoul(name + 4, &rest, 10);
	return rest != name + 4 && !strncmp(rest, "__throw_", 8);
}

bool pp_name_is_noreturn(const char *name)
{
	return is_among(name, noreturn_names, sizeof(noreturn_names) / sizeof(noreturn_names[0])) ||
	       is_std_throw(name);
}

bool pp_name_is_setjmp(const char *name)
{
	return is_among(name, setjmp_names, sizeof(setjmp_names) / sizeof(setjmp_names[0]));
}
