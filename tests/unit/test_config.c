// SPDX-License-Identifier: GPL-2.0-or-later
/* The settings: values, files, drop-ins, command line. */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../daemon/shared/config.h"
#include "../../daemon/config_args.h"
#include "../../daemon/shared/config_key.h"
#include "../../daemon/shared/config_value.h"
#include "pathprof/alert.h"
#include "pathprof/sources.h"

static struct pathprof_error why;

static int parse(struct pp_config *ret_config, const char *text)
{
	pp_config_defaults(ret_config);
	why.text[0] = '\0';
	return pp_config_parse(ret_config, "F", text, strlen(text), &why);
}

static void accept(const char *text, struct pp_config *ret_config)
{
	CU_ASSERT_EQUAL(parse(ret_config, text), 0);
	CU_ASSERT_STRING_EQUAL(why.text, "");
}

/* Refused with one line that holds `wanted`, and nothing of the text took effect. */
static void refuse(const char *text, const char *wanted)
{
	struct pp_config config, defaults;

	pp_config_defaults(&defaults);
	CU_ASSERT_EQUAL(parse(&config, text), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(why.text, wanted));
	CU_ASSERT_PTR_NULL(strchr(why.text, '\n'));
	CU_ASSERT_EQUAL(memcmp(&config, &defaults, sizeof(config)), 0);
	if (!strstr(why.text, wanted))
		printf("wanted \"%s\", got \"%s\"\n", wanted, why.text);
}

static void test_defaults(void)
{
	struct pp_config config;

	pp_config_defaults(&config);
	CU_ASSERT_EQUAL(config.overhead_ppm, 5000);
	CU_ASSERT_EQUAL(config.window_ns, 60000000000);
	CU_ASSERT_EQUAL(config.taken_wanted, 32);
	CU_ASSERT_EQUAL(config.horizon, 1024);
	CU_ASSERT_EQUAL(config.clock_hz, 97);
	CU_ASSERT_EQUAL(config.max_use_bytes, 512 << 20);
	CU_ASSERT_EQUAL(config.max_retention_ns, 30 * UINT64_C(86400000000000));
	CU_ASSERT_EQUAL(config.pin, 1);
	CU_ASSERT_STRING_EQUAL(config.db_path, "");
}

static void test_values(void)
{
	struct pp_config config;

	accept("# a comment\n; another\n\n[Profile]\nOverhead = 0.05 %\nWindowSec=0.2\n"
	       "  TakenBranches=64\nMapping=wpp\nPinTargets=off\n[Store]\nPath=/a b/c.db\n"
	       "MaxUse=1.5G\nMaxRetentionSec=1d 12h\n[Limits]\nMemoryMax=16M",
	       &config);
	CU_ASSERT_EQUAL(config.overhead_ppm, 500);
	CU_ASSERT_EQUAL(config.window_ns, 200000000);
	CU_ASSERT_EQUAL(config.taken_wanted, 64);
	CU_ASSERT_EQUAL(config.mapping, 1);
	CU_ASSERT_EQUAL(config.pin, 0);
	CU_ASSERT_STRING_EQUAL(config.db_path, "/a b/c.db");
	CU_ASSERT_EQUAL(config.max_use_bytes, UINT64_C(3) << 29);
	CU_ASSERT_EQUAL(config.max_retention_ns, 129600 * UINT64_C(1000000000));
	CU_ASSERT_EQUAL(config.memory_max_bytes, 16 << 20);
	/* as on the command line */
	accept("[Profile]\nWindowSec=1hour\n[Store]\nMaxUse=512MiB\n", &config);
	CU_ASSERT_EQUAL(config.window_ns, 3600 * UINT64_C(1000000000));
	CU_ASSERT_EQUAL(config.max_use_bytes, 512 << 20);
}

static void test_odd_bytes(void)
{
	struct pp_config config;

	accept("", &config);
	accept("\xEF\xBB\xBF[Profile]\r\nFrequencyHz=7\r\n", &config);
	CU_ASSERT_EQUAL(config.frequency_hz, 7);
	accept("[Profile]\nClockHz=0\nInstructions=8192\n", &config);
	CU_ASSERT_EQUAL(config.clock_hz, 0);
	CU_ASSERT_EQUAL(config.horizon, 8192);
	accept("[Store]\nMaxUse=0\n", &config);
	CU_ASSERT_EQUAL(config.max_use_bytes, 0);
}

