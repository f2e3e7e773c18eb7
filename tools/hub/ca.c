// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pathprof-hub ca, enrol: a private authority in a directory, and certificates that it signs, by
 * GnuTLS. Keys are of the curve P-256: a handshake costs a seventh of what RSA takes. Nothing that
 * is there is ever overwritten.
 *
 *     DIRECTORY/ca.pem  ca-key.pem  NAME.pem  NAME-key.pem
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "address.h"
#include "hub.h"

#define PEM_BYTES  16384
#define CA_YEARS   10
#define DAY_S      ((time_t)86400)
#define BEFORE_S   3600 /* a host's clock may be behind */
#define SPIFFE_URI "spiffe://pathprof/tenant/"

struct pair {
	gnutls_x509_crt_t certificate;
	gnutls_x509_privkey_t key;
};

static void release(struct pair *pair)
{
	if (pair->certificate)
		gnutls_x509_crt_deinit(pair->certificate);
	if (pair->key)
		gnutls_x509_privkey_deinit(pair->key);
}
#define _cleanup_pair_ _cleanup_(release)

static int fail_tls(const char *what, int code)
{
	return hub_fail("%s: %s", what, gnutls_strerror(code));
}

static char *path_of(const char *directory, const char *name, const char *end)
{
	char *path;

	return asprintf(&path, "%s/%s%s", directory, name, end) < 0 ? NULL : path;
}

/* ---------------------------------------------------------------- files */

/* -errno. */
static int write_all(int fd, const char *text, size_t bytes)
{
	ssize_t n = write(fd, text, bytes);

	if (n >= 0 && (size_t)n < bytes)
		return -ENOSPC;
	return n < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Writes the whole file, or none. */
static int write_new(const char *path, const char *text, size_t bytes, mode_t mode)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	int r;

	if (fd < 0)
		return hub_fail("%s: %s%s", path, strerror(errno),
				errno == EEXIST ? ": it stays as it is; remove it first" : "");
	r = write_all(fd, text, bytes);
	if (r == 0)
		return HUB_OK;
	unlink(path);
	return hub_fail("%s: %s", path, strerror(-r));
}

static int write_certificate(const char *path, const struct pair *pair)
{
	char text[PEM_BYTES];
	size_t bytes = sizeof(text);
	int r = gnutls_x509_crt_export(pair->certificate, GNUTLS_X509_FMT_PEM, text, &bytes);

	return r < 0 ? fail_tls(path, r) : write_new(path, text, bytes, 0644);
}

/* Leaves no key without its certificate: it would be taken for the key of another
 * certificate. */
static int write_pair(const char *directory, const char *name, const struct pair *pair)
{
	_cleanup_free_ char *key_path = path_of(directory, name, "-key.pem");
	_cleanup_free_ char *path = path_of(directory, name, ".pem");
	char text[PEM_BYTES];
	size_t bytes = sizeof(text);
	int r = gnutls_x509_privkey_export_pkcs8(pair->key, GNUTLS_X509_FMT_PEM, NULL,
						 GNUTLS_PKCS_PLAIN, text, &bytes);

	if (!path || !key_path)
		return hub_fail("out of memory");
	if (r < 0)
		return fail_tls(key_path, r);
	r = write_new(key_path, text, bytes, 0600);
	gnutls_memset(text, 0, sizeof(text));
	if (r)
		return r;
	r = write_certificate(path, pair);
	if (r)
		unlink(key_path);
	else
		hub_note("wrote %s and %s", path, key_path);
	return r;
}

/* Caller frees data. */
static int read_file(const char *directory, const char *end, gnutls_datum_t *ret_data)
{
	_cleanup_free_ char *path = path_of(directory, "ca", end);
	int r = path ? gnutls_load_file(path, ret_data) : GNUTLS_E_MEMORY_ERROR;

	if (r < 0)
		return hub_fail("%s: %s: pathprof-hub ca %s makes one", path ? path : directory,
				gnutls_strerror(r), directory);
	return HUB_OK;
}

static bool is_pair(const struct pair *pair)
{
	uint8_t certified[64], own[64];
	size_t certified_bytes = sizeof(certified), own_bytes = sizeof(own);

	return gnutls_x509_crt_get_key_id(pair->certificate, GNUTLS_KEYID_USE_SHA256, certified,
					  &certified_bytes) == 0 &&
	       gnutls_x509_privkey_get_key_id(pair->key, GNUTLS_KEYID_USE_SHA256, own,
					      &own_bytes) == 0 &&
	       certified_bytes == own_bytes && memcmp(certified, own, own_bytes) == 0;
}

