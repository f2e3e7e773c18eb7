// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parcels: each field that is written is read back. The oracle looks up each row of the original by
 * its key. The tests of refusals are in test_parcel_refused.c.
 */
#include "parcel_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the same */

static bool near(double a, double b, double relative)
{
	return fabs(a - b) <= relative * fabs(a);
}

static bool same_name(const struct pathprof_profile *a, uint32_t in_a,
		      const struct pathprof_profile *b, uint32_t in_b)
{
	if (in_a == PATHPROF_NO_INDEX || in_b == PATHPROF_NO_INDEX)
		return in_a == in_b;
	return pathprof_build_id_equal(&a->binaries[in_a].id, &b->binaries[in_b].id) &&
	       !strcmp(a->binaries[in_a].name, b->binaries[in_b].name);
}

static bool same_workload(const struct pathprof_profile *a, uint32_t in_a,
			  const struct pathprof_profile *b, uint32_t in_b)
{
	const struct pathprof_process *x = &a->processes[in_a], *y = &b->processes[in_b];

	return !strcmp(x->comm, y->comm) && !strcmp(x->container, y->container) &&
	       x->start_time == y->start_time && !y->pid && !y->exec_cnt &&
	       same_name(a, x->binary, b, y->binary);
}

static double looks_of(const struct pathprof_path_count *path)
{
	return path->weight_squares > 0 ? path->weight * path->weight / path->weight_squares : 0;
}

/* How far a parcel's weight may be off: of what is no estimate, by what a float cannot hold. */
static double rounding(const struct pathprof_profile *p, double looks)
{
	return p->weighed && looks > 0 ? 0.13 / sqrt(looks > 1 ? looks : 1) : 0x1p-24;
}

static void check_path(const struct pathprof_profile *a, const struct pathprof_path_count *x,
		       const struct pathprof_profile *b)
{
	for (uint32_t i = 0; i < b->path_cnt; i++) {
		const struct pathprof_path_count *y = &b->paths[i];

		if (x->start != y->start || x->outcomes != y->outcomes ||
		    !same_workload(a, x->process, b, y->process) ||
		    !same_name(a, x->binary, b, y->binary) || x->length != y->length)
			continue;
		CU_ASSERT_EQUAL(x->samples, y->samples);
		CU_ASSERT_EQUAL(x->squares, y->squares);
		CU_ASSERT(near(x->weight, y->weight, rounding(a, looks_of(x))));
		CU_ASSERT(near(x->insns * y->weight, y->insns * x->weight, 0x1p-22));
		CU_ASSERT_DOUBLE_EQUAL(looks_of(x), looks_of(y),
				       1.0 / 512 + 1e-4 + looks_of(x) / 32);
		return;
	}
	CU_FAIL("a path is missing");
}

static void check_edge(const struct pathprof_profile *a, const struct pathprof_edge_count *x,
		       const struct pathprof_profile *b)
{
	for (uint32_t i = 0; i < b->edge_cnt; i++) {
		const struct pathprof_edge_count *y = &b->edges[i];

		if (x->from != y->from || x->to != y->to ||
		    !same_workload(a, x->process, b, y->process) ||
		    !same_name(a, x->from_binary, b, y->from_binary) ||
		    !same_name(a, x->to_binary, b, y->to_binary))
			continue;
		CU_ASSERT_EQUAL(x->count, y->count);
		CU_ASSERT_EQUAL(x->mispredicted, y->mispredicted);
		CU_ASSERT(near(x->weight, y->weight, rounding(a, (double)x->count)));
		return;
	}
	CU_FAIL("an edge is missing");
}

static void check_clock(const struct pathprof_profile *a, const struct pathprof_clock_count *x,
			const struct pathprof_profile *b)
{
	for (uint32_t i = 0; i < b->clock_cnt; i++) {
		const struct pathprof_clock_count *y = &b->clocks[i];

		if (x->place != y->place || !same_workload(a, x->process, b, y->process) ||
		    !same_name(a, x->binary, b, y->binary))
			continue;
		CU_ASSERT_EQUAL(x->samples, y->samples);
		return;
	}
	CU_FAIL("a place is missing");
}