static void test_refusals_name_the_line(void)
{
	refuse("[Nonsense]\nA=1\n", "F:1: unknown section [Nonsense]");
	refuse("\n\n[Nonsense]\n", "F:3: unknown section");
	refuse("[Profile\nOverhead=1%\n", "F:1:");
	refuse("Overhead=1%\n", "F:1: unknown key Overhead= in []");
	refuse("[Profile]\nSpeed=1\n", "F:2: unknown key Speed=");
	refuse("[Store]\nOverhead=1%\n", "F:2: unknown key Overhead= in [Store]");
	refuse("[Profile]\noverhead=1%\n", "F:2: unknown key overhead=");
	refuse("[Profile]\nOverhead=1%\n\nOverhead=2%\n", "F:4: Overhead= was set");
	refuse("[Profile]\njunk\nSpeed=1\n", "F:2: neither");
	refuse("[Profile]\nSpeed=1\njunk\n", "F:2: unknown key");
	refuse("[Store]\nPath=relative.db\n", "F:2: Path=relative.db: wanted an absolute path");
}

static void test_refusals_say_what_was_wanted(void)
{
	refuse("[Profile]\nOverhead=much\n", "bad value, wanted a percentage from 0.001% to 100%");
	refuse("[Profile]\nOverhead=\n", "Overhead=: bad value");
	refuse("[Profile]\nOverhead=101%\n", "F:2: Overhead=101%: out of range");
	refuse("[Profile]\nOverhead=0\n", "out of range");
	refuse("[Profile]\nOverhead=-1\n", "bad value");
	refuse("[Profile]\nOverhead=1e2\n", "bad value");
	refuse("[Profile]\nCompress=maybe\n", "wanted one of auto yes no");
	refuse("[Profile]\nSource=magic\n", "wanted one of auto" PATHPROF_SOURCE_NAMES);
	refuse("[Profile]\nPinTargets=maybe\n", "wanted yes or no");
	refuse("[Profile]\nTakenBranches=3\n", "from 4 to 512");
	refuse("[Profile]\nTakenBranches=32.5\n", "bad value");
	refuse("[Profile]\nInstructions=0\n", "from 64 to 8192");
	refuse("[Profile]\nInstructions=9000\n", "from 64 to 8192");
	refuse("[Profile]\nClockHz=1001\n", "from 1 to 1000, or 0");
	refuse("[Profile]\nWindowSec=0.05\n", "from 100ms to 1d");
	refuse("[Profile]\nWindowSec=5 parsecs\n", "bad value");
	refuse("[Store]\nMaxUse=1K\n", "from 4M to 1024T, or 0");
	refuse("[Store]\nMaxUse=99999999999999999999\n", "out of range");
	refuse("[Store]\nMaxUse=18446744073709551615T\n", "out of range");
}

static void test_long_line(void)
{
	char text[1024] = "[Profile]\nOverhead=1%\n#";
	struct pp_config config;

	memset(text + strlen(text), 'x', 150);
	accept(text, &config);
	memset(text + strlen(text), 'x', 100);
	refuse(text, "F:3: line too long");
}

static void test_nul_byte(void)
{
	static const char text[] = "[Profile]\nOver\0head=1%\n";
	struct pp_config config;

	pp_config_defaults(&config);
	CU_ASSERT_EQUAL(pp_config_parse(&config, "F", text, sizeof(text) - 1, &why), -EINVAL);
	CU_ASSERT_STRING_EQUAL(why.text, "F:2: a NUL byte");
}

static void test_outputs_untouched(void)
{
	uint64_t value = 77;

	CU_ASSERT_EQUAL(pp_value_bool("Yes", &value), -EINVAL);
	CU_ASSERT_EQUAL(value, 77);
}

static char *printed(void (*print)(const struct pp_config *, FILE *),
		     const struct pp_config *config)
{
	char *text = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&text, &len);

	if (!file)
		abort();
	print(config, file);
	fclose(file);
	return text;
}

static void print_defaults(const struct pp_config *config, FILE *to)
{
	pp_config_print_defaults(to);
}

static void test_print_reads_back(void)
{
	struct pp_config config, back;
	char *text;

	accept("[Profile]\nOverhead=1.25%\nWindowSec=1.5\nMapping=wpp\n[Store]\nPath=/x\n",
	       &config);
	text = printed(pp_config_print, &config);
	accept(text, &back);
	CU_ASSERT_EQUAL(memcmp(&config, &back, sizeof(config)), 0);
	free(text);
}

