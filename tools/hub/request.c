// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests to the hub. A request is checked before its body is read: a peer that is not known, or
 * sends too much, gets an answer and is cut off.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "peer_text.h"
#include "question.h"
#include "server.h"
#include "share.h"

#define REQUEST_NS    (120 * PP_NSEC_PER_SEC)
#define BODIES_MAX    (64u << 20)
#define ANSWERS_MAX   (48u << 20) /* share of BODIES_MAX: readers leave room for hosts */
#define RETRY_AFTER_S "5"

/* The most bytes in memory, for each tenant and each certificate: of answers to readers; of what
 * hosts send and are answered. */
static const struct hub_share answers_most = {.tenant = 32u << 20, .reader = 16u << 20};
static const struct hub_share hosts_most = {.tenant = 48u << 20, .reader = 16u << 20};

/* A request, from its headers to the end of its answer. */
struct request {
	uint64_t begin_ns;
	struct hub_peer peer;
	struct client *client;     /* NULL: the peer is not known */
	struct hub_ingest *ingest; /* its tenant's */
	struct hub_pgo_job *job;   /* NULL: none was asked for */
	struct hub_upload *upload; /* NULL: its body is not a file */
	uint8_t *body;
	size_t bytes, room; /* room: its part of bodies_bytes */
};

/* ---------------------------------------------------------------- answers */

/*
 * A client that may not ask, or finds no room, loses its connection to others. A client that made a
 * mistake keeps it: another handshake would cost the hub as much as ten refusals. libmicrohttpd
 * closes the connection by itself where the hub answers before it has read the whole body.
 */
static bool ends_connection(unsigned int status)
{
	return status == MHD_HTTP_FORBIDDEN || status == MHD_HTTP_TOO_MANY_REQUESTS ||
	       status >= MHD_HTTP_INTERNAL_SERVER_ERROR;
}

/* Frees bytes once they are sent, or at once on failure. NULL: there was no memory for them. */
static enum MHD_Result send_bytes(struct MHD_Connection *connection, unsigned int status,
				  const char *type, void *bytes, size_t len)
{
	struct MHD_Response *response = NULL;
	enum MHD_Result r = MHD_NO;

	if (bytes)
		response = MHD_create_response_from_buffer(len, bytes, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(bytes);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE || status == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S);
	if (ends_connection(status))
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	r = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, unsigned int status,
				   json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	return send_bytes(connection, status, "application/json", text, text ? strlen(text) : 0);
}

/* Refusals are for the operator as well, as far as they fill no log (refusals.h). */
static void say_refusal(struct hub *hub, struct MHD_Connection *connection,
			const struct hub_peer *peer, unsigned int status, const char *why)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	uint64_t now_ns = pp_monotonic_ns(), unsaid, key = 0;
	char who[HUB_PEER_TEXT_BYTES], others[64] = "";

	if (peer->is_proven)
		key = hub_refusals_key(peer->tenant, peer->name, status);
	if (!hub_refusals_take(&hub->refusals, key, now_ns))
		return;
	unsaid = hub_refusals_unsaid(&hub->refusals, now_ns);
	if (unsaid)
		snprintf(others, sizeof(others), " (before it %llu %s not said)",
			 (unsigned long long)unsaid,
			 pp_plural(unsaid, "refusal that is", "refusals that are"));
	hub_peer_text(who, info ? info->client_addr : NULL, peer);
	hub_note("%s: %u: %s%s", who, status, why, others);
}

static enum MHD_Result send_error(struct MHD_Connection *connection, unsigned int status,
				  const char *why)
{
	return send_answer(connection, status, json_pack("{s:o}", "error", pp_utf8_json(why)));
}

static enum MHD_Result refuse(struct hub *hub, struct MHD_Connection *connection,
			      const struct request *request, unsigned int status, const char *why)
{
	say_refusal(hub, connection, &request->peer, status, why);
	return send_error(connection, status, why);
}

static const char *error_in(const json_t *answer)
{
	const char *error = json_string_value(json_object_get(answer, "error"));

	return error ? error : "out of memory";
}

/* ---------------------------------------------------------------- room in memory */

static struct hub_owner owner_of(const struct client *client)
{
	return (struct hub_owner){client->known.peer.tenant, client->known.peer.name};
}

/* Hosts and readers have shares apart, so neither take the places of the others. */
static const char *judge_share(const struct hub_share *share, size_t bytes, bool reads)
{
	if (reads)
		return hub_share_judge(share, bytes, &answers_most);
	return hub_share_judge(share, bytes, &hosts_most)
		       ? "this host, or its tenant's hosts together, send and ask for too much at "
			 "once: try again when some of it is done"
		       : NULL;
}

