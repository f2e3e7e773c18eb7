// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about the service, with its rights and not the caller's: from systemd about the unit, from
 * the kernel about its main process, and from the service's status in its database. If it is down,
 * its last line says why, and its exit status what to do.
 *
 * Source: systemctl(1) show, systemd.exec(5) for exit statuses, proc(5).
 */
#include "doctor.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../oneshot.h"
#include "../text/cleanup.h"
#include "../text/text.h"
#include "../text/unit.h"
#include "status.h"

/* The exit status for bad settings, as in sysexits.h and pathprofd(8). */
#define EXIT_SETTINGS 78
/* After so long without a burst, something keeps the service from sampling. */
#define SILENT_S 60

/* ---------------------------------------------------------------- whether it runs */

static const char *remedy(const struct unit *unit)
{
	if (unit->status && strtol(unit->status, NULL, 10) == EXIT_SETTINGS)
		return "mend the setting that it names; pathprofd --check-config shows how "
		       "it is read; then systemctl restart pathprofd";
	if (unit->result && !strcmp(unit->result, "watchdog"))
		return "journalctl -u pathprofd; a larger WatchdogSec= in a drop-in of the unit";
	return "mend it, then systemctl restart pathprofd; journalctl -u pathprofd has more";
}

static void add_starting(struct facts *facts, const char *name, const struct unit *unit)
{
	fact_value(facts_add(facts, FACT_WARN, name, "it has not said yet that it is ready",
			     "wait some seconds and ask again"),
		   "%s", unit_down(unit));
}

static void add_down(struct facts *facts, const struct unit *unit)
{
	_cleanup_free_ char *why = unit_last_words(unit);

	if (unit_is_starting(unit))
		add_starting(facts, "service", unit);
	else if (!strcmp(unit->active, "inactive"))
		fact_value(facts_add(facts, FACT_NO, "service", "nobody started it",
				     "systemctl enable --now pathprofd"),
			   "%s", unit_down(unit));
	else
		fact_value(facts_add(facts, FACT_NO, "service", why, remedy(unit)), "%s",
			   unit_down(unit));
}

/* Returns whether there is a process to examine. */
static bool add_unit(struct facts *facts, const struct unit *unit)
{
	if (strcmp(unit->load, "loaded") != 0) {
		fact_value(facts_add(facts, FACT_NO, "service",
				     "systemd does not know " UNIT_SERVICE,
				     "sudo make install, or the package pathprof"),
			   "not installed");
		return false;
	}
	if (strcmp(unit->active, "active") != 0 && strcmp(unit->active, "reloading") != 0) {
		add_down(facts, unit);
		return false;
	}
	if (unit->restarts)
		fact_value(facts_add(facts, FACT_WARN, "service",
				     "it ended by itself and was started again",
				     "journalctl -u pathprofd says why"),
			   "running, process %ld, restarted %ld times", unit->pid, unit->restarts);
	else
		fact_value(facts_add(facts, FACT_OK, "service", NULL, NULL), "running, process %ld",
			   unit->pid);
	return true;
}

/* ---------------------------------------------------------------- its rights */

/* Reads the bits after `key` in /proc/PID/status. Returns false if they are not there. */
static bool read_bits(long pid, const char *key, uint64_t *ret_bits)
{
	_cleanup_free_ char *path = ctl_printf("/proc/%ld/status", pid);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		*ret_bits = strtoull(line + strlen(key), NULL, 16);
		return true;
	}
	return false;
}

static void add_rights(struct facts *facts, long pid)
{
	static const struct {
		unsigned int cap;
		const char *name;
	} wanted[] = {
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}, {38, "CAP_PERFMON"},
		{CAP_SYS_NICE, "CAP_SYS_NICE"},     {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
		{40, "CAP_CHECKPOINT_RESTORE"},
	};
	uint64_t bits;

	if (!read_bits(pid, "CapPrm:", &bits))
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (bits >> wanted[i].cap & 1)
			continue;
		fact_value(facts_add(facts, FACT_WARN, "service rights",
				     "the unit, or a drop-in of it, does not grant it",
				     "CapabilityBoundingSet= and AmbientCapabilities= as "
				     "pathprof's own unit has them"),
			   "%s is missing", wanted[i].name);
	}
	if (bits >> CAP_SYS_ADMIN & 1)
		fact_value(facts_add(facts, FACT_NO, "service rights",
				     "it should give it up when its perf events are open",
				     "systemctl restart pathprofd, and tell its authors"),
			   "still holds CAP_SYS_ADMIN");
	else
		fact_value(facts_add(facts, FACT_OK, "service rights", NULL, NULL),
			   "CapPrm %llx, without CAP_SYS_ADMIN", (unsigned long long)bits);
}

