/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state that the files service*.c share. Everything is owned by the event loop's thread. */
#ifndef PP_SERVICE_STATE_H
#define PP_SERVICE_STATE_H

#include <stdbool.h>

#include "allowance.h"
#include "busy.h"
#include "shared/log.h"
#include "pathprof/store.h"
#include "service.h"
#include "source.h"
#include "track/track.h"
#include "window/window.h"

/* Rates and overhead are measured between two such marks. */
struct pp_mark {
	uint64_t time_ns;
	uint64_t bursts, branches, paths, clock_samples;
	uint64_t user_ns;  /* that programs ran user code, or were held in it; 0: not known */
	uint64_t spent_ns; /* targets held, and CPU time of all our processes */
};

/* The costs of profiling since the daemon was started. */
struct pp_costs {
	uint64_t held_ns;       /* targets held */
	uint64_t source_cpu_ns; /* of a source in a process of its own; else it is the daemon's */
	uint64_t daemon_cpu_ns; /* this process, and its children that read files */
	uint64_t tracker_cpu_ns, outlet_cpu_ns, naming_cpu_ns; /* of the daemon's: see status */
};

struct pp_clock;
struct pp_drift;
struct pp_tested_alerts;
struct pp_tested_sets;
struct pp_outlet;
struct pp_tables;
struct pp_values;

struct pp_service {
	struct pp_config config;
	pid_t only_pid;
	bool started;  /* everything was opened */
	bool finished; /* the last window is written */
	char db_path[PP_CONFIG_PATH_MAX];
	sd_event *event;
	struct pathprof_store *store;
	struct pp_track *track;
	struct pp_window *window;
	sd_event_source *track_event, *window_timer, *status_timer, *exit_timer;

	struct pp_resolver resolver; /* the tracker, as source and window ask it */
	const struct pp_source_ops *source_ops;
	size_t source_rank;       /* among those there are, best first */
	struct pp_source *source; /* NULL while it is down */
	sd_event_source *source_event, *reopen_timer;
	uint64_t reopen_wait_ns;
	struct pp_source_stats source_seen; /* what the windows were told so far */
	struct pp_source_counter source_counters[PP_SOURCE_COUNTER_MAX]; /* of source_seen */
	char source_sampler[64];
	uint64_t source_deaths;
	struct pp_cpu_clock *events; /* the stepper's, NULL: it opens its own */
	int events_code;             /* why they could not be opened for CPUs that came; 0 */
	int opener_fd; /* who opens breakpoints for steppers (step_opener.h); 0: they do */

	struct pp_clock *clock; /* NULL: switched off, or refused */
	int clock_code;         /* why: -EACCES or -EPERM of perf_event_open; 0: not refused */
	sd_event_source *clock_timer;

	uint64_t track_lost_seen;
	int64_t started_ns; /* CLOCK_REALTIME */
	unsigned int cpu_cnt;

	struct pathprof_totals sum;                     /* of all closed windows */
	struct pp_mark start, window_begin, rate_begin; /* start: when all was open */
	uint64_t start_cpu_ns;                          /* CPU time until then */
	struct pp_allowance allowance;
	struct pp_busy busy;
	double overhead_ratio, overhead_total_ratio;
	double bursts_per_s, branches_per_s, paths_per_s;
	uint64_t clock_own_cnt;    /* samples of the last reading: of what is profiled */
	uint64_t user_ns;          /* see struct pp_mark */
	uint64_t stat_user_ns;     /* /proc/stat's less ours, the most so far; 0: not read */
	struct pp_mark last_fruit; /* when a burst or a path came last */
	uint64_t barren_since_ns;  /* CLOCK_MONOTONIC: programs ran, and none came; 0: fine */
	bool price_told;           /* that the budget seldom earns a burst */

	uint64_t windows_stored, windows_dropped, windows_removed;
	uint64_t retained_ns;   /* CLOCK_MONOTONIC of the last retention */
	int64_t clock_ahead_ns; /* CLOCK_REALTIME less CLOCK_BOOTTIME at the last window */
	uint64_t clock_set_ns;  /* CLOCK_MONOTONIC when that had changed; 0: never */
	struct pp_log_seen store_trouble, status_trouble;
	struct pp_log_seen retain_trouble,
		part_trouble; /* of retention; of what goes with windows */

	unsigned int told_refused; /* what the log has of refused events */
	bool rights_settled;       /* the right to open them is gone: service_rights.c */
	uint64_t rights_settled_ns;
	bool had_right;     /* before; with another start it has it again */
	bool had_breaks;    /* perf's breakpoints, from the source */
	char refused[1024]; /* the last such line */

	struct pp_values *values;      /* NULL: not asked for */
	struct pp_tables *tables;      /* of frames, to find callers with; NULL: not wanted */
	struct pp_drift *drift;        /* NULL: switched off, or a recording */
	struct pp_tested_sets *tested; /* NULL: none are wanted, or a recording */
	struct pp_tested_alerts *tested_alerts; /* NULL: a recording */
	struct pp_outlet *outlet;               /* NULL: a recording */
	uint64_t relay_seen_ns; /* CLOCK_MONOTONIC when it was there, or not needed */
	bool relay_missed;      /* and that was said */
	/* why the last reload left the settings as they were; empty: it did not */
	struct pathprof_error settings_refused;
};