/* Removes the # of "#Key=": what is left must be a sound file that equals the defaults. */
static void test_default_file(void)
{
	struct pp_config config, defaults;
	char *text = printed(print_defaults, NULL);
	size_t keys = 0;

	accept(text, &config);
	for (char *s = text; s; s = strchr(s, '\n')) {
		s += *s == '\n';
		if (s[0] == '#' && s[1] != ' ' && strchr(s, '=')) {
			s[0] = ' ';
			keys++;
		}
	}
	/* both rules that are always there show all of theirs */
	CU_ASSERT_EQUAL(keys, pp_config_key_cnt + 2 * pp_config_alert_key_cnt);
	accept(text, &config);
	pp_config_defaults(&defaults);
	CU_ASSERT_EQUAL(memcmp(&config, &defaults, sizeof(config)), 0);
	free(text);
}

static void test_adopt(void)
{
	struct pp_config config, wanted;
	char rest[128];

	pp_config_defaults(&config);
	accept("[Profile]\nOverhead=2%\nMapping=wpp\n[Store]\nPath=/x\nMaxUse=0\n", &wanted);
	pp_config_adopt(&config, &wanted, rest, sizeof(rest));
	CU_ASSERT_EQUAL(config.overhead_ppm, 20000);
	CU_ASSERT_EQUAL(config.max_use_bytes, 0);
	CU_ASSERT_EQUAL(config.mapping, 0);
	CU_ASSERT_STRING_EQUAL(config.db_path, "");
	CU_ASSERT_STRING_EQUAL(rest, "[Profile] Mapping=, [Store] Path=");
	pp_config_adopt(&wanted, &wanted, rest, sizeof(rest));
	CU_ASSERT_STRING_EQUAL(rest, "");
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
}

static void test_drop_ins(void)
{
	const char *dir = unit_tmpdir();
	char file[PATH_MAX], drop[PATH_MAX];
	struct pp_config config;

	snprintf(file, sizeof(file), "%s/p.conf", dir);
	snprintf(drop, sizeof(drop), "%s/p.conf.d", dir);
	pp_config_defaults(&config);
	CU_ASSERT_EQUAL(pp_config_load(&config, file, true, &why), -ENOENT);
	CU_ASSERT_EQUAL(pp_config_load(&config, file, false, &why), 0);
	CU_ASSERT_EQUAL(mkdir(drop, 0755), 0);
	put(drop, "20-b.conf", "[Profile]\nOverhead=3%\n");
	put(drop, "10-a.conf", "[Profile]\nOverhead=2%\nFrequencyHz=5\n");
	put(drop, "30-c.conf.bak", "[Profile]\nOverhead=9%\n");
	put(drop, ".40-d.conf", "[Profile]\nOverhead=9%\n");
	put(dir, "p.conf", "[Profile]\nOverhead=1%\nTakenBranches=8\n");
	CU_ASSERT_EQUAL(pp_config_load(&config, file, false, &why), 0);
	CU_ASSERT_EQUAL(config.overhead_ppm, 30000);
	CU_ASSERT_EQUAL(config.frequency_hz, 5);
	CU_ASSERT_EQUAL(config.taken_wanted, 8);
	put(drop, "90-bad.conf", "[Profile]\nFrequencyHz=6\nNo=1\n");
	CU_ASSERT_EQUAL(pp_config_load(&config, file, false, &why), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(why.text, "p.conf.d/90-bad.conf:3: unknown key No="));
	CU_ASSERT_EQUAL(config.frequency_hz, 5);
	CU_ASSERT_EQUAL(pp_config_load(&config, dir, true, &why), -EINVAL);
}

/* One file may set what another needs, whichever is read first. */
static void test_drop_ins_together(void)
{
	const char *dir = unit_tmpdir();
	char file[PATH_MAX], drop[PATH_MAX];
	struct pp_config config;

	snprintf(file, sizeof(file), "%s/p.conf", dir);
	snprintf(drop, sizeof(drop), "%s/p.conf.d", dir);
	CU_ASSERT_EQUAL(mkdir(drop, 0755), 0);
	put(dir, "p.conf", "[Alert a]\nThreshold=5\n");
	put(drop, "10-a.conf", "[Tested]\nAlertShare=1%\n[Alert a]\nMetric=overlap\n");
	pp_config_defaults(&config);
	CU_ASSERT_EQUAL(pp_config_load(&config, file, true, &why), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(why.text, "p.conf and its drop-ins: [Tested]: AlertShare="));
	CU_ASSERT_EQUAL(config.tested_alert_ppm, 0);
	put(drop, "20-b.conf", "[Tested]\nDirectory=/etc/tested\n[Alert a]\nThreshold=0.5\n");
	CU_ASSERT_EQUAL(pp_config_load(&config, file, true, &why), 0);
	CU_ASSERT_EQUAL(config.tested_alert_ppm, 10000);
	CU_ASSERT_EQUAL(config.alerts[2].threshold_ppm, 500000);
}

