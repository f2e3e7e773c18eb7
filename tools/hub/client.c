// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests to a hub: see client.h. */
#include "client.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vector.h"

#define ANSWER_MAX    (16u << 20)
#define CONNECT_S     10L
#define REQUEST_S     120L
#define FILE_S        290L /* less than the time after which the hub ends any connection */
#define RETRY_AFTER_S 3600

/* Whether it has a host, and a port that there is. */
static bool is_url(const char *text)
{
	CURLU *parts = curl_url();
	bool good = !parts || curl_url_set(parts, CURLUPART_URL, text, 0) == CURLUE_OK;

	curl_url_cleanup(parts);
	return good;
}

int hub_client_check(const struct hub_options *options)
{
	if (!options->db || !options->hub || !options->certificate || !options->key || !options->ca)
		return hub_usage(options, "--db, --hub, --cert, --key and --ca are needed");
	if (strncmp(options->hub, "https://", strlen("https://")) != 0 || !is_url(options->hub))
		return hub_usage(options, "--hub %s: not https://HOST:PORT", options->hub);
	return HUB_OK;
}

static size_t take_answer(char *part, size_t size, size_t cnt, void *context)
{
	struct hub_answer *answer = context;
	size_t bytes = size * cnt;

	if (bytes > ANSWER_MAX - answer->bytes ||
	    pp_resize(&answer->text, answer->bytes + bytes + 1) < 0)
		return 0;
	memcpy(answer->text + answer->bytes, part, bytes);
	answer->bytes += bytes;
	answer->text[answer->bytes] = 0;
	return bytes;
}

int hub_client_open(struct hub_client *ret_client, const struct hub_options *options)
{
	CURL *curl = curl_easy_init();

	*ret_client = (struct hub_client){.options = options, .curl = curl};
	if (!curl)
		return -ENOMEM;
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, ret_client->why);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_3);
	curl_easy_setopt(curl, CURLOPT_CAINFO, options->ca);
	curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(curl, CURLOPT_SSLCERT, options->certificate);
	curl_easy_setopt(curl, CURLOPT_SSLKEY, options->key);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, REQUEST_S);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "pathprof-hub/" PATHPROF_VERSION);
	return 0;
}

void hub_client_close(struct hub_client *client)
{
	if (client->curl)
		curl_easy_cleanup(client->curl);
	client->curl = NULL;
}

static void set_body(CURL *curl, const void *body, size_t bytes)
{
	if (!body) {
		curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
		return;
	}
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
}

/* A path is appended to the address, so slashes at its end are dropped. */
static size_t address_bytes(const char *hub)
{
	size_t bytes = strlen(hub);

	while (bytes && hub[bytes - 1] == '/')
		bytes--;
	return bytes;
}

/* The options for the body and for the output are set already. */
static void perform(struct hub_client *client, const char *path, struct hub_answer *ret_answer)
{
	_cleanup_free_ char *url = NULL;
	curl_off_t retry_after_s = 0;

	*ret_answer = (struct hub_answer){NULL, 0, 0, 0};
	client->why[0] = 0;
	client->code = CURLE_OUT_OF_MEMORY;
	if (asprintf(&url, "%.*s%s", (int)address_bytes(client->options->hub), client->options->hub,
		     path) < 0) {
		url = NULL;
		return;
	}
	curl_easy_setopt(client->curl, CURLOPT_URL, url);
	client->code = curl_easy_perform(client->curl);
	if (client->code != CURLE_OK)
		return;
	curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &ret_answer->status);
	curl_easy_getinfo(client->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
	ret_answer->retry_after_s =
		retry_after_s < RETRY_AFTER_S ? (long)retry_after_s : RETRY_AFTER_S;
}

void hub_client_ask(struct hub_client *client, const char *path, const void *body, size_t bytes,
		    struct hub_answer *ret_answer)
{
	curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, ret_answer);
	set_body(client->curl, body, bytes);
	perform(client, path, ret_answer);
}