static int read_ca(const char *directory, struct pair *ret_ca)
{
	gnutls_datum_t certificate = {NULL, 0}, key = {NULL, 0};
	int r = read_file(directory, ".pem", &certificate);

	if (r == HUB_OK)
		r = read_file(directory, "-key.pem", &key);
	if (r == HUB_OK &&
	    (gnutls_x509_crt_init(&ret_ca->certificate) < 0 ||
	     gnutls_x509_privkey_init(&ret_ca->key) < 0 ||
	     gnutls_x509_crt_import(ret_ca->certificate, &certificate, GNUTLS_X509_FMT_PEM) < 0 ||
	     gnutls_x509_privkey_import2(ret_ca->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0) < 0))
		r = hub_fail("%s: ca.pem or ca-key.pem cannot be read", directory);
	if (r == HUB_OK && !is_pair(ret_ca))
		r = hub_fail("%s: ca-key.pem is not the key of ca.pem, and no hub accepts what it "
			     "signs: put the key there that was made with ca.pem",
			     directory);
	gnutls_free(certificate.data);
	if (key.data)
		gnutls_memset(key.data, 0, key.size);
	gnutls_free(key.data);
	return r;
}

/* ---------------------------------------------------------------- certificates */

static int make_key(struct pair *pair)
{
	int r = gnutls_x509_privkey_init(&pair->key);

	if (r == 0)
		r = gnutls_x509_privkey_generate(pair->key, GNUTLS_PK_ECDSA,
						 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
						 0);
	return r;
}

/* Sets what all certificates have: name, key, serial number and validity. */
static int begin_certificate(struct pair *pair, const char *name, time_t end)
{
	uint8_t serial[16] = {0}, id[20];
	size_t id_bytes = sizeof(id);
	int r = make_key(pair);

	if (r == 0)
		r = gnutls_x509_crt_init(&pair->certificate);
	if (r == 0)
		r = gnutls_x509_crt_set_version(pair->certificate, 3);
	if (r == 0)
		r = gnutls_x509_crt_set_key(pair->certificate, pair->key);
	if (r == 0)
		r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));
	serial[0] &= 0x7f;
	if (r == 0)
		r = gnutls_x509_crt_set_serial(pair->certificate, serial, sizeof(serial));
	if (r == 0)
		r = gnutls_x509_crt_set_dn_by_oid(pair->certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
						  name, (unsigned int)strlen(name));
	if (r == 0)
		r = gnutls_x509_crt_set_activation_time(pair->certificate, time(NULL) - BEFORE_S);
	if (r == 0)
		r = gnutls_x509_crt_set_expiration_time(pair->certificate, end);
	if (r == 0)
		r = gnutls_x509_crt_get_key_id(pair->certificate, 0, id, &id_bytes);
	if (r == 0)
		r = gnutls_x509_crt_set_subject_key_id(pair->certificate, id, id_bytes);
	return r;
}

/* Clients that verify by the letter of RFC 5280 want the signer's key named. An authority from
 * elsewhere may have no name for it. */
static int name_signer(struct pair *pair, const struct pair *by)
{
	uint8_t id[64];
	size_t id_bytes = sizeof(id);
	int r = gnutls_x509_crt_get_subject_key_id(by->certificate, id, &id_bytes, NULL);

	if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
		return 0;
	return r < 0 ? r : gnutls_x509_crt_set_authority_key_id(pair->certificate, id, id_bytes);
}

static int sign(struct pair *pair, const struct pair *by)
{
	return gnutls_x509_crt_sign2(pair->certificate, by->certificate, by->key, GNUTLS_DIG_SHA256,
				     0);
}

int hub_ca(const struct hub_options *options)
{
	_cleanup_pair_ struct pair ca = {NULL, NULL};
	const char *directory = options->argc == 1 ? options->argv[0] : NULL;
	int r;

	if (!directory)
		return hub_usage(options, "one directory is needed");
	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return hub_fail("%s: %s", directory, strerror(errno));
	r = begin_certificate(&ca, "pathprof fleet", time(NULL) + CA_YEARS * 365 * DAY_S);
	if (r == 0)
		r = gnutls_x509_crt_set_basic_constraints(ca.certificate, 1, 0);
	if (r == 0)
		r = gnutls_x509_crt_set_key_usage(ca.certificate,
						  GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
	if (r == 0)
		r = sign(&ca, &ca);
	return r < 0 ? fail_tls(directory, r) : write_pair(directory, "ca", &ca);
}

/* ---------------------------------------------------------------- enrolling */

static int add_address(gnutls_x509_crt_t certificate, const char *address)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, address, bytes) == 1)
		return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS,
							    bytes, 4, GNUTLS_FSAN_APPEND);
	if (inet_pton(AF_INET6, address, bytes) == 1)
		return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS,
							    bytes, 16, GNUTLS_FSAN_APPEND);
	return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, address,
						    (unsigned int)strlen(address),
						    GNUTLS_FSAN_APPEND);
}

static int add_addresses(gnutls_x509_crt_t certificate, const char *list)
{
	char address[PATHPROF_PARCEL_HOST_BYTES];
	int r = 0;

	while (r == 0 && *list) {
		size_t bytes = strcspn(list, ",");

		if (bytes >= sizeof(address))
			return GNUTLS_E_INVALID_REQUEST;
		snprintf(address, sizeof(address), "%.*s", (int)bytes, list);
		r = add_address(certificate, address);
		list += bytes + (list[bytes] == ',');
	}
	return r;
}

