// SPDX-License-Identifier: GPL-2.0-or-later
/* Certificates of clients: see identity.h. */
#include "identity.h"

#include <ctype.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vector.h"

/* Certificates of a chain, from the client's own on. */
#define CHAIN_MAX  8
#define URI_MAX    512
#define SPIFFE     "spiffe://"
#define DENIED_MAX 100000
/* The time for which a check of a client holds at most. A certificate of the authority may end
 * earlier unnoticed; the end of a certificate in the client's chain is known. */
#define KNOWN_S 60
/* The pause between two tries to read a file that cannot be read. Each try is logged. */
#define RETRY_NS (10 * PP_NSEC_PER_SEC)

/* The state of a file, to notice changes. All zero: none was read. */
struct stamp {
	struct timespec time;
	off_t size_bytes;
	ino_t inode;
};

/* A file that is read again when it changes. */
struct watched {
	struct stamp read, failed; /* as it was when it was read, and when it could not be */
	uint64_t retry_ns;         /* a file that stayed as it failed is not tried before */
};

struct names {
	char **list;
	size_t cnt;
};

struct hub_identity {
	const struct hub_options *options;
	gnutls_x509_trust_list_t trusted;
	uint64_t trusted_since; /* grows when the list is read again */
	struct watched crl, denied;
	struct names denied_names;
};

/* ---------------------------------------------------------------- what is read */

static int read_trusted(struct hub_identity *identity, struct pathprof_error *error)
{
	const struct hub_options *options = identity->options;
	gnutls_x509_trust_list_t list;
	int r = gnutls_x509_trust_list_init(&list, 0);

	if (r < 0)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	/* GnuTLS would ignore a list that is not valid now, and so accept the certificates it
	 * revokes. */
	r = gnutls_x509_trust_list_add_trust_file(
		list, options->ca, options->crl, GNUTLS_X509_FMT_PEM,
		options->crl ? GNUTLS_TL_VERIFY_CRL | GNUTLS_TL_FAIL_ON_INVALID_CRL : 0, 0);
	if (r <= 0) {
		gnutls_x509_trust_list_deinit(list, 1);
		return pathprof_fail(error, -EINVAL, "%s%s%s: %s%s", options->ca,
				     options->crl ? " and " : "", options->crl ? options->crl : "",
				     r < 0 ? gnutls_strerror(r) : "no certificate in it",
				     r == GNUTLS_E_CRL_VERIFICATION_ERROR
					     ? ": is the list out of date, or another authority's?"
					     : "");
	}
	if (identity->trusted)
		gnutls_x509_trust_list_deinit(identity->trusted, 1);
	identity->trusted = list;
	identity->trusted_since++;
	return 0;
}

static void forget_names(struct names *names)
{
	for (size_t i = 0; i < names->cnt; i++)
		free(names->list[i]);
	free(names->list);
	*names = (struct names){0};
}

static int add_name(struct names *names, const char *line)
{
	char *copy = names->cnt < DENIED_MAX ? strdup(line) : NULL;

	if (!copy || pp_resize(&names->list, names->cnt + 1) < 0) {
		free(copy);
		return names->cnt < DENIED_MAX ? -ENOMEM : -E2BIG;
	}
	names->list[names->cnt++] = copy;
	return 0;
}

static void trim(char *line)
{
	size_t len = strlen(line);

	while (len && isspace((unsigned char)line[len - 1]))
		line[--len] = 0;
}

static int read_names(FILE *file, struct names *ret_names)
{
	char line[HUB_TENANT_BYTES + PATHPROF_PARCEL_HOST_BYTES + 2];
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), file)) {
		trim(line);
		if (line[0] && line[0] != '#')
			r = add_name(ret_names, line);
	}
	return r == 0 && ferror(file) ? -EIO : r;
}

/* Keeps the names of before unless the whole file was read. */
static int read_denied(struct hub_identity *identity, struct pathprof_error *error)
{
	_cleanup_fclose_ FILE *file = fopen(identity->options->denied, "re");
	struct names names = {0};
	int r = file ? read_names(file, &names) : -errno;

	if (r < 0) {
		forget_names(&names);
		return pathprof_fail(error, r, "%s: %s", identity->options->denied, strerror(-r));
	}
	forget_names(&identity->denied_names);
	identity->denied_names = names;
	return 0;
}

static bool is_same(const struct stamp *a, const struct stamp *b)
{
	return a->time.tv_sec == b->time.tv_sec && a->time.tv_nsec == b->time.tv_nsec &&
	       a->size_bytes == b->size_bytes && a->inode == b->inode;
}