/* ---------------------------------------------------------------- files */

static size_t give_part(char *part, size_t size, size_t cnt, void *context)
{
	ssize_t n = read(*(const int *)context, part, size * cnt);

	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

void hub_client_put(struct hub_client *client, const char *path, int fd, uint64_t bytes,
		    struct hub_answer *ret_answer)
{
	CURL *curl = client->curl;

	curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret_answer);
	curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_part);
	curl_easy_setopt(curl, CURLOPT_READDATA, &fd);
	curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, FILE_S);
	perform(client, path, ret_answer);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, REQUEST_S);
	curl_easy_setopt(curl, CURLOPT_UPLOAD, 0L);
}

struct saving {
	struct hub_client *client;
	struct hub_answer *answer;
	int fd;
	uint64_t left_bytes;
};

static size_t save_part(char *part, size_t size, size_t cnt, void *context)
{
	struct saving *saving = context;
	long status = 0;

	curl_easy_getinfo(saving->client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return take_answer(part, size, cnt, saving->answer);
	if (size * cnt > saving->left_bytes ||
	    write(saving->fd, part, size * cnt) != (ssize_t)(size * cnt))
		return 0;
	saving->left_bytes -= size * cnt;
	return size * cnt;
}

void hub_client_save(struct hub_client *client, const char *path, int fd, uint64_t most_bytes,
		     struct hub_answer *ret_answer)
{
	struct saving saving = {client, ret_answer, fd, most_bytes};
	CURL *curl = client->curl;

	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, save_part);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &saving);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, FILE_S);
	set_body(curl, NULL, 0);
	perform(client, path, ret_answer);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, REQUEST_S);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
}

void hub_answer_release(struct hub_answer *answer)
{
	free(answer->text);
	answer->text = NULL;
}

json_t *hub_answer_json(const struct hub_answer *answer)
{
	return answer->text ? json_loadb(answer->text, answer->bytes, 0, NULL) : NULL;
}

/* libcurl does not name the file that it cannot read. */
static bool say_unreadable(const struct hub_client *client, const char *what)
{
	const struct hub_options *o = client->options;
	const char *const files[][2] = {
		{"--ca", o->ca}, {"--cert", o->certificate}, {"--key", o->key}};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (access(files[i][1], R_OK) < 0) {
			hub_note("%s: %s: %s %s: %s", o->hub, what, files[i][0], files[i][1],
				 strerror(errno));
			return true;
		}
	return false;
}

/* Nor does it say of a key that it is another certificate's. */
static bool say_mismatch(const struct hub_client *client, const char *what)
{
	const struct hub_options *o = client->options;
	gnutls_certificate_credentials_t pair;
	int r;

	if ((client->code != CURLE_SSL_CERTPROBLEM && client->code != CURLE_SSL_CONNECT_ERROR) ||
	    gnutls_certificate_allocate_credentials(&pair) < 0)
		return false;
	r = gnutls_certificate_set_x509_key_file(pair, o->certificate, o->key, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(pair);
	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		hub_note("%s: %s: --key %s is not the key of --cert %s: give the two files that "
			 "were made together",
			 o->hub, what, o->key, o->certificate);
	else if (r < 0)
		hub_note("%s: %s: --cert %s and --key %s: %s", o->hub, what, o->certificate, o->key,
			 gnutls_strerror(r));
	return r < 0;
}

void hub_client_say(const struct hub_client *client, const char *what,
		    const struct hub_answer *answer)
{
	const char *hub = client->options->hub;
	json_t *object = hub_answer_json(answer);
	const char *error = json_string_value(json_object_get(object, "error"));

	if (answer->status)
		hub_note("%s: %s: status %ld%s%s", hub, what, answer->status, error ? ": " : "",
			 error ? error : "");
	else if (!say_unreadable(client, what) && !say_mismatch(client, what))
		hub_note("%s: %s: %s", hub, what,
			 client->why[0] ? client->why : curl_easy_strerror(client->code));
	json_decref(object);
}