/* Returns 200 if there is room for it, else another status and *ret_why. */
static unsigned int judge_room(const struct hub *hub, const struct request *request, size_t bytes,
			       const char **ret_why)
{
	const struct hub_owner owner = owner_of(request->client);
	const bool reads = request->peer.reads;
	struct hub_share share = {0, 0};
	size_t all = 0;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct hub_owner other = owner_of(&hub->clients[i]);

		if (!hub->clients[i].held_bytes || hub->clients[i].known.peer.reads != reads)
			continue;
		all += hub->clients[i].held_bytes;
		hub_share_add(&share, &owner, &other, hub->clients[i].held_bytes);
	}
	*ret_why = judge_share(&share, bytes, reads);
	if (*ret_why)
		return MHD_HTTP_TOO_MANY_REQUESTS;
	*ret_why = reads ? "too much is asked at once" : "too many parcels come at once";
	return (reads && bytes > ANSWERS_MAX - all) || bytes > BODIES_MAX - hub->bodies_bytes
		       ? MHD_HTTP_SERVICE_UNAVAILABLE
		       : MHD_HTTP_OK;
}

/* Counts the bytes until the request is over: its body is read by then, or its answer sent. */
static void take_room(struct hub *hub, struct request *request, size_t bytes)
{
	request->room += bytes;
	request->client->held_bytes += bytes;
	hub->bodies_bytes += bytes;
}

/* ---------------------------------------------------------------- bodies */

/* Returns the announced length, else `otherwise`: room is reserved before anything is read. */
static size_t told_bytes(struct MHD_Connection *connection, size_t otherwise)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_CONTENT_LENGTH);
	unsigned long long bytes;
	char *end;

	if (!text)
		return otherwise;
	errno = 0;
	bytes = strtoull(text, &end, 10);
	return errno || *end || bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

static enum MHD_Result make_room(struct hub *hub, struct MHD_Connection *connection,
				 struct request *request)
{
	size_t room = told_bytes(connection, PATHPROF_PARCEL_PACKED_MAX);
	unsigned int status;
	const char *why;

	if (room > PATHPROF_PARCEL_PACKED_MAX)
		return refuse(hub, connection, request, MHD_HTTP_CONTENT_TOO_LARGE,
			      "no parcel is larger than 4 MiB");
	status = judge_room(hub, request, room, &why);
	if (status != MHD_HTTP_OK)
		return refuse(hub, connection, request, status, why);
	request->body = malloc(room + 1);
	if (!request->body)
		return refuse(hub, connection, request, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "out of memory");
	take_room(hub, request, room);
	return MHD_YES;
}

/* An upload may take as long as its connection lasts, since it may be large. */
static enum MHD_Result take_file_part(struct hub_upload *upload, const char *part, size_t *bytes)
{
	if (!hub_upload_part(upload, part, *bytes))
		return MHD_NO;
	*bytes = 0;
	return MHD_YES;
}

static enum MHD_Result take_part(struct request *request, const char *part, size_t *bytes)
{
	if (request->upload)
		return take_file_part(request->upload, part, bytes);
	if (*bytes > request->room - request->bytes ||
	    pp_monotonic_ns() > request->begin_ns + REQUEST_NS)
		return MHD_NO;
	memcpy(request->body + request->bytes, part, *bytes);
	request->bytes += *bytes;
	*bytes = 0;
	return MHD_YES;
}

void hub_request_end(void *context, struct MHD_Connection *connection, void **state,
		     enum MHD_RequestTerminationCode code)
{
	struct hub *hub = context;
	struct request *request = *state;

	(void)connection;
	(void)code;
	if (!request)
		return;
	hub_pgo_end(hub->pgo, request->job);
	hub_upload_end(request->upload);
	hub->bodies_bytes -= request->room;
	if (request->client)
		request->client->held_bytes = 0;
	free(request->body);
	free(request);
	*state = NULL;
}

/* ---------------------------------------------------------------- requests */

static bool is(const char *have, const char *want)
{
	return strcmp(have, want) == 0;
}

/* Returns why the peer may not ask; NULL: request has its name. */
static const char *identify(struct hub *hub, struct MHD_Connection *connection,
			    struct request *request)
{
	const union MHD_ConnectionInfo *tls =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	const union MHD_ConnectionInfo *own =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *client = own ? own->socket_context : NULL;
	const char *why = "no TLS";

	if (tls && client &&
	    hub_identity_of(hub->identity, (gnutls_session_t)tls->tls_session, &client->known,
			    &request->peer, &why) == 0) {
		request->client = client;
		return NULL;
	}
	hub->denied_cnt++;
	return why;
}