/* ---------------------------------------------------------------- what it says of itself */

static void add_events(struct facts *facts, const json_t *members)
{
	const char *refused = daemon_status_text(members, "refused", "");
	const char *sampler = daemon_status_text(members, "sampler", "");

	if (*refused)
		fact_value(facts_add(facts, FACT_NO, "service events", refused, NULL), "refused");
	else
		fact_value(facts_add(facts, FACT_OK, "service events", NULL, NULL), "sampler %s",
			   *sampler ? sampler : "of the source's own");
}

static void add_source(struct facts *facts, const json_t *members)
{
	const char *name = daemon_status_text(members, "source", "none");
	const double deaths = daemon_status_number(members, "source_deaths", 0);

	if (!json_is_true(json_object_get(members, "source_up")))
		fact_value(facts_add(facts, FACT_NO, "service source",
				     "it ended, or could not be opened, and is tried again",
				     "journalctl -u pathprofd says why; pathprofctl doctor, run as "
				     "root, which sources can run here"),
			   "%s, down", name);
	else if (deaths > 0)
		fact_value(facts_add(facts, FACT_WARN, "service source",
				     "it ended and was opened again",
				     "journalctl -u pathprofd says why"),
			   "%s, opened again %.0f times", name, deaths);
	else
		fact_value(facts_add(facts, FACT_OK, "service source", NULL, NULL), "%s", name);
}

/* Added only after a reload that failed. */
static void add_settings(struct facts *facts, const json_t *members)
{
	const char *refused = daemon_status_text(members, "settings_refused", "");

	if (*refused)
		fact_value(
			facts_add(facts, FACT_NO, "service settings", refused,
				  "mend the line that it names, then systemctl reload pathprofd"),
			"older than the file, which could not be read again");
}

/* The most frequent reason for skipped samples, except for the budget. "": none. */
static const char *most_dropped(const json_t *drops)
{
	const char *reason, *most = "";
	double most_cnt = 0;
	json_t *cnt;

	/* jansson iterates over a non-const object; nothing is changed. */
	json_object_foreach((json_t *)drops, reason, cnt)
	{
		if (json_number_value(cnt) <= most_cnt || !strcmp(reason, "budget"))
			continue;
		most_cnt = json_number_value(cnt);
		most = reason;
	}
	return most;
}

static void add_barren(struct facts *facts, const json_t *members, double for_s)
{
	const char *reason = most_dropped(json_object_get(members, "drops"));

	fact_value(facts_add(facts, FACT_NO, "service bursts",
			     "programs run, and the source brings nothing of them",
			     "pathprofctl status counts the reasons; journalctl -u pathprofd"),
		   "none for %.0f s%s%s", for_s, *reason ? ", mostly " : "", reason);
}

static void add_bursts(struct facts *facts, const json_t *members)
{
	const json_t *drops = json_object_get(members, "drops");
	const double barren_ns = daemon_status_number(members, "barren_since_ns", 0);
	const double bursts = daemon_status_number(members, "bursts", 0);
	const double age_s = (daemon_status_number(members, "updated_ns", 0) -
			      daemon_status_number(members, "started_ns", 0)) /
			     1e9;
	const double budget = daemon_status_number(drops, "budget", 0);

	if (barren_ns > 0)
		add_barren(facts, members,
			   (daemon_status_number(members, "updated_ns", 0) - barren_ns) / 1e9);
	else if (bursts > 0 || daemon_status_number(members, "paths", 0) > 0)
		fact_value(facts_add(facts, FACT_OK, "service bursts", NULL, NULL),
			   "%.0f so far, overhead %.3f %% of a budget of %.3f %%", bursts,
			   daemon_status_number(members, "overhead_total_ratio", 0) * 100,
			   daemon_status_number(members, "budget_ratio", 0) * 100);
	else if (age_s < SILENT_S)
		fact_value(facts_add(facts, FACT_OK, "service bursts", NULL, NULL),
			   "none yet, %.0f s after its start", age_s);
	else if (budget > 0)
		fact_value(
			facts_add(facts, FACT_NO, "service bursts",
				  "a burst costs more than the budget has earned since the start",
				  "a larger Overhead= in /etc/pathprof/pathprofd.conf, then "
				  "systemctl reload pathprofd"),
			"none in %.0f s, %.0f samples passed over", age_s, budget);
	else
		fact_value(
			facts_add(facts, FACT_WARN, "service bursts",
				  "no program ran long enough to be seen, or each was left alone",
				  "pathprofctl status counts the reasons"),
			"none in %.0f s", age_s);
}