/* Whether the file is to be read now. A file that cannot be examined counts as unchanged. */
static bool is_due(const char *file, const struct watched *watched, struct stamp *ret_now)
{
	struct stat st;

	if (!file || stat(file, &st) < 0)
		return false;
	*ret_now = (struct stamp){st.st_mtim, st.st_size, st.st_ino};
	if (is_same(ret_now, &watched->read))
		return false;
	return !is_same(ret_now, &watched->failed) || pp_monotonic_ns() >= watched->retry_ns;
}

static void note_read(struct watched *watched, const struct stamp *now, int r)
{
	if (r == 0) {
		watched->read = *now;
	} else {
		watched->failed = *now;
		watched->retry_ns = pp_monotonic_ns() + RETRY_NS;
	}
}

/* A file that cannot be read leaves the list as it was, is reported, and is tried again. */
static int read_changed(struct hub_identity *identity, struct pathprof_error *error)
{
	struct stamp now = {0};
	int r = 0;

	if (is_due(identity->options->crl, &identity->crl, &now) || !identity->trusted) {
		r = read_trusted(identity, error);
		note_read(&identity->crl, &now, r);
	}
	if (r == 0 && is_due(identity->options->denied, &identity->denied, &now)) {
		r = read_denied(identity, error);
		note_read(&identity->denied, &now, r);
	}
	return r;
}

int hub_identity_new(struct hub_identity **ret_identity, const struct hub_options *options,
		     struct pathprof_error *error)
{
	struct hub_identity *identity = calloc(1, sizeof(*identity));
	int r;

	if (!identity)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	identity->options = options;
	r = read_changed(identity, error);
	if (r == 0 && options->denied && !identity->denied.read.inode)
		r = pathprof_fail(error, -ENOENT, "%s: no such file", options->denied);
	if (r < 0)
		hub_identity_free(identity);
	else
		*ret_identity = identity;
	return r;
}

void hub_identity_free(struct hub_identity *identity)
{
	if (!identity)
		return;
	if (identity->trusted)
		gnutls_x509_trust_list_deinit(identity->trusted, 1);
	forget_names(&identity->denied_names);
	free(identity);
}

/* ---------------------------------------------------------------- one client */

static bool verify(const struct hub_identity *identity, gnutls_x509_crt_t *chain, unsigned int cnt)
{
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	unsigned int status = 0;
	int r = gnutls_x509_trust_list_verify_crt2(identity->trusted, chain, cnt, &purpose, 1, 0,
						   &status, NULL);

	return r == 0 && status == 0;
}

static bool ends_in(const char *text, const char *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - text) >= len && strncmp(end - len, word, len) == 0;
}

static void set_default_tenant(struct hub_peer *peer)
{
	snprintf(peer->tenant, sizeof(peer->tenant), HUB_TENANT_DEFAULT);
}

/* The tenant of the path before the role: /tenant/T at its end, or the default one. */
static bool tenant_of(const char *uri, const char *end, struct hub_peer *ret_peer)
{
	static const char mark[] = "/tenant/";
	const char *at = end;
	size_t len;

	while (at > uri && at[-1] != '/')
		at--;
	len = (size_t)(end - at);
	if (!ends_in(uri, at, mark)) {
		set_default_tenant(ret_peer);
		return true;
	}
	if (len >= sizeof(ret_peer->tenant))
		return false;
	memcpy(ret_peer->tenant, at, len);
	ret_peer->tenant[len] = 0;
	return true;
}

/* spiffe://DOMAIN/tenant/T/host/NAME, or reader in the place of host. */
static bool peer_of_uri(const char *uri, struct hub_peer *ret_peer)
{
	const char *name = strrchr(uri, '/');
	size_t role_len;

	if (strncmp(uri, SPIFFE, strlen(SPIFFE)) != 0 || !name)
		return false;
	ret_peer->reads = ends_in(uri, name, "/reader");
	if (!ret_peer->reads && !ends_in(uri, name, "/host"))
		return false;
	role_len = ret_peer->reads ? strlen("/reader") : strlen("/host");
	if ((size_t)snprintf(ret_peer->name, sizeof(ret_peer->name), "%s", name + 1) >=
	    sizeof(ret_peer->name))
		return false;
	return tenant_of(uri + strlen(SPIFFE), name - role_len, ret_peer);
}

static bool has_uri_name(gnutls_x509_crt_t certificate, struct hub_peer *ret_peer)
{
	for (unsigned int i = 0;; i++) {
		char uri[URI_MAX] = "";
		size_t bytes = sizeof(uri) - 1;
		int type = gnutls_x509_crt_get_subject_alt_name(certificate, i, uri, &bytes, NULL);

		if (type == GNUTLS_E_SHORT_MEMORY_BUFFER)
			continue;
		if (type < 0)
			return false;
		if (type == GNUTLS_SAN_URI && peer_of_uri(uri, ret_peer))
			return true;
	}
}

