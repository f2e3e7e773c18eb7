// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprof-relay: its command line, its signals, and what systemd is told. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/children.h"
#include "base/cleanup.h"
#include "../../daemon/shared/config.h"
#include "../../daemon/shared/log.h"
#include "relay.h"

#define SERVICE_DB   "/var/lib/pathprof/profile.db"
#define STATE_SUFFIX ".relay"
#define FINISH_MS    5000

static const char usage[] =
	"Usage: pathprof-relay [-c FILE] [--db FILE] [--state DIRECTORY]\n"
	"\n"
	"Tells pathprofd's alerts to programs and receivers on the network, and serves its\n"
	"figures to Prometheus, as pathprofd's settings say. It stays in the foreground.\n"
	"\n"
	"  -c, --config FILE      settings (default " PP_CONFIG_FILE ")\n"
	"      --db FILE          pathprofd's database\n"
	"      --state DIRECTORY  where it notes what was told (the database's path and\n"
	"                         " STATE_SUFFIX ")\n"
	"  -h, --help             this text\n"
	"  -V, --version          version\n";

struct options {
	const char *config, *db, *state;
};

enum { OPTION_DB = 256, OPTION_STATE };

static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"db", required_argument, NULL, OPTION_DB},
	{"state", required_argument, NULL, OPTION_STATE},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static int print(const char *text)
{
	fputs(text, stdout);
	if (fflush(stdout) == 0)
		return 0;
	fprintf(stderr, "pathprof-relay: standard output: %s\n", strerror(errno));
	return 1;
}

/* Returns the exit status, or -1 to go on. */
static int read_options(struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "c:hV", long_options, NULL)) != -1)
		switch (option) {
		case 'c':
			options->config = optarg;
			break;
		case OPTION_DB:
			options->db = optarg;
			break;
		case OPTION_STATE:
			options->state = optarg;
			break;
		case 'h':
			return print(usage);
		case 'V':
			return print("pathprof-relay " PATHPROF_VERSION "\n");
		default:
			return PP_EXIT_USAGE;
		}
	if (optind == argc)
		return -1;
	fprintf(stderr, "pathprof-relay: %s: unexpected argument\n", argv[optind]);
	return PP_EXIT_USAGE;
}

/* ---------------------------------------------------------------- settings */

static int read_settings(const struct options *options, struct pp_config *ret_config,
			 struct pathprof_error *error)
{
	const char *file = options->config ? options->config : PP_CONFIG_FILE;
	int r;

	pp_config_defaults(ret_config);
	r = pp_config_load(ret_config, file, options->config != NULL, error);
	if (r == 0 && options->db)
		r = pp_config_set(ret_config, "Store", "Path", options->db, error);
	return r;
}

/* systemd's directory for a service is this one's own, so the database is where pathprofd's is. */
static int find_database(const struct pp_config *config, char *ret_path, size_t size,
			 struct pathprof_error *error)
{
	int r;

	if (!config->db_path[0] && getenv("STATE_DIRECTORY")) {
		snprintf(ret_path, size, "%s", SERVICE_DB);
		return 0;
	}
	r = pp_config_db_path(config, ret_path, size);
	return r < 0 ? pathprof_fail(error, r, "no place for the database: give --db FILE") : 0;
}

static int find_state(const struct options *options, const char *database, char *ret_path,
		      size_t size, struct pathprof_error *error)
{
	const char *state = options->state ? options->state : getenv("STATE_DIRECTORY");
	int len = state ? snprintf(ret_path, size, "%s", state)
			: snprintf(ret_path, size, "%s%s", database, STATE_SUFFIX);

	return len < 0 || (size_t)len >= size
		       ? pathprof_fail(error, -ENAMETOOLONG, "--state: name too long")
		       : 0;
}

/* ---------------------------------------------------------------- running */

static int fail(const struct pathprof_error *error, int status)
{
	pp_log(LOG_ERR, "%s", error->text);
	sd_notifyf(0, "STATUS=%s", error->text);
	return status;
}

/* Errors that another try cannot mend. */
static bool is_final(int code)
{
	switch (code) {
	case -EACCES:
	case -EAFNOSUPPORT:
	case -EINVAL:
	case -ELOOP:
	case -ENOENT:
	case -ENOTDIR:
	case -E2BIG:
	case -ENAMETOOLONG:
		return true;
	default:
		return false;
	}
}

static int idle(void)
{
	static const char why[] = "nothing to do: pathprofd.conf sets none of Exec=, "
				  "Alertmanager=, Webhook= and Listen=";

	pp_log(LOG_INFO, "%s", why);
	sd_notifyf(0, "READY=1\nSTATUS=%s", why);
	return 0;
}

static int open_loop(sd_event **ret_event)
{
	static const int ends[] = {SIGTERM, SIGINT};
	int r;
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	pp_children_leave_status(NULL);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r = sd_event_new(ret_event);
	if (r >= 0)
		r = sd_event_set_watchdog(*ret_event, true);
	/* without a handler the loop ends */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && r >= 0; i++)
		r = sd_event_add_signal(*ret_event, NULL, ends[i], NULL, NULL);
	return r;
}

static void free_event(sd_event **event)
{
	sd_event_unref(*event);
}

static int serve(const struct pp_config *config, const char *database, const char *state)
{
	_cleanup_(free_event) sd_event *event = NULL;
	struct pathprof_error error = {""};
	struct pp_relay *relay = NULL;
	int r = open_loop(&event);

	if (r >= 0)
		r = pp_relay_new(&relay, event, config, database, state, &error);
	if (r < 0) {
		if (!error.text[0])
			pathprof_fail(&error, r, "%s", strerror(-r));
		return fail(&error, is_final(r) ? PP_EXIT_CONFIG : 1);
	}
	pp_log(LOG_INFO, "relaying what is in %s", database);
	sd_notify(0, "READY=1");
	r = sd_event_loop(event);
	sd_notify(0, "STOPPING=1");
	pp_relay_free(relay, FINISH_MS);
	return r < 0;
}

int main(int argc, char **argv)
{
	char database[PP_CONFIG_PATH_MAX], state[PP_CONFIG_PATH_MAX];
	struct options options = {NULL};
	struct pathprof_error error = {""};
	struct pp_config config;
	int r = read_options(&options, argc, argv);

	if (r >= 0)
		return r;
	pp_log_set_program("pathprof-relay");
	pp_log_init(LOG_INFO);
	if (read_settings(&options, &config, &error) < 0)
		return fail(&error, PP_EXIT_CONFIG);
	if (!pp_relay_is_wanted(&config))
		return idle();
	if (find_database(&config, database, sizeof(database), &error) < 0 ||
	    find_state(&options, database, state, sizeof(state), &error) < 0)
		return fail(&error, PP_EXIT_CONFIG);
	return serve(&config, database, state);
}