static void add_windows(struct facts *facts, const json_t *members)
{
	const double dropped = daemon_status_number(members, "windows_dropped", 0);

	if (dropped > 0)
		fact_value(facts_add(facts, FACT_NO, "service windows",
				     "the database could not be written",
				     "room on its disk; journalctl -u pathprofd says why"),
			   "%.0f lost", dropped);
	else
		fact_value(facts_add(facts, FACT_OK, "service windows", NULL, NULL), "%.0f written",
			   daemon_status_number(members, "windows", 0));
}

/* The status in the service's database, where the caller may read it. */
static void add_status(struct facts *facts, const struct ctl_options *options, long pid)
{
	_cleanup_free_ char *path = ctl_service_db_path(options);
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	struct daemon_status status = {.members = NULL};
	int r = pathprof_store_open(&store, path, PATHPROF_STORE_READ, &error);

	if (r == 0)
		r = daemon_status_read(&status, store, &error);
	if (r < 0) {
		fact_value(facts_add(facts, FACT_WARN, "service status", error.text,
				     "as root, or after sudo usermod -aG pathprof $USER and a new "
				     "login; --db FILE where Path= names another"),
			   "cannot be read");
		return;
	}
	if ((long)daemon_status_number(status.members, "pid", 0) != pid) {
		fact_value(facts_add(facts, FACT_WARN, "service status",
				     "another process wrote it last",
				     "wait some seconds; --db FILE where Path= names another"),
			   "none in %s", path);
	} else {
		add_settings(facts, status.members);
		add_source(facts, status.members);
		add_events(facts, status.members);
		add_bursts(facts, status.members);
		add_windows(facts, status.members);
	}
	daemon_status_release(&status);
}

/* ---------------------------------------------------------------- files and addresses */

/* If another user made the database, the service cannot run. */
static void add_owner(struct facts *facts, const struct ctl_options *options)
{
	_cleanup_free_ char *path = ctl_service_db_path(options);
	const struct passwd *user = getpwnam("pathprof");
	_cleanup_free_ char *change = NULL;
	struct stat status;

	if (!user) {
		fact_value(facts_add(facts, FACT_NO, "service user", "there is no user pathprof",
				     "systemd-sysusers"),
			   "missing");
		return;
	}
	if (stat(path, &status) < 0 || status.st_uid == user->pw_uid)
		return;
	change = ctl_printf("chown pathprof:pathprof %s*, then systemctl restart pathprofd", path);
	fact_value(facts_add(facts, FACT_NO, "service database",
			     "it belongs to another user, so the service cannot write it", change),
		   "%s", path);
}

/* The jobs of pathprof-relay, with the words that begin their parts of its StatusText. */
static const struct relayed {
	const char *setting, *account;
} relayed[] = {
	{"Exec=", "exec: "},
	{"Alertmanager=", "alertmanager: "},
	{"Webhook=", "webhook: "},
	{"Listen=", "/metrics "},
};

#define RELAYED_CNT (sizeof(relayed) / sizeof(relayed[0]))

/* The lines of the file with the relay's settings, each NULL or "KEY=VALUE". Returns whether there
 * are any. */
static bool find_relayed(char *ret_lines[RELAYED_CNT])
{
	_cleanup_free_ char *program = oneshot_program("pathprofd");
	_cleanup_free_ char *command = ctl_printf("'%s' --check-config 2>/dev/null", program);
	FILE *output = strchr(program, '\'') ? NULL : popen(command, "re");
	char line[4096];
	bool any = false;

	while (output && fgets(line, sizeof(line), output)) {
		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; i < RELAYED_CNT; i++) {
			size_t len = strlen(relayed[i].setting);

			if (strncmp(line, relayed[i].setting, len) != 0 || !line[len])
				continue;
			free(ret_lines[i]);
			ret_lines[i] = ctl_strdup(line);
			any = true;
		}
	}
	if (output)
		pclose(output);
	return any;
}