static void check_settings(const struct pathprof_profile *a, const struct pathprof_profile *b)
{
	CU_ASSERT_EQUAL(a->source, b->source);
	CU_ASSERT_EQUAL(a->basis, b->basis);
	CU_ASSERT_EQUAL(a->taken_wanted, b->taken_wanted);
	CU_ASSERT_EQUAL(a->horizon, b->horizon);
	CU_ASSERT_EQUAL(a->clock_hz, b->clock_hz);
	CU_ASSERT_EQUAL(a->clock_kernel, b->clock_kernel);
	CU_ASSERT_EQUAL(a->weighed, b->weighed);
	CU_ASSERT_EQUAL(a->begin_ns, b->begin_ns);
	CU_ASSERT_EQUAL(a->end_ns, b->end_ns);
	CU_ASSERT_EQUAL(memcmp(&a->totals, &b->totals, sizeof(a->totals)), 0);
}

static void check_part(const struct pathprof_parcel_part *a, const struct pathprof_parcel_part *b)
{
	const struct pathprof_profile *p = &a->profile, *q = &b->profile;

	check_settings(p, q);
	CU_ASSERT_EQUAL_FATAL(a->window_cnt, b->window_cnt);
	CU_ASSERT_EQUAL(memcmp(a->windows, b->windows, a->window_cnt * sizeof(*a->windows)), 0);
	CU_ASSERT_EQUAL(p->path_cnt, q->path_cnt);
	CU_ASSERT_EQUAL(p->edge_cnt, q->edge_cnt);
	CU_ASSERT_EQUAL(p->clock_cnt, q->clock_cnt);
	for (uint32_t i = 0; i < p->path_cnt; i++)
		check_path(p, &p->paths[i], q);
	for (uint32_t i = 0; i < p->edge_cnt; i++)
		check_edge(p, &p->edges[i], q);
	for (uint32_t i = 0; i < p->clock_cnt; i++)
		check_clock(p, &p->clocks[i], q);
}

static void check_round_trip(uint32_t version)
{
	struct pathprof_parcel parcel, read;
	struct pathprof_error error = {""};
	size_t len = 0;

	make(&parcel, 3, 200);
	parcel.version = version;
	uint8_t *bytes = written(&parcel, &len);
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&read, bytes, len, &error), 0);
	CU_ASSERT_EQUAL(read.version, version ? version : 1);
	CU_ASSERT_EQUAL(memcmp(parcel.store, read.store, sizeof(read.store)), 0);
	CU_ASSERT_STRING_EQUAL(parcel.host.name, read.host.name);
	CU_ASSERT_STRING_EQUAL(parcel.host.model, read.host.model);
	CU_ASSERT_STRING_EQUAL(parcel.host.kernel, read.host.kernel);
	CU_ASSERT_STRING_EQUAL(parcel.host.os, read.host.os);
	CU_ASSERT_STRING_EQUAL(parcel.host.labels, read.host.labels);
	CU_ASSERT_EQUAL(parcel.host.cpus, read.host.cpus);
	CU_ASSERT_EQUAL(parcel.host.sent_ns, read.host.sent_ns);
	CU_ASSERT_EQUAL(parcel.slot_s, read.slot_s);
	CU_ASSERT_EQUAL_FATAL(parcel.part_cnt, read.part_cnt);
	CU_ASSERT_EQUAL(pathprof_parcel_window_cnt(&read), 9);
	for (uint32_t i = 0; i < parcel.part_cnt; i++)
		check_part(&parcel.parts[i], &read.parts[i]);
	pathprof_parcel_release(&parcel);
	pathprof_parcel_release(&read);
	free(bytes);
}

static void test_round_trip(void)
{
	for (uint32_t version = 0; version <= PATHPROF_PARCEL_VERSION; version++)
		check_round_trip(version);
}

static void check_same_floats(const struct pathprof_profile *a, const struct pathprof_profile *b)
{
	CU_ASSERT_EQUAL_FATAL(a->path_cnt, b->path_cnt);
	CU_ASSERT_EQUAL_FATAL(a->edge_cnt, b->edge_cnt);
	for (uint32_t i = 0; i < a->path_cnt; i++) {
		CU_ASSERT(a->paths[i].weight == b->paths[i].weight);
		CU_ASSERT(a->paths[i].insns == b->paths[i].insns);
		CU_ASSERT(a->paths[i].weight_squares == b->paths[i].weight_squares);
		CU_ASSERT_EQUAL(a->paths[i].squares, b->paths[i].squares);
	}
	for (uint32_t i = 0; i < a->edge_cnt; i++)
		CU_ASSERT(a->edges[i].weight == b->edges[i].weight);
}