static int args(struct pp_args *ret_args, const char *line)
{
	static char words[512];
	static char *argv[32];
	int argc = 0;

	snprintf(words, sizeof(words), "pathprofd %s", line);
	for (char *save, *w = strtok_r(words, " ", &save); w && argc < 31;
	     w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	return pp_args_parse(ret_args, argc, argv, &why);
}

static void test_args_beat_the_file(void)
{
	const char *dir = unit_tmpdir();
	struct pp_config config;
	struct pp_args a;
	char line[PATH_MAX];

	put(dir, "c", "[Profile]\nOverhead=1%\nFrequencyHz=9\n");
	snprintf(line, sizeof(line), "-c %s/c --overhead 7 --window 0.5 --db rel.db", dir);
	CU_ASSERT_EQUAL(args(&a, line), 0);
	CU_ASSERT_EQUAL(pp_args_config(&a, &config, &why), 0);
	CU_ASSERT_EQUAL(config.overhead_ppm, 70000);
	CU_ASSERT_EQUAL(config.frequency_hz, 9);
	CU_ASSERT_EQUAL(config.window_ns, 500000000);
	CU_ASSERT_STRING_EQUAL(config.db_path, "rel.db");
}

static void test_args_usage(void)
{
	static const char *const bad[] = {
		"--nonsense",
		"-x",
		"--overhead",
		"--overhead 0",
		"--window x",
		"extra",
		"-p 1",
		"--record",
		"--record --db x",
		"--record -- true",
		"--record --db x -p 1 -- true",
		"--record --db x -p 0",
		"--record --db x -p 99999999999",
		"--record --db x -p 1 -p 2",
		"--duration 0",
		"--record --db x --duration 1 -- true",
		"--record --check-config --db x -- true",
		"--addresses 10",
		"--addresses 20-10",
		"--record --db x --addresses 10-20",
		"--record --db x --cgroup a.service --duration 1 -- true",
		"--record --db x --cgroup a.service --value main:1",
		"--record --db= -p 1",
		"--record --db x --db= -p 1",
		"--record --db x --cgroup=",
		"--record --db x --cgroup a.service --cgroup=",
	};
	struct pp_args a = {.quiet = true};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why.text[0] = '\0';
		CU_ASSERT_EQUAL(args(&a, bad[i]), -EINVAL);
		CU_ASSERT_TRUE(why.text[0] != '\0');
	}
	CU_ASSERT_TRUE(a.quiet && !a.pid);
}

static void test_args_record(void)
{
	struct pp_config config;
	struct pp_args a;

	CU_ASSERT_EQUAL(args(&a, "--record --db x --instructions 512 --clock 0 -- ls"), 0);
	CU_ASSERT_EQUAL(pp_args_config(&a, &config, NULL), 0);
	CU_ASSERT_EQUAL(config.horizon, 512);
	CU_ASSERT_EQUAL(config.clock_hz, 0);
	CU_ASSERT_EQUAL(args(&a, "--record --db x --instructions 5 -- ls"), -EINVAL);
	CU_ASSERT_EQUAL(args(&a, "--record --db x --taken 64 ls -p 5 --db y"), 0);
	CU_ASSERT_EQUAL(a.mode, PP_ARGS_RECORD);
	CU_ASSERT_PTR_NOT_NULL(a.command);
	if (!a.command)
		return;
	CU_ASSERT_STRING_EQUAL(a.command[0], "ls");
	CU_ASSERT_STRING_EQUAL(a.command[4], "y");
	CU_ASSERT_EQUAL(pp_args_config(&a, &config, &why), 0);
	CU_ASSERT_EQUAL(config.overhead_ppm, 200000);
	CU_ASSERT_EQUAL(config.taken_wanted, 64);
	CU_ASSERT_EQUAL(config.max_use_bytes, 0);
	CU_ASSERT_EQUAL(args(&a, "--record --db x -p 5 --duration 2"), 0);
	CU_ASSERT_EQUAL(a.pid, 5);
	CU_ASSERT_EQUAL(a.duration_ns, 2000000000);
}

