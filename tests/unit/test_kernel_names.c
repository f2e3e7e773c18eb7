// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the kernel's functions out of a list as /proc/kallsyms has it. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/track/kernel_names.h"

#define TEXT 0xffffffff81000000ull

/* Modules are not sorted; several names lie at one address; data is no function. */
static const char list[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000100 t __pfx_do_work\n"
			   "ffffffff81000110 t local_alias\n"
			   "ffffffff81000110 T __global_alias\n"
			   "ffffffff81000110 T do_work\n"
			   "ffffffff81000200 W weak_one\n"
			   "ffffffff81000300 D some_data\n"
			   "ffffffffc0002000 t second\t[module]\n"
			   "ffffffffc0001000 t first\t[module]\n";

/* The caller closes *ret_fd, by which the list can be changed. */
static struct pp_kernel_names *names_by(const char *text, int *ret_fd)
{
	struct pp_kernel_names *names = NULL;
	char path[] = "/tmp/kernel_names.XXXXXX";
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	CU_ASSERT_EQUAL_FATAL(pp_kernel_names_open(&names, path, false, "boot"), 0);
	unlink(path);
	*ret_fd = fd;
	return names;
}

static struct pp_kernel_names *names_of(const char *text)
{
	int fd;
	struct pp_kernel_names *names = names_by(text, &fd);

	close(fd);
	return names;
}

static void change(int fd, const char *text)
{
	CU_ASSERT_EQUAL(ftruncate(fd, 0), 0);
	CU_ASSERT_EQUAL(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void check_at(struct pp_kernel_names *names, uint64_t address, const char *name,
		     uint64_t start, uint64_t len)
{
	struct pp_kernel_function function = {.name = ""};

	CU_ASSERT_EQUAL(pp_kernel_names_at(names, address, 0, &function), 0);
	CU_ASSERT_STRING_EQUAL(function.name, name);
	CU_ASSERT_EQUAL(function.offset, start - TEXT);
	CU_ASSERT_EQUAL(function.len_bytes, len);
	CU_ASSERT_EQUAL(pp_kernel_names_find(names, address - TEXT, &function), 0);
	CU_ASSERT_STRING_EQUAL(function.name, name);
}

static void test_functions(void)
{
	struct pp_kernel_names *names = names_of(list);
	struct pp_kernel_function function;

	CU_ASSERT_EQUAL(pp_kernel_names_find(names, 0x110, &function), -ENOENT); /* not read yet */
	check_at(names, TEXT + 0x110, "do_work", TEXT + 0x110, 0xf0);
	check_at(names, TEXT + 0x1ff, "do_work", TEXT + 0x110, 0xf0);
	check_at(names, TEXT + 0x100, "__pfx_do_work", TEXT + 0x100, 0x10);
	check_at(names, 0xffffffffc0001fff, "first [module]", 0xffffffffc0001000, 0x1000);
	check_at(names, 0xffffffffc0002000, "second [module]", 0xffffffffc0002000, 0x10000);
	CU_ASSERT_EQUAL(pp_kernel_names_at(names, TEXT - 1, 0, &function), -ENOENT);
	CU_ASSERT_EQUAL(pp_kernel_names_at(names, 0xffffffffc0012000, 0, &function), -ENOENT);
	CU_ASSERT_EQUAL(pp_kernel_names_at(names, TEXT + 0x200 + 0x10000, 0, &function), -ENOENT);
	CU_ASSERT_EQUAL(pp_kernel_names_id(names)->kind, PATHPROF_ID_JIT);
	pp_kernel_names_free(names);
}

/* Readers without the right see zeros. Without _text an offset would be an address. */
static void test_hidden(void)
{
	struct pp_kernel_names *hidden = names_of("0000000000000000 T _text\n"
						  "0000000000000000 T do_work\n"),
			       *no_text = names_of("ffffffff81000110 T do_work\n"),
			       *empty = names_of("");
	struct pp_kernel_function function;

	CU_ASSERT_EQUAL(pp_kernel_names_at(hidden, TEXT + 0x110, 0, &function), -EACCES);
	CU_ASSERT_EQUAL(pp_kernel_names_at(hidden, TEXT + 0x110, 0, &function), -EACCES);
	CU_ASSERT_EQUAL(pp_kernel_names_at(no_text, TEXT + 0x110, 0, &function), -EACCES);
	CU_ASSERT_EQUAL(pp_kernel_names_at(empty, TEXT, 0, &function), -EACCES);
	pp_kernel_names_free(hidden);
	pp_kernel_names_free(no_text);
	pp_kernel_names_free(empty);
}

static void check_name(struct pp_kernel_names *names, uint64_t now_ns, const char *name)
{
	struct pp_kernel_function function = {.name = ""};

	CU_ASSERT_EQUAL(pp_kernel_names_at(names, 0xffffffffc0001000, now_ns, &function), 0);
	CU_ASSERT_STRING_EQUAL(function.name, name);
}

/* One module goes, and another comes to lie there. A list that shows nothing changes nothing. */
static void test_reload(void)
{
	int fd;
	struct pp_kernel_names *names = names_by(list, &fd);

	check_name(names, 5, "first [module]");
	change(fd, "ffffffff81000000 T _text\nffffffffc0001000 t other\t[another]\n");
	check_name(names, PP_KERNEL_NAMES_REREAD_NS, "first [module]");
	check_name(names, 5 + PP_KERNEL_NAMES_REREAD_NS, "other [another]");
	change(fd, "0000000000000000 T _text\n");
	check_name(names, 5 + 2 * PP_KERNEL_NAMES_REREAD_NS, "other [another]");
	close(fd);
	pp_kernel_names_free(names);
}

/* A list that could not be read once is tried again. */
static void test_failure(void)
{
	int fd;
	struct pp_kernel_names *names = names_by("", &fd);
	struct pp_kernel_function function;

	CU_ASSERT_EQUAL(pp_kernel_names_at(names, TEXT, 5, &function), -EACCES);
	change(fd, list);
	CU_ASSERT_EQUAL(pp_kernel_names_at(names, TEXT, 6, &function), -EACCES);
	check_name(names, 5 + PP_KERNEL_NAMES_REREAD_NS, "first [module]");
	close(fd);
	pp_kernel_names_free(names);
}

/* A malformed line gives no function, and a long name is cut rather than read beyond its room. */
static void test_odd_lines(void)
{
	char text[2048];
	struct pp_kernel_names *names;
	struct pp_kernel_function function;

	snprintf(text, sizeof(text),
		 "ffffffff81000000 T _text\n\nnonsense\nffffffff81000100\n"
		 "ffffffff81000200 T %0600d\n",
		 7);
	names = names_of(text);
	CU_ASSERT_EQUAL(pp_kernel_names_at(names, TEXT + 0x200, 0, &function), 0);
	CU_ASSERT_EQUAL(strlen(function.name), 255 + 1 + 63);
	check_at(names, TEXT + 0x100, "_text", TEXT, 0x200);
	pp_kernel_names_free(names);
}

static bool input_is(const char *path)
{
	char target[64] = "";

	return readlink("/proc/self/fd/0", target, sizeof(target) - 1) > 0 && !strcmp(target, path);
}

/* Reads the list from standard input, as under the systemd unit: the opener's rights decide. */
static int takes_input(void)
{
	struct pp_kernel_names *names = NULL;
	char path[] = "/tmp/kernel_names.XXXXXX";
	int fd = mkstemp(path), r;

	if (fd < 0 || write(fd, list, sizeof(list) - 1) != (ssize_t)sizeof(list) - 1 ||
	    dup2(fd, STDIN_FILENO) < 0)
		return 1;
	r = pp_kernel_names_open(&names, path, false, "boot") < 0 || !input_is(path) ? 2 : 0;
	pp_kernel_names_free(names);
	if (r == 0 && pp_kernel_names_open(&names, path, true, "boot") < 0)
		r = 3;
	unlink(path);
	if (r == 0 &&
	    (!input_is("/dev/null") ||
	     pp_kernel_names_at(names, TEXT + 0x110, 0, &(struct pp_kernel_function){0}) < 0))
		r = 4;
	pp_kernel_names_free(names);
	return r;
}

static void test_input(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(takes_input());
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT_EQUAL(status, 0);
}

static const struct unit_test tests[] = {
	{"functions by address and by offset", test_functions},
	{"hidden addresses", test_hidden},
	{"a module that lies where another lay", test_reload},
	{"a list that could not be read is read again", test_failure},
	{"odd lines", test_odd_lines},
	{"the list as standard input", test_input},
};
UNIT_SUITE(kernel_names, tests)
