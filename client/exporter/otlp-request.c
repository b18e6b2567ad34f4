/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends one request of OTLP over HTTP and judges the answer (opentelemetry-proto,
 * docs/specification.md, "OTLP/HTTP Response"). Called by otlp-push.c in its thread.
 *
 *      answer                                   result
 *      2xx                                      accepted, also as a partial success
 *      429, 502, 503, 504, no answer at all     later, not before Retry-After
 *      everything else, redirections too        refused
 *
 * The receiver is configured by the administrator, but its answers are not trusted: their size and
 * time are limited, and their text is made printable. Certificates are always checked. Headers
 * usually contain a secret, so they are sent only over TLS or to this machine. A proxy of the
 * environment would read what is sent to this machine, so it is not used for that. For https://, a
 * proxy sees only the host and the port: libcurl sends it no header of the list. */

#include "exporter/otlp-request.h"

#include <errno.h>
#include <string.h>

#include "exporter/curl-library.h"
#include "interfaces/json.h"
#include "interfaces/utf8.h"

#define CONNECT_SEC   5L
#define REQUEST_SEC   10L
#define ANSWER_MAX    ((size_t)65536)
#define ANSWER_VALUES 64 /* of the JSON of a partial success */
#define WAIT_MAX_SEC  600
#define HEADERS_MAX   16

struct OtlpRequest {
        CurlLibrary library;
        CURL *curl;
        struct curl_slist *headers;
        char *url;
        bool is_local; /* the receiver is on this machine */
        const bool *stops;
        TextBlock answer; /* its first ANSWER_MAX bytes */
};

/* Settings */

static bool otlp_request_is_local(const char *host) {
        return host && (strcmp(host, "127.0.0.1") == 0 || strcmp(host, "[::1]") == 0 ||
                                       strcmp(host, "localhost") == 0);
}

/* The message shows only the scheme and the host: the other parts may contain a secret. */
static int otlp_request_check_url(OtlpRequest *request,
                CURLU *url,
                bool has_headers,
                Reason *reason) {
        const CurlLibrary *library = &request->library;
        char *scheme = NULL, *host = NULL, *user = NULL, *query = NULL;
        const char *mistake = NULL;
        int r = 0;

        (void)library->url_get(url, CURLUPART_SCHEME, &scheme, 0);
        (void)library->url_get(url, CURLUPART_HOST, &host, 0);
        (void)library->url_get(url, CURLUPART_USER, &user, 0);
        (void)library->url_get(url, CURLUPART_QUERY, &query, 0);
        request->is_local = otlp_request_is_local(host);
        if (!scheme || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
                mistake = "expected http:// or https://";
        else if (user || query)
                mistake = "expected no user and no query; put secrets into the file of headers";
        else if (has_headers && strcmp(scheme, "https") != 0 && !request->is_local)
                mistake = "headers are a secret and require https://";
        if (mistake)
                r = reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "otlp: endpoint %s://%s: %s",
                                scheme ?: "",
                                host ?: "",
                                mistake);
        library->free(scheme);
        library->free(host);
        library->free(user);
        library->free(query);
        return r;
}