/* A group may stand alone, or narrow down what else is recorded. */
static void test_args_group(void)
{
	struct pp_config config;
	struct pp_args a;

	CU_ASSERT_EQUAL(args(&a, "--record --db x --cgroup a.service --duration 2"), 0);
	CU_ASSERT_TRUE(a.group && !a.pid && !a.command);
	CU_ASSERT_EQUAL(pp_args_config(&a, &config, &why), 0);
	CU_ASSERT_STRING_EQUAL(config.cgroup, "a.service");
	CU_ASSERT_EQUAL(config.drift, 0);
	CU_ASSERT_EQUAL(config.compress, PP_CONFIG_COMPRESS_NO);
	CU_ASSERT_EQUAL(args(&a, "--record --db x --cgroup a.service -p 5"), 0);
	CU_ASSERT_TRUE(!a.group && a.pid == 5);
	CU_ASSERT_EQUAL(args(&a, "--record --db x --cgroup a.service ls"), 0);
	CU_ASSERT_TRUE(!a.group && a.command);
	CU_ASSERT_EQUAL(args(&a, "--cgroup a.service --addresses 0x400000-4fffff"), 0);
	CU_ASSERT_TRUE(!a.group);
}

/* Oracle: sscanf. */
static void test_addresses(void)
{
	static const char *const bad[] = {
		"",       "10",     "10-",    "-10",   "10-20-30",
		"10-20 ", " 10-20", "10--20", "0x-10", "x10-20",
		"10g-20", "20-10",  "0-0",    "1,2",   "10-11111111111111111",
	};
	struct pp_config config;
	unsigned int seed = 3;

	for (int i = 0; i < 1000; i++) {
		uint64_t a = (uint64_t)rand_r(&seed) << 17 ^ (uint64_t)rand_r(&seed);
		uint64_t b = a + (uint64_t)rand_r(&seed), first = 0, last = 0;
		unsigned long long want[2];
		char text[64];

		snprintf(text, sizeof(text),
			 i % 2 ? "0x%" PRIx64 "-0X%" PRIX64 : "%" PRIx64 "-%" PRIx64, a, b);
		CU_ASSERT_EQUAL(pp_value_addresses(text, &first, &last), 0);
		CU_ASSERT_EQUAL(sscanf(text, "%llx-%llx", &want[0], &want[1]), 2);
		CU_ASSERT_EQUAL(first, want[0]);
		CU_ASSERT_EQUAL(last, want[1]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t first = 77, last = 78;

		CU_ASSERT(pp_value_addresses(bad[i], &first, &last) < 0);
		CU_ASSERT_EQUAL(first, 77);
		CU_ASSERT_EQUAL(last, 78);
	}
	accept("[Profile]\nAddresses=400000-ffffffffffffffff\nCgroup=/a b/c.service\n", &config);
	CU_ASSERT_STRING_EQUAL(config.cgroup, "/a b/c.service");
	refuse("[Profile]\nAddresses=4k\n", "wanted two addresses in hex, as 400000-4fffff");
	accept("[Profile]\nAddresses=\nCgroup=\n", &config);
}

static void test_db_path(void)
{
	char path[64], tiny[8] = "";
	struct pp_config config;

	pp_config_defaults(&config);
	setenv("STATE_DIRECTORY", "/s/one:/s/two", 1);
	CU_ASSERT_EQUAL(pp_config_db_path(&config, path, sizeof(path)), 0);
	CU_ASSERT_STRING_EQUAL(path, "/s/one/profile.db");
	CU_ASSERT_EQUAL(pp_config_db_path(&config, tiny, sizeof(tiny)), -ENAMETOOLONG);
	unsetenv("STATE_DIRECTORY");
	CU_ASSERT_EQUAL(pp_config_set(&config, "Store", "Path", "/x.db", NULL), 0);
	CU_ASSERT_EQUAL(pp_config_db_path(&config, path, sizeof(path)), 0);
	CU_ASSERT_STRING_EQUAL(path, "/x.db");
}

static void test_alert_rules(void)
{
	struct pp_config config;
	char many[2048] = "", *text;

	accept("[Alert fast]\nEnabled=no\n[Alert my.rule-1]\nThreshold=0.25\nBinary=/opt/*\n"
	       "Metric=overlap\nBaseline=release\nCoolDown=0\n[Alert fast]\nWindows=3\n",
	       &config);
	CU_ASSERT_EQUAL(config.alerts[0].enabled, 0);
	CU_ASSERT_EQUAL(config.alerts[0].windows, 3);
	CU_ASSERT_STRING_EQUAL(config.alerts[1].name, "slow");
	CU_ASSERT_EQUAL(config.alerts[1].hysteresis_ppm, 2500);
	CU_ASSERT_STRING_EQUAL(config.alerts[2].name, "my.rule-1");
	CU_ASSERT_EQUAL(config.alerts[2].threshold_ppm, 250000);
	CU_ASSERT_EQUAL(config.alerts[2].metric, PATHPROF_METRIC_OVERLAP);
	CU_ASSERT_EQUAL(config.alerts[2].cool_down_ns, 0);
	CU_ASSERT_EQUAL(config.alerts[2].pooled, 1);
	CU_ASSERT_STRING_EQUAL(config.alerts[2].binary, "/opt/*");
	CU_ASSERT_STRING_EQUAL(config.alerts[2].container, "*");
	CU_ASSERT_STRING_EQUAL(config.alerts[2].baseline, "release");
	CU_ASSERT_STRING_EQUAL(config.alerts[3].name, "");
	text = printed(pp_config_print, &config);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "[Alert my.rule-1]\nEnabled=yes\nScope=machine\nMetric=overlap\n"));
	free(text);
	refuse("[Alert]\nWindows=1\n", "F:1: unknown section [Alert]");
	refuse("[Alert a b]\nWindows=1\n", "F:1: unknown section");
	refuse("[Alert untested]\nWindows=1\n", "F:1: unknown section");
	refuse("[Alert a]\nWindow=1\n", "F:2: unknown key Window= in [Alert a]");
	refuse("[Alert a]\nPooled=17\n", "from 1 to 16");
	refuse("[Alert a]\nThreshold=-1\n", "bad value, wanted a number from 0 to 1000");
	refuse("[Alert a]\nWindows=1\n[Alert b]\nWindows=1\n[Alert a]\nWindows=2\n",
	       "F:6: Windows= was set");
	for (int i = 0; i < 15; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many),
			 "[Alert r%d]\nWindows=1\n", i);
	refuse(many, "F:30: [Alert r14]: more than 16 rules");
}