enum route {
	ROUTE_HAVE,
	ROUTE_PARCELS,
	ROUTE_HOSTS,
	ROUTE_PROFILE,
	ROUTE_ALERTS,
	ROUTE_PGO,
	ROUTE_FILE,
	ROUTE_UPLOAD,
	ROUTE_CNT
};

static const struct {
	const char *url, *method;
	bool reads; /* true: for readers; false: for hosts */
	bool more;  /* the URL goes on after this */
} routes[] = {
	[ROUTE_HAVE] = {"/v1/have", MHD_HTTP_METHOD_GET, false, false},
	[ROUTE_PARCELS] = {"/v1/parcels", MHD_HTTP_METHOD_POST, false, false},
	[ROUTE_HOSTS] = {"/v1/hosts", MHD_HTTP_METHOD_GET, true, false},
	[ROUTE_PROFILE] = {"/v1/profile", MHD_HTTP_METHOD_GET, true, false},
	[ROUTE_ALERTS] = {"/v1/alerts", MHD_HTTP_METHOD_GET, true, false},
	[ROUTE_PGO] = {"/v1/pgo/", MHD_HTTP_METHOD_GET, true, true},
	[ROUTE_FILE] = {"/v1/files/", MHD_HTTP_METHOD_GET, true, true},
	[ROUTE_UPLOAD] = {"/v1/files/", MHD_HTTP_METHOD_PUT, false, true},
};

static bool is_route(enum route route, const char *url)
{
	const char *own = routes[route].url;

	return routes[route].more ? strncmp(url, own, strlen(own)) == 0 : is(url, own);
}

/* Returns the route of this URL and method, or one with the same URL and another method. */
static enum route route_of(const char *url, const char *method)
{
	enum route of_url = ROUTE_CNT;

	for (enum route route = 0; route < ROUTE_CNT; route++) {
		if (is_route(route, url) && is(method, routes[route].method))
			return route;
		if (is_route(route, url))
			of_url = route;
	}
	return of_url;
}

/* Returns why this peer may not ask that; NULL: it may. */
static const char *judge_role(enum route route, const struct hub_peer *peer)
{
	if (route == ROUTE_CNT || routes[route].reads == peer->reads)
		return NULL;
	return peer->reads ? "a reader's certificate sends nothing"
			   : "a host's certificate reads nothing";
}

static const char *behind(const char *url, enum route route)
{
	return url + strlen(routes[route].url);
}

/* ---------------------------------------------------------------- files */

static enum MHD_Result begin_upload(struct hub *hub, struct MHD_Connection *connection,
				    const char *url, struct request *request)
{
	const char *why = NULL;
	unsigned int status = hub_upload_begin(
		hub_ingest_files(request->ingest), request->peer.name, behind(url, ROUTE_UPLOAD),
		told_bytes(connection, SIZE_MAX), &request->upload, &why);

	return status == MHD_HTTP_OK ? MHD_YES : refuse(hub, connection, request, status, why);
}

static enum MHD_Result end_upload(struct hub *hub, struct MHD_Connection *connection,
				  const char *url, struct request *request)
{
	const char *why = NULL;
	unsigned int status = hub_upload_finish(request->upload, &why);

	if (status != MHD_HTTP_OK)
		return refuse(hub, connection, request, status, why);
	hub_note("%s: the file of build %s", request->peer.name, behind(url, ROUTE_UPLOAD));
	return send_answer(connection, status, json_pack("{s:s}", "taken", "added"));
}