static int otlp_request_set_url(OtlpRequest *request,
                const OtlpSettings *settings,
                Reason *reason) {
        const char *endpoint = settings->endpoint;
        size_t n = strlen(endpoint);
        const CurlLibrary *library = &request->library;
        CURLU *url = library->url();
        int r;

        if (!url)
                return -ENOMEM;
        if (library->url_set(url, CURLUPART_URL, endpoint, 0) == CURLUE_OK)
                r = otlp_request_check_url(request, url, settings->headers_file, reason);
        else
                r = reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "otlp: endpoint: expected a URL such as https://collector:4318");
        library->url_cleanup(url);
        if (r != 0)
                return r;
        while (n > 0 && endpoint[n - 1] == '/')
                n--;
        if (asprintf(&request->url, "%.*s/v1/metrics", (int)n, endpoint) < 0) {
                request->url = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int otlp_request_add_header(OtlpRequest *request, const char *line) {
        struct curl_slist *headers = request->library.slist_append(request->headers, line);

        if (!headers)
                return -ENOMEM;
        request->headers = headers;
        return 0;
}

/* The line without its end. */
static bool otlp_request_is_header(const char *line) {
        const char *colon = strchr(line, ':');

        return colon && colon > line && strcspn(line, " \t") > (size_t)(colon - line) &&
               utf8_find_unprintable(line, strlen(line)) == 0;
}

/* The messages do not show the line, which may be a secret. */
static int otlp_request_read_lines(OtlpRequest *request,
                FILE *file,
                const char *path,
                Reason *reason) {
        size_t n_lines = 0, n_headers = 0;
        char line[4096];
        int r = 0;

        while (r == 0 && fgets(line, sizeof(line), file)) {
                n_lines++;
                line[strcspn(line, "\r\n")] = '\0';
                if (!*line)
                        continue;
                if (!otlp_request_is_header(line))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "otlp: %s:%zu: expected a line such as 'Authorization: "
                                        "Bearer TOKEN'",
                                        path,
                                        n_lines);
                if (++n_headers > HEADERS_MAX)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "otlp: %s:%zu: expected at most %d headers",
                                        path,
                                        n_lines,
                                        HEADERS_MAX);
                r = otlp_request_add_header(request, line);
        }
        return r == 0 && ferror(file) ? -EIO : r;
}

static int otlp_request_read_headers(OtlpRequest *request, const char *path, Reason *reason) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");

        if (!file)
                return reason_set(reason,
                                KT_E_FAILED,
                                "otlp: cannot read %s: %s",
                                path,
                                strerror(errno));
        return otlp_request_read_lines(request, file, path, reason);
}

/* Answers */

static size_t otlp_request_on_data(char *data, size_t size, size_t n, void *userdata) {
        OtlpRequest *request = userdata;

        if (request->answer.used + size * n > ANSWER_MAX)
                return 0; /* ends the transfer */
        text_block_add(&request->answer, data, size * n);
        return size * n;
}

static int otlp_request_on_progress(void *userdata,
                curl_off_t all _unused_,
                curl_off_t received _unused_,
                curl_off_t to_send _unused_,
                curl_off_t sent _unused_) {
        const OtlpRequest *request = userdata;

        return __atomic_load_n(request->stops, __ATOMIC_RELAXED); /* 1 ends the transfer */
}

/* A 64-bit integer is a string in this form of JSON, but a number is allowed too. */
static uint64_t otlp_request_count_rejected(const OtlpRequest *request, OtlpAnswer *ret) {
        _cleanup_json_ json_object *answer = NULL;
        json_object *partial, *message;

        if (request->answer.used == 0 || json_parse_message("answer",
                                                         request->answer.data,
                                                         request->answer.used,
                                                         ANSWER_VALUES,
                                                         &answer,
                                                         NULL) != 0)
                return 0;
        if (!json_object_is_type(answer, json_type_object) ||
                        !json_object_object_get_ex(answer, "partialSuccess", &partial) ||
                        !json_object_is_type(partial, json_type_object))
                return 0;
        if (json_object_object_get_ex(partial, "errorMessage", &message) &&
                        json_object_is_type(message, json_type_string))
                (void)snprintf(ret->text, sizeof(ret->text), "%s", json_object_get_string(message));
        int64_t n = json_object_get_int64(json_object_object_get(partial, "rejectedDataPoints"));
        return n > 0 ? (uint64_t)n : 0;
}

static void otlp_request_judge_status(const OtlpRequest *request, long status, OtlpAnswer *ret) {
        curl_off_t wait_sec = 0;

        (void)snprintf(ret->text, sizeof(ret->text), "HTTP status %ld", status);
        if (status >= 200 && status <= 299) {
                ret->result = OTLP_ACCEPTED;
                ret->n_rejected_points = otlp_request_count_rejected(request, ret);
                return;
        }
        if (status != 429 && status != 502 && status != 503 && status != 504) {
                ret->result = OTLP_REFUSED;
                return;
        }
        (void)request->library.easy_getinfo(request->curl, CURLINFO_RETRY_AFTER, &wait_sec);
        ret->wait_sec = wait_sec > 0 ? MIN_OF((uint64_t)wait_sec, (uint64_t)WAIT_MAX_SEC) : 0;
}