static bool has_common_name(gnutls_x509_crt_t certificate, struct hub_peer *ret_peer)
{
	size_t bytes = sizeof(ret_peer->name);

	ret_peer->reads = false;
	set_default_tenant(ret_peer);
	return gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
					     ret_peer->name, &bytes) == 0;
}

/* A name that can stand in a table and a log as it is. */
static bool is_plain(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isascii((unsigned char)*c) ||
		    !(isalnum((unsigned char)*c) || strchr("._-:@", *c)))
			return false;
	return name[0] != 0;
}

/* Whether the peer is denied: by its name, in any tenant, or by TENANT/NAME. */
static bool is_denied(const struct hub_identity *identity, const struct hub_peer *peer)
{
	size_t len = strlen(peer->tenant);

	for (size_t i = 0; i < identity->denied_names.cnt; i++) {
		const char *denied = identity->denied_names.list[i];

		if (strncmp(denied, peer->tenant, len) == 0 && denied[len] == '/')
			denied += len + 1;
		if (strcmp(denied, peer->name) == 0)
			return true;
	}
	return false;
}

/* Returns the number of certificates put into chain, which the caller releases. */
static unsigned int take_chain(gnutls_session_t session, gnutls_x509_crt_t chain[CHAIN_MAX])
{
	unsigned int sent_cnt = 0, cnt = 0;
	const gnutls_datum_t *sent = gnutls_certificate_get_peers(session, &sent_cnt);

	while (sent && cnt < sent_cnt && cnt < CHAIN_MAX) {
		if (gnutls_x509_crt_init(&chain[cnt]) < 0)
			break;
		if (gnutls_x509_crt_import(chain[cnt], &sent[cnt], GNUTLS_X509_FMT_DER) < 0) {
			gnutls_x509_crt_deinit(chain[cnt]);
			break;
		}
		cnt++;
	}
	return cnt;
}

/* Returns NULL if the certificates show who the peer is. */
static const char *judge(const struct hub_identity *identity, gnutls_x509_crt_t *chain,
			 unsigned int cnt, struct hub_peer *ret_peer)
{
	bool has_name;

	*ret_peer = (struct hub_peer){.name = ""};
	if (!cnt)
		return "a client certificate is needed";
	has_name = has_uri_name(chain[0], ret_peer) || has_common_name(chain[0], ret_peer);
	if (!verify(identity, chain, cnt))
		return "the client certificate is not signed by the hub's authority, is not one "
		       "for clients, has expired or is revoked";
	if (!has_name)
		return "the client certificate names no host and no reader";
	if (!is_plain(ret_peer->name))
		return "the name in the client certificate has characters that names cannot have";
	if (!hub_is_plain_name(ret_peer->tenant))
		return "the tenant in the client certificate has characters that names cannot have";
	return NULL;
}

static int64_t end_of(gnutls_x509_crt_t *chain, unsigned int cnt, int64_t now_s)
{
	int64_t end_s = now_s + KNOWN_S;

	for (unsigned int i = 0; i < cnt; i++) {
		int64_t last_s = gnutls_x509_crt_get_expiration_time(chain[i]);

		end_s = last_s < end_s ? last_s : end_s;
	}
	return end_s;
}

/* Clears all but the name of a peer that is not trusted. The name is for the log. */
static void forget_rights(struct hub_peer *peer)
{
	peer->tenant[0] = 0;
	peer->reads = false;
}

/* Returns NULL if known says who the peer is. */
static const char *get_known(const struct hub_identity *identity, gnutls_session_t session,
			     struct hub_known_peer *known)
{
	int64_t now_s = pp_realtime_ns() / (int64_t)PP_NSEC_PER_SEC;
	gnutls_x509_crt_t chain[CHAIN_MAX];
	unsigned int cnt;
	const char *why;

	if (known->trusted_since == identity->trusted_since && now_s < known->until_s)
		return NULL;
	cnt = take_chain(session, chain);
	why = judge(identity, chain, cnt, &known->peer);
	if (why)
		forget_rights(&known->peer);
	known->peer.is_proven = !why;
	known->trusted_since = identity->trusted_since;
	known->until_s = why ? 0 : end_of(chain, cnt, now_s);
	for (unsigned int i = 0; i < cnt; i++)
		gnutls_x509_crt_deinit(chain[i]);
	return why;
}

int hub_identity_of(struct hub_identity *identity, gnutls_session_t session,
		    struct hub_known_peer *known, struct hub_peer *ret_peer, const char **ret_why)
{
	struct pathprof_error error = {""};

	if (read_changed(identity, &error) < 0)
		hub_note("%s: what was read before stays in force", error.text);
	*ret_why = get_known(identity, session, known);
	*ret_peer = known->peer;
	if (!*ret_why && is_denied(identity, ret_peer))
		*ret_why = ret_peer->reads ? "this reader is denied" : "this host is denied";
	return *ret_why ? -EACCES : 0;
}