static void test_telling(void)
{
	struct pp_config config;

	accept("[Tell]\nAlertmanager=https://host:9093\nExec=/bin/cat -\n[Metrics]\n"
	       "Listen=127.0.0.1:9753\n",
	       &config);
	CU_ASSERT_STRING_EQUAL(config.tell_alertmanager, "https://host:9093");
	CU_ASSERT_STRING_EQUAL(config.tell_exec, "/bin/cat -");
	refuse("[Tell]\nWebhook=ftp://host\n", "wanted a URL, http:// or https://");
	refuse("[Tell]\nExec=cat\n", "wanted a command by its absolute path");
}

/* What is refused of each key of drift, alerts, telling and metrics, and what is said. */
static const struct {
	const char *section, *key, *value, *wanted;
} wrong[] = {
	{"Drift", "Enabled", "on off", "bad value, wanted yes or no"},
	{"Drift", "Previous", "2", "bad value, wanted yes or no"},
	{"Drift", "Rolling", "0.5s", "out of range, wanted a span of time from 1s to 30d"},
	{"Drift", "Rolling", "long", "bad value, wanted a span of time from 1s to 30d"},
	{"Drift", "Baselines", "here", "wanted an absolute path"},
	{"Drift", "SamplesMin", "0", "out of range, wanted a whole number from 1 to 1000000000"},
	{"Drift", "SubjectsMax", "4097", "out of range, wanted a whole number from 1 to 4096"},
	{"Drift", "MemoryMax", "1K", "out of range, wanted a size from 1M to 4G"},
	{"Tell", "Journal", "maybe", "bad value, wanted yes or no"},
	{"Tell", "Exec", "cat", "bad value, wanted a command by its absolute path"},
	{"Tell", "Alertmanager", "host:9093", "bad value, wanted a URL, http:// or https://"},
	{"Tell", "Alertmanager", "http://", "bad value, wanted a URL, http:// or https://"},
	{"Tell", "Webhook", "https:///x", "bad value, wanted a URL, http:// or https://"},
	{"Tell", "Webhook", "http://host /x", "bad value, wanted a URL, http:// or https://"},
	{"Tell", "BearerFile", "token", "wanted an absolute path"},
	{"Tell", "CAFile", "./ca.pem", "wanted an absolute path"},
	{"Metrics", "Listen", "9753", "bad value, wanted an address and a port in numbers, as 1"},
	{"Metrics", "Listen", "localhost:9753", "bad value, wanted an address and a port"},
	{"Metrics", "Listen", "127.0.0.1:", "bad value, wanted an address and a port"},
	{"Metrics", "Listen", "127.0.0.1:65536", "bad value, wanted an address and a port"},
	{"Metrics", "Listen", "127.0.0.1.5:80", "bad value, wanted an address and a port"},
	{"Metrics", "Listen", "::1:9753", "bad value, wanted an address and a port"},
	{"Metrics", "Listen", "[::1:9753", "bad value, wanted an address and a port"},
	{"Metrics", "Listen", "[1.2.3.4]:9753", "bad value, wanted an address and a port"},
	{"Alert a", "Enabled", "always", "bad value, wanted yes or no"},
	{"Alert a", "Scope", "fleet", "bad value, wanted one of machine host release"},
	{"Alert a", "Metric", "drift", "bad value, wanted one of kl_corrected kl angle_degrees"},
	{"Alert a", "Threshold", "nan", "bad value, wanted a number from 0 to 1000"},
	{"Alert a", "Threshold", "1001", "out of range, wanted a number from 0 to 1000"},
	{"Alert a", "Hysteresis", "-0.1", "bad value, wanted a number from 0 to 1000"},
	{"Alert a", "SamplesMin", "0", "out of range, wanted a whole number from 1 to"},
	{"Alert a", "Pooled", "0", "out of range, wanted a whole number from 1 to 16"},
	{"Alert a", "Windows", "0", "out of range, wanted a whole number from 1 to 10000"},
	{"Alert a", "ResolveWindows", "1.5", "bad value, wanted a whole number from 1 to 10000"},
	{"Alert a", "CoolDown", "366d", "out of range, wanted a span of time from 1ms to 365d"},
	{"Alert a", "Binary", "", "bad value, wanted a pattern"},
	{"Alert a", "Baseline", "", "bad value, wanted a baseline: letters, digits, . _ and -"},
	{"Alert a", "Baseline", "a/b", "bad value, wanted a baseline"},
	{"Alert a", "Baseline", "..", "bad value, wanted a baseline"},
	{"Alert a", "Baseline", "a23456789012345678901234567890123456789x",
	 "too long, wanted a baseline: letters, digits, . _ and - of at most 39 bytes"},
};