static enum MHD_Result send_file(struct hub *hub, struct MHD_Connection *connection,
				 const char *url, const struct request *request)
{
	struct MHD_Response *response = NULL;
	enum MHD_Result r;
	const char *why = NULL;
	uint64_t bytes = 0;
	int fd = -1;
	unsigned int status =
		hub_files_open(hub_ingest_files(request->ingest), hub_ingest_store(request->ingest),
			       behind(url, ROUTE_FILE), &fd, &bytes, &why);

	if (status != MHD_HTTP_OK)
		return refuse(hub, connection, request, status, why);
	response = MHD_create_response_from_fd64(bytes, fd);
	if (!response) {
		close(fd);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/octet-stream");
	r = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return r;
}

/* ---------------------------------------------------------------- a request begins */

static enum MHD_Result begin(struct hub *hub, struct MHD_Connection *connection, const char *url,
			     const char *method, struct request *request)
{
	static const char known[] = "known here: GET /v1/have, POST /v1/parcels and PUT /v1/files/ "
				    "for hosts, GET /v1/hosts, GET /v1/profile, GET /v1/alerts, "
				    "GET /v1/pgo/ and GET /v1/files/ for readers";
	const char *why = identify(hub, connection, request);
	struct pathprof_error error = {""};
	enum route route = route_of(url, method);
	int r;

	if (!why)
		why = judge_role(route, &request->peer);
	if (why)
		return refuse(hub, connection, request, MHD_HTTP_FORBIDDEN, why);
	if (route == ROUTE_CNT)
		return refuse(hub, connection, request, MHD_HTTP_NOT_FOUND, known);
	if (!is(method, routes[route].method))
		return refuse(hub, connection, request, MHD_HTTP_METHOD_NOT_ALLOWED, known);
	r = hub_tenants_of(hub->tenants, request->peer.tenant, &request->ingest, &error);
	if (r < 0)
		return refuse(hub, connection, request,
			      r == -ENOENT ? MHD_HTTP_FORBIDDEN : MHD_HTTP_SERVICE_UNAVAILABLE,
			      error.text);
	if (route == ROUTE_UPLOAD)
		return begin_upload(hub, connection, url, request);
	return route == ROUTE_PARCELS ? make_room(hub, connection, request) : MHD_YES;
}

static const char *argument(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* ---------------------------------------------------------------- answers to readers */

/* The parcel counts as memory of the request until the reader has received it. */
static enum MHD_Result send_profile(struct hub *hub, struct MHD_Connection *connection,
				    struct request *request)
{
	const struct hub_span span = {argument(connection, "store"), argument(connection, "host"),
				      argument(connection, "since"), argument(connection, "until")};
	json_t *object = NULL;
	uint8_t *bytes = NULL;
	const char *why;
	unsigned int status = judge_room(hub, request, PATHPROF_PARCEL_PACKED_MAX, &why);
	size_t len = 0;

	if (status != MHD_HTTP_OK)
		return refuse(hub, connection, request, status, why);
	status = hub_question_profile(hub_ingest_store(request->ingest), &span, &bytes, &len,
				      &object);
	/* A host that ran nothing in that time is not a refusal. */
	if (status != MHD_HTTP_OK && status != MHD_HTTP_NOT_FOUND)
		say_refusal(hub, connection, &request->peer, status, error_in(object));
	if (status != MHD_HTTP_OK)
		return send_answer(connection, status, object);
	take_room(hub, request, len);
	return send_bytes(connection, status, "application/octet-stream", bytes, len);
}

/* A list of all hosts or all alerts is as large as the fleet, and one of slots or windows as what a
 * host sent, so it counts as a parcel does. */
static enum MHD_Result send_list(struct hub *hub, struct MHD_Connection *connection,
				 struct request *request, json_t *list)
{
	char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
	size_t len = text ? strlen(text) : 0;
	const char *why;
	unsigned int status = judge_room(hub, request, len, &why);

	json_decref(list);
	/* Trying again would not help. */
	if (len > answers_most.reader) {
		status = MHD_HTTP_CONTENT_TOO_LARGE;
		why = "the list is larger than all answers of one certificate may be: ask for "
		      "fewer hosts";
	}
	if (status != MHD_HTTP_OK) {
		free(text);
		return refuse(hub, connection, request, status, why);
	}
	take_room(hub, request, len);
	return send_bytes(connection, status, "application/json", text, len);
}

void hub_request_on_profile(struct hub_pgo_job *job)
{
	MHD_resume_connection(job->waits);
}

static bool has_etag(struct MHD_Connection *connection, const char *etag)
{
	const char *have = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						       MHD_HTTP_HEADER_IF_NONE_MATCH);

	return have && (strstr(have, etag) || is(have, "*"));
}

/* The bytes are the job's, which lives as long as the request. */
static enum MHD_Result send_pgo(struct MHD_Connection *connection, const struct hub_pgo_job *job)
{
	bool same = has_etag(connection, job->etag);
	struct MHD_Response *response = MHD_create_response_from_buffer(
		same ? 0 : job->len, same ? NULL : job->bytes, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, job->etag);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "private, no-cache");
	MHD_add_response_header(response, "Pathprof-Build-Id", job->build_id);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/octet-stream");
	r = MHD_queue_response(connection, same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return r;
}

/* label=KEY=VALUE, as often as need be, labels=LIST, and group=NAME, which is a label. */
static enum MHD_Result take_label(void *context, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	char label[PATHPROF_LABELS_BYTES];
	char *labels = context;
	bool is_group = is(name, "group");
	int len;

	(void)kind;
	if (!is_group && !is(name, "label") && !is(name, "labels"))
		return MHD_YES;
	len = snprintf(label, sizeof(label), "%s%s", is_group ? PATHPROF_LABEL_GROUP "=" : "",
		       value ? value : "");
	if (!value || !*value || len < 0 || (size_t)len >= sizeof(label) ||
	    pathprof_labels_add(labels, label) < 0) {
		labels[0] = 0;
		return MHD_NO;
	}
	return MHD_YES;
}

/* Returns false if the labels are invalid. */
static bool take_labels(struct MHD_Connection *connection, char labels[PATHPROF_LABELS_BYTES])
{
	static const char *const names[] = {"label", "labels", "group"};
	bool is_asked = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		is_asked |= argument(connection, names[i]) != NULL;
	labels[0] = 0;
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_label, labels);
	return !is_asked || labels[0];
}