/* Both versions say the same, to the last bit: only how it is packed differs. */
static void test_versions_agree(void)
{
	struct pathprof_parcel parcel, read[2];
	struct pathprof_error error = {""};

	make(&parcel, 3, 200);
	for (uint32_t i = 0; i < 2; i++) {
		size_t len = 0;
		uint8_t *bytes;

		parcel.version = i + 1;
		bytes = written(&parcel, &len);
		CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&read[i], bytes, len, &error), 0);
		free(bytes);
	}
	for (uint32_t i = 0; i < parcel.part_cnt; i++)
		check_same_floats(&read[0].parts[i].profile, &read[1].parts[i].profile);
	pathprof_parcel_release(&parcel);
	pathprof_parcel_release(&read[0]);
	pathprof_parcel_release(&read[1]);
}

static void test_version_to_send(void)
{
	struct pathprof_parcel_part part = {.window_cnt = 0};
	struct pathprof_parcel parcel = {.parts = &part, .part_cnt = 1};

	part.profile.path_cnt = 1000;
	part.profile.edge_cnt = 900;
	part.profile.clock_cnt = 99;
	CU_ASSERT_EQUAL(pathprof_parcel_version_to_send(&parcel, 2), 1);
	part.profile.clock_cnt++;
	CU_ASSERT_EQUAL(pathprof_parcel_version_to_send(&parcel, 2), 2);
	CU_ASSERT_EQUAL(pathprof_parcel_version_to_send(&parcel, 1), 1);
}

/* Unknown figures stay unknown, and columns that are all 0 take no room. */
static void test_nothing_known(void)
{
	struct pathprof_parcel parcel, read;
	struct pathprof_error error = {""};
	const struct pathprof_parcel_window window = window_of(1, 0);
	const struct pathprof_build_id id = world_binary_id(0);
	const struct pathprof_path_count path = {.samples = 5};
	const struct pathprof_edge_count edge = {.count = 6};
	size_t len = 0;

	make(&parcel, 0, 0);
	struct pathprof_parcel_part *part = pathprof_parcel_add_part(&parcel, PART_MAX);
	part->profile.basis = PATHPROF_BASIS_TIME;
	CU_ASSERT_EQUAL(pathprof_parcel_add_window(part, &window), 0);
	pathprof_profile_binary(&part->profile, &id, "");
	add_workload(&part->profile, 0);
	pathprof_profile_add_path(&part->profile, &path);
	pathprof_profile_add_edge(&part->profile, &edge);
	uint8_t *bytes = written(&parcel, &len);
	CU_ASSERT_EQUAL_FATAL(pathprof_parcel_read(&read, bytes, len, &error), 0);
	check_part(part, &read.parts[0]);
	CU_ASSERT_EQUAL(read.parts[0].profile.paths[0].squares, 0);
	CU_ASSERT(read.parts[0].profile.paths[0].insns == 0);
	CU_ASSERT(read.parts[0].profile.paths[0].weight_squares == 0);
	pathprof_parcel_release(&parcel);
	pathprof_parcel_release(&read);
	free(bytes);
}

static void test_slots(void)
{
	CU_ASSERT_EQUAL(pathprof_parcel_slot(0), 0);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(299999999999), 0);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(300000000000), 300);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(-1), -300);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(-300000000000), -300);
	CU_ASSERT_EQUAL(pathprof_parcel_slot(SLOT_NS + 5), SLOT_S);
}

static void test_workloads(void)
{
	const struct pathprof_build_id a = world_binary_id(0), b = world_binary_id(1);

	CU_ASSERT_EQUAL(pathprof_parcel_workload("c", "d", &a),
			pathprof_parcel_workload("c", "d", &a));
	CU_ASSERT_NOT_EQUAL(pathprof_parcel_workload("c", "d", &a),
			    pathprof_parcel_workload("c", "d", &b));
	CU_ASSERT_NOT_EQUAL(pathprof_parcel_workload("c", "d", &a),
			    pathprof_parcel_workload("c", "d", NULL));
	CU_ASSERT_NOT_EQUAL(pathprof_parcel_workload("cd", "", &a),
			    pathprof_parcel_workload("c", "d", &a));
}

