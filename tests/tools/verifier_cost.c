// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of BPF programs in the verifier: loads each program of an object by itself and prints
 * `NAME INSTRUCTIONS`, those it processed. Exit status 77 when this user may load none.
 *
 *     verifier_cost OBJECT
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char verifier_log[1 << 20];

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static void load_only(struct bpf_object *object, const char *wanted)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		int chosen = !strcmp(bpf_program__name(program), wanted);

		bpf_program__set_autoload(program, chosen);
		if (!chosen)
			continue;
		bpf_program__set_log_level(program, 4);
		bpf_program__set_log_buf(program, verifier_log, sizeof(verifier_log));
	}
}

/* 0, or the errno of the load. */
static int print_cost(const char *path, const char *name)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	const char *said;
	int r;

	if (!object)
		return -errno;
	load_only(object, name);
	r = bpf_object__load(object);
	said = r ? NULL : strstr(verifier_log, "processed ");
	if (said)
		printf("%s %lu\n", name, strtoul(said + strlen("processed "), NULL, 10));
	bpf_object__close(object);
	return r ? r : said ? 0 : -ENODATA;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *program;
	int r = 0;

	if (argc != 2)
		return 2;
	libbpf_set_print(quiet);
	object = bpf_object__open_file(argv[1], NULL);
	if (!object) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	bpf_object__for_each_program(program, object)
	{
		r = print_cost(argv[1], bpf_program__name(program));
		if (r)
			break;
	}
	if (r)
		fprintf(stderr, "%s: %s\n%s\n", argv[1], strerror(-r), verifier_log);
	bpf_object__close(object);
	return r == -EPERM || r == -EACCES ? 77 : r != 0;
}