/* pp_service_new() with this source; NULL: the one that config names. */
int pp_service_new_from(struct pp_service **ret_service, const struct pp_config *config,
			pid_t only_pid, const struct pp_source_ops *source,
			struct pathprof_error *error);

/* service_source.c */
int pp_service_pick_source(struct pp_service *service, struct pathprof_error *error);
int pp_service_open_source(struct pp_service *service, struct pathprof_error *error);
/* The one picked; while it cannot be opened, the next best. */
int pp_service_open_first_source(struct pp_service *service, struct pathprof_error *error);
/* Records that have come go into the open window; a source that has died is opened again later. */
void pp_service_drain_source(struct pp_service *service);
/* Before a window ends: also what is still being counted. */
void pp_service_flush_source(struct pp_service *service);
/* Whether paths come as counts, those of PATHPROF_MAPPING_WPP. */
bool pp_service_compresses(const struct pp_service *service);
void pp_service_close_source(struct pp_service *service);
/* Tells the open window what the source and the tracker did since the last time. */
void pp_service_account(struct pp_service *service);
/* Opens the stepper's events anew, and the source with them, where CPUs have come. */
void pp_service_renew_events(struct pp_service *service);
void pp_service_configure_source(struct pp_service *service);
/* Instructions a burst of the picked source; 0: it counts taken branches. */
uint32_t pp_service_horizon(const struct pp_service *service);

/* service_rights.c: the right to open perf events where the kernel asks for more than CAP_PERFMON.
 */
/* Before any event is opened: gives it up at once where it is not needed. */
int pp_service_begin_rights(struct pp_service *service, struct pathprof_error *error);
/* When all events are open: gives it up for good. */
int pp_service_settle_rights(struct pp_service *service, struct pathprof_error *error);
/* Ends the service, for another start, where CPUs came that take the right that was given up. */
void pp_service_start_anew(struct pp_service *service);
/* Tells once in the log which events are refused, why, and what to do. */
void pp_service_tell_refused(struct pp_service *service);

/* service_clock.c */
/* When there can be none it is told in the log, and the service goes on. */
void pp_service_open_clock(struct pp_service *service);
/* Puts the clock's samples so far into the open window: now and then, and before it closes. */
void pp_service_read_clock(struct pp_service *service);
void pp_service_close_clock(struct pp_service *service);

/* service_store.c */
int pp_service_open_store(struct pp_service *service, struct pathprof_error *error);
void pp_service_store_window(struct pp_service *service);
void pp_service_store_status(struct pp_service *service, const char *json);

/* service_drift.c: after the store was opened, before it is closed. */
int pp_service_open_drift(struct pp_service *service, struct pathprof_error *error);
void pp_service_close_drift(struct pp_service *service);
void pp_service_configure_drift(struct pp_service *service);
/* The settings that are pathprof-relay's work, as "Exec=, Listen=". */
#define PP_RELAY_SETTINGS_MAX 64
void pp_service_relay_settings(const struct pp_config *config, char *ret_text, size_t size);
/* "connected", "missing", "not needed". */
const char *pp_service_relay(const struct pp_service *service);
/* Now and then: says once when the settings need a relay and none comes. */
void pp_service_miss_relay(struct pp_service *service);

/* service_costs.c: what the kernel accounts to our processes, and the time targets are held. */
struct pp_costs pp_service_costs(const struct pp_service *service);
uint64_t pp_costs_cpu_ns(const struct pp_costs *costs);
/* CPUs online; 1 where that cannot be told. */
unsigned int pp_service_cpus_online(void);
/* From here on the daemon's CPU time is paid for. */
void pp_service_begin_budget(struct pp_service *service);
/* Every two seconds: the source gets what the daemon's own CPU time leaves of the budget. */
void pp_service_share_budget(struct pp_service *service);
/* The source's budget at this moment, as a share of all CPUs' time. */
uint64_t pp_service_source_ppm(const struct pp_service *service);

/* service_bursts.c */
/* Whether bursts should have come between the two, where none did. */
bool pp_mark_is_barren(const struct pp_mark *since, const struct pp_mark *now,
		       double burst_every_s);
void pp_service_look_for_bursts(struct pp_service *service, const struct pp_mark *now);
/* How long the budget takes to earn a burst; 0: the source does not pay by the burst. */
double pp_service_burst_every_s(const struct pp_service *service);
/* Says once in the log that this is long. */
void pp_service_warn_price(struct pp_service *service);

/* service_metrics.c: for the endpoint, pathprof_* but drift's. */
void pp_service_metrics(struct pp_service *service, FILE *to);

/* service_status.c */
/* A mark of now: everything since the start. */
struct pp_mark pp_service_mark(const struct pp_service *service);
/* Call when a window has been closed, with the mark of its end. */
void pp_service_measure_window(struct pp_service *service, const struct pp_mark *end);
/* Writes the status row and systemd's status line. */
void pp_service_report(struct pp_service *service);

#endif