void otlp_request_send(OtlpRequest *request, const TextBlock *body, OtlpAnswer *ret) {
        long status = 0;

        *ret = (OtlpAnswer){ .result = OTLP_LATER };
        request->answer.used = 0;
        (void)request->library.easy_setopt(request->curl, CURLOPT_POSTFIELDS, body->data);
        (void)request->library.easy_setopt(
                        request->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->used);
        CURLcode code = request->library.easy_perform(request->curl);
        (void)request->library.easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, &status);
        /* A body that is too long ends the transfer after the status is known. */
        if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && status > 0))
                otlp_request_judge_status(request, status, ret);
        else
                (void)snprintf(ret->text,
                                sizeof(ret->text),
                                "%s",
                                request->library.easy_strerror(code));
        for (char *p = ret->text; *p; p++)
                if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
                        *p = '?';
}

/* Life */

static int otlp_request_set_options(OtlpRequest *request, const OtlpSettings *settings) {
        CURLcode code = CURLE_OK;

        /* Chooses the first failure. */
#define SET(option, value) code = code ?: request->library.easy_setopt(request->curl, option, value)
        SET(CURLOPT_URL, request->url);
        SET(CURLOPT_PROTOCOLS_STR, "http,https");
        SET(CURLOPT_HTTPHEADER, request->headers);
        if (request->is_local)
                SET(CURLOPT_PROXY, ""); /* also none of the environment */
        SET(CURLOPT_USERAGENT, "ktrace-metrics/" KT_VERSION);
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_CONNECTTIMEOUT, CONNECT_SEC);
        SET(CURLOPT_TIMEOUT, REQUEST_SEC);
        SET(CURLOPT_NOSIGNAL, 1L); /* a thread */
        SET(CURLOPT_WRITEFUNCTION, otlp_request_on_data);
        SET(CURLOPT_WRITEDATA, request);
        SET(CURLOPT_NOPROGRESS, 0L);
        SET(CURLOPT_XFERINFOFUNCTION, otlp_request_on_progress);
        SET(CURLOPT_XFERINFODATA, request);
        if (settings->ca_file)
                SET(CURLOPT_CAINFO, settings->ca_file);
#undef SET
        return code == CURLE_OK ? 0 : -ENOMEM;
}

int otlp_request_new(const OtlpSettings *settings,
                const bool *stops,
                OtlpRequest **ret,
                Reason *reason) {
        _cleanup_(otlp_request_free_cleanup) OtlpRequest *request = calloc(1, sizeof(*request));

        if (!request)
                return -ENOMEM;
        request->stops = stops;
        int r = curl_library_load(&request->library, reason);
        r = r ?: otlp_request_set_url(request, settings, reason);
        r = r ?: otlp_request_add_header(request, "Content-Type: application/json");
        /* Do not wait for "100 Continue". */
        r = r ?: otlp_request_add_header(request, "Expect:");
        if (r == 0 && settings->headers_file)
                r = otlp_request_read_headers(request, settings->headers_file, reason);
        if (r != 0)
                return r;
        request->curl = request->library.easy_init();
        if (!request->curl)
                return -ENOMEM;
        r = otlp_request_set_options(request, settings);
        if (r == 0)
                *ret = TAKE_PTR(request);
        return r;
}

OtlpRequest *otlp_request_free(OtlpRequest *request) {
        if (!request)
                return NULL;
        if (request->curl)
                request->library.easy_cleanup(request->curl);
        if (request->headers)
                request->library.slist_free_all(request->headers);
        text_block_clear(&request->answer);
        free(request->url);
        free(request);
        return NULL;
}