/*
 * Returns the account that begins with this word, or NULL. The caller frees. Accounts are separated
 * by "; ", and the relay leaves no ';' in what hooks and receivers said, though maybe such a word.
 */
static char *find_account(const char *says, const char *word)
{
	while (says && strncmp(says, word, strlen(word)) != 0) {
		says = strstr(says, "; ");
		says = says ? says + strlen("; ") : NULL;
	}
	return says ? ctl_printf("%.*s", (int)strcspn(says, ";"), says) : NULL;
}

/* Adds the account of one job from a relay that runs. */
static void add_relayed(struct facts *facts, const struct relayed *what, const char *line,
			const char *says)
{
	_cleanup_free_ char *account = find_account(says, what->account);

	if (!account)
		fact_value(facts_add(facts, FACT_WARN, "service network",
				     "pathprof-relay does not know it: it read its settings before",
				     "systemctl restart pathprof-relay"),
			   "%s", line);
	else if (strstr(account, ", fails since "))
		fact_value(facts_add(facts, FACT_NO, "service network", account,
				     "mend what is there, or the line in "
				     "/etc/pathprof/pathprofd.conf, then systemctl restart "
				     "pathprof-relay; journalctl -u pathprof-relay has more"),
			   "%s", line);
	else
		fact_value(facts_add(facts, FACT_OK, "service network", NULL, NULL), "%s, %s", line,
			   account);
}

/* If a setting made the relay end, its last line names the setting. */
static void add_relay_down(struct facts *facts, const struct unit *relay)
{
	_cleanup_free_ char *why = unit_last_words(relay);

	if (unit_is_starting(relay))
		add_starting(facts, "service relay", relay);
	else if (!strcmp(relay->active, "inactive"))
		fact_value(facts_add(facts, FACT_NO, "service relay",
				     "alerts and figures wait for it",
				     "systemctl restart pathprof-relay"),
			   "%s", unit_down(relay));
	else
		fact_value(facts_add(facts, FACT_NO, "service relay", why,
				     "change the line that it names in "
				     "/etc/pathprof/pathprofd.conf, then systemctl restart "
				     "pathprof-relay; journalctl -u pathprof-relay has more"),
			   "%s", unit_down(relay));
}

static void add_network(struct facts *facts, const struct unit *service, const char *line)
{
	if (service->network && !strcmp(service->network, "yes"))
		fact_value(facts_add(facts, FACT_NO, "service network",
				     "there is no unit " UNIT_RELAY
				     ", and the service itself has no "
				     "network (PrivateNetwork=yes)",
				     "sudo make install, or the package pathprof, which have it"),
			   "%s", line);
}

/* The service has no network and runs no programs; the relay does this for it, and so must run. */
static void add_relay(struct facts *facts, const struct unit *service)
{
	char *lines[RELAYED_CNT] = {NULL};
	struct unit relay;
	bool is_there;

	if (!find_relayed(lines))
		return;
	is_there = unit_read(&relay, UNIT_RELAY) && !strcmp(relay.load, "loaded");
	if (is_there && strcmp(relay.active, "active") != 0)
		add_relay_down(facts, &relay);
	for (size_t i = 0; i < RELAYED_CNT; i++) {
		if (lines[i] && !is_there)
			add_network(facts, service, lines[i]);
		else if (lines[i] && !strcmp(relay.active, "active"))
			add_relayed(facts, &relayed[i], lines[i], relay.text);
		free(lines[i]);
	}
	unit_release(&relay);
}

void doctor_service(struct facts *facts, const struct ctl_options *options)
{
	struct unit unit;

	if (!unit_read(&unit, UNIT_SERVICE)) {
		fact_value(facts_add(facts, FACT_NO, "service", "systemctl show does not answer",
				     "a machine that systemd runs; elsewhere pathprofctl status"),
			   "not known");
		unit_release(&unit);
		return;
	}
	if (add_unit(facts, &unit)) {
		add_rights(facts, unit.pid);
		doctor_service_oom(facts, unit.pid);
		add_status(facts, options, unit.pid);
	}
	if (!strcmp(unit.load, "loaded")) {
		add_owner(facts, options);
		add_relay(facts, &unit);
	}
	unit_release(&unit);
}