static void test_wrong_values(void)
{
	char text[256], wanted[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "[%s]\n\n%s=%s\n", wrong[i].section, wrong[i].key,
			 wrong[i].value);
		snprintf(wanted, sizeof(wanted), "F:3: %s=%s: %s", wrong[i].key, wrong[i].value,
			 wrong[i].wanted);
		refuse(text, wanted);
	}
}

/* Each value is one by itself; together they are none. */
static void test_impossible_rules(void)
{
	refuse("[Tested]\nAlertShare=1%\n", "F: [Tested]: AlertShare= is of the tested sets in");
	refuse("[Alert a]\nMetric=overlap\nThreshold=1.5\n",
	       "F: [Alert a]: Threshold=1.5: overlap is from 0 to 1");
	refuse("[Alert a]\nThreshold=90.5\nMetric=angle_degrees\n",
	       "F: [Alert a]: Threshold=90.5: angle_degrees is from 0 to 90");
	refuse("[Alert slow]\nThreshold=2\n[Alert slow]\nMetric=dynamic_coverage\n",
	       "F: [Alert slow]: Threshold=2: dynamic_coverage is from 0 to 1");
	refuse("[Alert a]\nMetric=overlap\nThreshold=0.9\nHysteresis=0.2\n",
	       "F: [Alert a]: Hysteresis=0.2: the alert would never or hardly ever resolve, "
	       "overlap is from 0 to 1");
	refuse("[Alert a]\nMetric=kl\nThreshold=0.001\n",
	       "F: [Alert a]: Hysteresis=0.005: the alert would never or hardly ever resolve, kl "
	       "is");
	/* the figure would have to be 0, which it is not even for two windows that are alike */
	refuse("[Alert a]\nMetric=kl\nThreshold=0.005\n",
	       "F: [Alert a]: Hysteresis=0.005: the alert would never or hardly ever resolve, kl "
	       "is");
	refuse("[Alert a]\nMetric=angle_degrees\nThreshold=0\nHysteresis=0\n",
	       "F: [Alert a]: Hysteresis=0: the alert would never or hardly ever resolve, "
	       "angle_degrees is");
	refuse("[Drift]\nPrevious=no\n[Alert a]\nBaseline=previous\n",
	       "F: [Alert a]: Baseline=previous: there is none with Previous=no in [Drift]");
	refuse("[Tested]\nDirectory=/t\nAlertShare=0.00009%\n",
	       "F:3: AlertShare=0.00009%: out of range");
}