/* The certificate states its holder's role: a host sends, a reader asks. */
static int add_role(gnutls_x509_crt_t certificate, const struct hub_options *options,
		    const char *name)
{
	char uri[sizeof(SPIFFE_URI) + HUB_TENANT_BYTES + sizeof("/reader/") +
		 PATHPROF_PARCEL_HOST_BYTES];

	snprintf(uri, sizeof(uri), SPIFFE_URI "%s/%s/%s",
		 options->tenant ? options->tenant : HUB_TENANT_DEFAULT,
		 options->reader ? "reader" : "host", name);
	return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_URI, uri,
						    (unsigned int)strlen(uri), GNUTLS_FSAN_SET);
}

static int make(const struct hub_options *options, const char *name, const struct pair *ca,
		time_t end, struct pair *pair)
{
	int r = begin_certificate(pair, name, end);

	if (r == 0)
		r = gnutls_x509_crt_set_basic_constraints(pair->certificate, 0, -1);
	if (r == 0)
		r = gnutls_x509_crt_set_key_usage(pair->certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (r == 0)
		r = gnutls_x509_crt_set_key_purpose_oid(
			pair->certificate,
			options->server ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT, 0);
	if (r == 0)
		r = options->server ? add_addresses(pair->certificate, options->addresses)
				    : add_role(pair->certificate, options, name);
	if (r == 0)
		r = name_signer(pair, ca);
	return r == 0 ? sign(pair, ca) : r;
}

/* A certificate that outlives its authority's ends with it, however long it says it holds. */
static int choose_end(const struct hub_options *options, const struct pair *ca, time_t *ret_end)
{
	time_t now = time(NULL), end = now + options->days * DAY_S;
	time_t ca_end = gnutls_x509_crt_get_expiration_time(ca->certificate);
	char day[32] = "";

	*ret_end = end;
	if (ca_end == (time_t)-1 || end <= ca_end)
		return HUB_OK;
	strftime(day, sizeof(day), "%Y-%m-%d", gmtime(&ca_end));
	if (ca_end <= now)
		return hub_fail("%s/ca.pem: its time was over on %s, and no hub accepts what it "
				"signs: make a new authority in another directory (pathprof-hub "
				"ca DIRECTORY), and certificates by that one",
				options->argv[0], day);
	*ret_end = ca_end;
	hub_note("%s: its certificate ends with that of the authority, %s/ca.pem, on %s: it holds "
		 "%lld days and not %u; make a new authority before that",
		 options->argv[1], options->argv[0], day, (long long)((ca_end - now) / DAY_S),
		 options->days);
	return HUB_OK;
}

/* The name is also the name of files. */
static bool is_host_name(const char *name)
{
	return hub_is_plain_name(name) && strlen(name) < PATHPROF_PARCEL_HOST_BYTES - 16 &&
	       strcmp(name, "ca") != 0;
}

static int check_addresses(const struct hub_options *options)
{
	size_t len = 0;
	const char *bad;

	if (!options->server)
		return options->addresses
			       ? hub_usage(
					 options,
					 "--address is of the hub's certificate: --server makes it")
			       : HUB_OK;
	if (!options->addresses)
		return hub_usage(options, "--server needs --address: the names and addresses by "
					  "which hosts reach the hub");
	bad = hub_address_find_bad(options->addresses, &len);
	if (bad)
		return hub_usage(options,
				 "--address %s: '%.*s' is no host name and no IP address: no port "
				 "goes with it, and commas without blanks stand between several",
				 options->addresses, (int)len, bad);
	return HUB_OK;
}

static int check(const struct hub_options *options)
{
	if (options->argc != 2)
		return hub_usage(options, "the authority's directory and a name are needed");
	if (!is_host_name(options->argv[1]))
		return hub_usage(options, "%s: a name has letters, digits, points, - and _",
				 options->argv[1]);
	if (options->tenant &&
	    (!hub_is_plain_name(options->tenant) || strlen(options->tenant) >= HUB_TENANT_BYTES))
		return hub_usage(options,
				 "--tenant %s: a name has letters, digits, points, - and _",
				 options->tenant);
	if (options->server && options->reader)
		return hub_usage(options, "--server and --reader are of two certificates");
	return check_addresses(options);
}

int hub_enrol(const struct hub_options *options)
{
	_cleanup_pair_ struct pair ca = {NULL, NULL}, pair = {NULL, NULL};
	time_t end = 0;
	int r = check(options);

	if (r)
		return r;
	r = read_ca(options->argv[0], &ca);
	if (r == HUB_OK)
		r = choose_end(options, &ca, &end);
	if (r)
		return r;
	r = make(options, options->argv[1], &ca, end, &pair);
	return r < 0 ? fail_tls(options->argv[1], r)
		     : write_pair(options->argv[0], options->argv[1], &pair);
}
