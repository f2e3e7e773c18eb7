// SPDX-License-Identifier: GPL-2.0-or-later
/* When a source that brings nothing is at fault, and what it may spend. */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../daemon/service_state.h"
#include "../../daemon/step/source_step.h"

#define SEC UINT64_C(1000000000)

static bool barren(double wall_s, double user_s, double every_s)
{
	struct pp_mark since = {.time_ns = 5 * SEC, .user_ns = 10 * SEC};
	struct pp_mark now = {.time_ns = since.time_ns + (uint64_t)(wall_s * 1e9),
			      .user_ns = since.user_ns + (uint64_t)(user_s * 1e9)};

	return pp_mark_is_barren(&since, &now, every_s);
}

/* A minute in which one CPU ran user code for 3 s. */
static void test_barren(void)
{
	CU_ASSERT(barren(60, 3.001, 0.3));
	CU_ASSERT(!barren(59, 60, 0.3));
	CU_ASSERT(!barren(60, 2.99, 0.3));
	CU_ASSERT(!barren(60, 60, 7));
	CU_ASSERT(barren(71, 60, 7));
}

static void test_unknown(void)
{
	struct pp_mark since = {.time_ns = SEC}, now = {.time_ns = 900 * SEC};

	CU_ASSERT(!pp_mark_is_barren(&since, &now, 0));
}

/* A machine at rest, of 256 CPUs: 437 ppm of a fifth of a CPU are a third of 1 ppm of them all. */
static void test_small_share(void)
{
	static struct pp_service service;

	service.source_ops = &pp_source_step;
	service.cpu_cnt = service.busy.cpu_cnt = 256;
	service.busy.cpus = 0.2;
	service.allowance.source_ppm = 437;
	service.source_seen.burst_ns = 2000000;
	CU_ASSERT_EQUAL(pp_service_source_ppm(&service), 1);
	CU_ASSERT_DOUBLE_EQUAL(pp_service_burst_every_s(&service), 0.002 / 256e-6, 1e-9);
	service.busy.cpus = 128;
	CU_ASSERT_EQUAL(pp_service_source_ppm(&service), 219);
	service.allowance.source_ppm = 0;
	CU_ASSERT_EQUAL(pp_service_source_ppm(&service), 0);
}

/* The words of the service on standard error about the price of its bursts. */
static void warn_price(struct pp_service *service, char *ret_text, size_t size)
{
	int file = memfd_create("stderr", MFD_CLOEXEC), kept = dup(STDERR_FILENO);
	ssize_t n;

	CU_ASSERT_FATAL(file >= 0 && kept >= 0);
	fflush(stderr);
	dup2(file, STDERR_FILENO);
	pp_service_warn_price(service);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	n = pread(file, ret_text, size - 1, 0);
	ret_text[n > 0 ? n : 0] = '\0';
	close(file);
	close(kept);
}

static void test_price(void)
{
	static struct pp_service service;
	char text[512];

	service.source_ops = &pp_source_step;
	service.config.overhead_ppm = service.allowance.source_ppm = 5000;
	service.cpu_cnt = service.busy.cpu_cnt = 1;
	service.busy.cpus = 1;
	service.source_seen.burst_ns = SEC / 8;
	warn_price(&service, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "");
	service.source_seen.burst_ns = SEC;
	warn_price(&service, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "a burst costs 1000.0 ms of CPU time, so Overhead=0.5% allows one in "
			     "200 s; Overhead=100% would allow one a second\n"));
	/* once */
	warn_price(&service, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "");
}

static const struct unit_test tests[] = {
	{"no burst in a busy minute is a fault, in an idle one not", test_barren},
	{"no judgement where user time is not known", test_unknown},
	{"a small share of a machine at rest is not nothing", test_small_share},
	{"bursts that the budget seldom earns are told with their price, once", test_price},
};

UNIT_SUITE(service_barren, tests)