static unsigned int begin_pgo(struct hub *hub, struct MHD_Connection *connection, const char *url,
			      struct request *request, const char **ret_why)
{
	struct hub_pgo_question question = {.reader = request->peer.name,
					    .binary = behind(url, ROUTE_PGO),
					    .format = argument(connection, "format"),
					    .since = argument(connection, "since"),
					    .until = argument(connection, "until"),
					    .host = argument(connection, "host"),
					    .workload = argument(connection, "workload"),
					    .release = argument(connection, "release")};

	*ret_why = "label= is KEY=VALUE, a key has one value; group= is the value of one; a + is "
		   "a blank here, write %2B";
	if (!take_labels(connection, question.labels))
		return MHD_HTTP_BAD_REQUEST;
	return hub_pgo_begin(hub->pgo, request->ingest, &question, connection, &request->job,
			     ret_why);
}

/* This function is called again when the profile is there; until then the connection is
 * suspended. */
static enum MHD_Result answer_pgo(struct hub *hub, struct MHD_Connection *connection,
				  const char *url, struct request *request)
{
	const char *why = NULL;
	unsigned int status = MHD_HTTP_OK;

	if (!request->job)
		status = begin_pgo(hub, connection, url, request, &why);
	if (status != MHD_HTTP_OK)
		return refuse(hub, connection, request, status, why);
	if (!request->job->is_done) {
		MHD_suspend_connection(connection);
		return MHD_YES;
	}
	if (request->job->status != MHD_HTTP_OK)
		return refuse(hub, connection, request, request->job->status,
			      request->job->bytes ? request->job->bytes : "out of memory");
	status = judge_room(hub, request, request->job->len, &why);
	if (status != MHD_HTTP_OK)
		return refuse(hub, connection, request, status, why);
	take_room(hub, request, request->job->len);
	return send_pgo(connection, request->job);
}

static enum MHD_Result finish(struct hub *hub, struct MHD_Connection *connection, const char *url,
			      const char *method, struct request *request)
{
	const char *name = request->peer.name;
	enum route route = route_of(url, method);
	json_t *answer = NULL;
	unsigned int status;

	if (route == ROUTE_PROFILE)
		return send_profile(hub, connection, request);
	if (route == ROUTE_PGO)
		return answer_pgo(hub, connection, url, request);
	if (route == ROUTE_FILE)
		return send_file(hub, connection, url, request);
	if (route == ROUTE_UPLOAD)
		return end_upload(hub, connection, url, request);
	if (route == ROUTE_HOSTS)
		status = hub_question_hosts(hub_ingest_store(request->ingest),
					    argument(connection, "host"),
					    argument(connection, "labels"), &answer);
	else if (route == ROUTE_ALERTS)
		status = hub_alerts_answer(hub_ingest_store(request->ingest), &answer);
	else if (route == ROUTE_HAVE)
		status = hub_ingest_have(request->ingest, name, argument(connection, "store"),
					 argument(connection, "slot"), &answer);
	else
		status = hub_ingest_parcel(request->ingest, name, request->body, request->bytes,
					   &answer);
	if (status != MHD_HTTP_OK)
		say_refusal(hub, connection, &request->peer, status, error_in(answer));
	else if (route != ROUTE_PARCELS)
		return send_list(hub, connection, request, answer);
	return send_answer(connection, status, answer);
}

enum MHD_Result hub_request(void *context, struct MHD_Connection *connection, const char *url,
			    const char *method, const char *version, const char *part,
			    size_t *part_bytes, void **state)
{
	struct hub *hub = context;
	struct request *request = *state;

	(void)version;
	if (!request) {
		request = calloc(1, sizeof(*request));
		if (!request)
			return MHD_NO;
		request->begin_ns = pp_monotonic_ns();
		*state = request;
		return begin(hub, connection, url, method, request);
	}
	if (*part_bytes)
		return take_part(request, part, part_bytes);
	return finish(hub, connection, url, method, request);
}