static void test_rules_at_their_limits(void)
{
	struct pp_config config;

	accept("[Alert a]\nMetric=overlap\nThreshold=0.9\nHysteresis=0.1\n", &config);
	accept("[Alert a]\nMetric=kl\nThreshold=0.005001\n", &config);
	accept("[Alert a]\nThreshold=0.001\n", &config);
	accept("[Drift]\nPrevious=no\n[Alert a]\nEnabled=no\nBaseline=previous\n", &config);
}

static bool is_tried(const char *section, const char *key)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (!strncmp(wrong[i].section, section, strlen(section)) &&
		    !strcmp(wrong[i].key, key))
			return true;
	return false;
}

/* Every key is tested with a wrong value, except a container's pattern: it may be any text. */
static void test_wrong_values_are_complete(void)
{
	static const char *const sections[] = {"Drift", "Tell", "Metrics"};

	for (size_t s = 0; s < 3; s++)
		for (size_t i = 0; i < pp_config_key_cnt; i++)
			if (!strcmp(pp_config_keys[i].section, sections[s]))
				CU_ASSERT_TRUE(is_tried(sections[s], pp_config_keys[i].name));
	for (size_t i = 0; i < pp_config_alert_key_cnt; i++)
		CU_ASSERT_TRUE(is_tried("Alert", pp_config_alert_keys[i].name) ||
			       !strcmp(pp_config_alert_keys[i].name, "Container"));
}

static void test_right_values(void)
{
	static const char *const right[] = {"127.0.0.1:0", "0.0.0.0:65535", "[::]:80",
					    "[fe80::1]:9753", ""};
	struct pp_config config;
	char text[128];

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		snprintf(text, sizeof(text), "[Metrics]\nListen=%s\n", right[i]);
		accept(text, &config);
		CU_ASSERT_STRING_EQUAL(config.metrics_listen, right[i]);
	}
	accept("[Alert a]\nMetric=overlap\nThreshold=1\nHysteresis=0\n[Alert b]\nThreshold=90\n"
	       "Metric=angle_degrees\n[Alert c]\nThreshold=1000\nMetric=kl\n",
	       &config);
	accept("[Alert a]\nContainer=\nBinary=/bin/*\nBaseline=v1.2_x-3\n[Tell]\nWebhook=\n"
	       "Alertmanager=https://[::1]:9093/prefix\nExec=/bin/true a b\n",
	       &config);
}

static const struct unit_test tests[] = {
	{"what is wrong for drift, alerts and telling is told by file and line", test_wrong_values},
	{"a threshold that a figure cannot reach is refused", test_impossible_rules},
	{"every key of theirs is tried", test_wrong_values_are_complete},
	{"what is right for them is taken", test_right_values},
	{"alert rules have names, and what they leave out", test_alert_rules},
	{"where alerts are told is checked", test_telling},
	{"defaults are what the table says", test_defaults},
	{"every type of value is read", test_values},
	{"byte order mark, CRLF and zero are understood", test_odd_bytes},
	{"a refusal names file and line of the first error", test_refusals_name_the_line},
	{"a refusal says what was wanted", test_refusals_say_what_was_wanted},
	{"an over-long line is refused, not cut", test_long_line},
	{"a NUL byte is refused", test_nul_byte},
	{"a bad value leaves the output alone", test_outputs_untouched},
	{"printed settings read back the same", test_print_reads_back},
	{"the default file holds every key and equals the defaults", test_default_file},
	{"rules that can just resolve are taken", test_rules_at_their_limits},
	{"a reload takes live keys and names the others", test_adopt},
	{"drop-ins apply in order of name; one bad spoils all", test_drop_ins},
	{"... and are held against each other when all were read", test_drop_ins_together},
	{"flags beat the file", test_args_beat_the_file},
	{"usage errors are found", test_args_usage},
	{"a recording's command line is taken apart", test_args_record},
	{"a recording may be of a control group", test_args_group},
	{"ranges of addresses are read", test_addresses},
	{"the database's default place follows the environment", test_db_path},
};
UNIT_SUITE(config, tests)