static void check_container(const char *name, const char *workload)
{
	char text[64];

	CU_ASSERT_STRING_EQUAL(pathprof_parcel_container(name, text, sizeof(text)), workload);
}

static void test_containers(void)
{
	check_container("", "");
	check_container("nginx.service", "nginx.service");
	check_container("postgresql@15-main.service", "postgresql@15-main.service");
	check_container("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "*");
	check_container("run-r0123456789abcdef0123456789abcdef.service", "run-*.service");
	check_container("run-u1234.service", "run-*.service");
	check_container("run-p12-i34.service", "run-*.service");
	check_container("web-5f0c1ab2c3d4-x.service", "web-*-x.service");
	/* words of hex letters alone, and short numbers, are names */
	check_container("deadbeefcafe.service", "deadbeefcafe.service");
	check_container("shard-12345678.service", "shard-12345678.service");
	check_container("run-nothing.scope", "run-nothing.scope");
	/* and so are those of services that begin as systemd-run's do */
	check_container("run-reports.service", "run-reports.service");
	check_container("run-parts.service", "run-parts.service");
	check_container("run-u1-web.service", "run-u1-web.service");
	check_container("run-p12-i.service", "run-p12-i.service");
	check_container("run-r.service", "run-r.service");
	check_container("run-u12.service.d", "run-u12.service.d");
}

static void test_this_host(void)
{
	struct pathprof_parcel_host host;
	char name[256] = "";

	pathprof_parcel_this_host(&host);
	CU_ASSERT_EQUAL(gethostname(name, sizeof(name) - 1), 0);
	CU_ASSERT_STRING_EQUAL(host.name, name);
	CU_ASSERT_EQUAL(host.cpus, sysconf(_SC_NPROCESSORS_ONLN));
	CU_ASSERT(host.kernel[0] >= '0' && host.kernel[0] <= '9');
	/* of /etc/os-release without its quotes, which Debian has */
	CU_ASSERT_EQUAL(access("/etc/os-release", R_OK) == 0, host.os[0] != 0);
	CU_ASSERT_EQUAL(strcspn(host.os, "\"\n"), strlen(host.os));
	CU_ASSERT(llabs(host.sent_ns / 1000000000 - (long long)time(NULL)) < 60);
}

static void check_os(const char *line, const char *os)
{
	struct pathprof_parcel_host host = {.cpus = 0};
	char root[160], path[192];
	FILE *file;

	snprintf(root, sizeof(root), "%s", unit_tmpdir());
	snprintf(path, sizeof(path), "%s/etc", root);
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/etc/os-release", root);
	file = fopen(path, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fprintf(file, "NAME=other\n%s\nPRETTY_NAME=second\n", line);
	fclose(file);
	pp_parcel_read_host(&host, root);
	CU_ASSERT_STRING_EQUAL(host.os, os);
	CU_ASSERT_STRING_EQUAL(host.model, "");
}

static void test_os_names(void)
{
	check_os("PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"", "Debian GNU/Linux 13 (trixie)");
	check_os("PRETTY_NAME='Two Words'", "Two Words");
	check_os("PRETTY_NAME=\"Somebody's\" # own", "Somebody's");
	check_os("PRETTY_NAME=One", "One");
	check_os("PRETTY_NAME=\"\"", "");
	check_os("PRETTY_NAME=", "");
}

static const struct unit_test tests[] = {
	{"what is written is read, field by field", test_round_trip},
	{"all versions say the same", test_versions_agree},
	{"few rows are sent as version 1", test_version_to_send},
	{"unknown figures stay unknown", test_nothing_known},
	{"a window belongs to the slot in which it ended", test_slots},
	{"a workload has the same number everywhere", test_workloads},
	{"a container is called by what all of its kind share", test_containers},
	{"what is said of this machine", test_this_host},
	{"names of systems without their quotes", test_os_names},
};
UNIT_SUITE(parcel, tests)
