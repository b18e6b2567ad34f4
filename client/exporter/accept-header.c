/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the headers Accept and Accept-Encoding of a scraper (RFC 9110, section 12.5): the format
 * that it prefers, as Prometheus and other scrapers ask for it. Called by the HTTP server.
 *
 * The most specific range decides about a format: "text/plain" before "text", then "*". Of formats
 * with the same weight the first one of `formats` is taken. A range with an unknown version of a
 * format does not count. The text is hostile: nothing is copied, and it is read once. */

#include "exporter/accept-header.h"

#include <string.h>
#include <strings.h>

#define WEIGHT_MAX 1000 /* weights have three decimals */

static const struct {
        TextFormat format;
        const char *type, *subtype, *version;
} formats[] = {
        { TEXT_PROMETHEUS, "text", "plain", "0.0.4" },
        { TEXT_OPENMETRICS, "application", "openmetrics-text", "1.0.0" },
        { TEXT_JSON, "application", "json", NULL },
};

/* A part of the header, without spaces around it. */
typedef struct AcceptWord {
        const char *text;
        size_t size;
} AcceptWord;

static AcceptWord accept_word(const char *text, size_t size) {
        while (size > 0 && (*text == ' ' || *text == '\t')) {
                text++;
                size--;
        }
        while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t'))
                size--;
        return (AcceptWord){ text, size };
}

static bool accept_word_is(AcceptWord word, const char *text) {
        return word.size == strlen(text) && strncasecmp(word.text, text, word.size) == 0;
}

/* Cuts the word at the next separator. Separators in quoted strings count too: no value that this
 * file knows contains one. */
static AcceptWord accept_cut(AcceptWord *rest, char separator) {
        const char *end = memchr(rest->text, separator, rest->size);
        size_t size = end ? (size_t)(end - rest->text) : rest->size;
        AcceptWord word = accept_word(rest->text, size);

        rest->text += end ? size + 1 : size;
        rest->size -= end ? size + 1 : size;
        return word;
}

/* "1", "0.5", "0.125"; anything else weighs nothing. */
static unsigned accept_read_weight(AcceptWord word) {
        unsigned weight = 0, unit = WEIGHT_MAX / 10;

        if (word.size == 0 || word.size > 5 || (word.text[0] != '0' && word.text[0] != '1') ||
                        (word.size > 1 && word.text[1] != '.'))
                return 0;
        if (word.text[0] == '1')
                return WEIGHT_MAX;
        for (size_t i = 2; i < word.size; i++, unit /= 10) {
                if (word.text[i] < '0' || word.text[i] > '9')
                        return 0;
                weight += unit * (unsigned)(word.text[i] - '0');
        }
        return weight;
}

/* One element of the header: "text/plain; version=0.0.4; q=0.5". */
typedef struct AcceptRange {
        AcceptWord type, subtype;
        AcceptWord version; /* empty: any */
        unsigned weight;
} AcceptRange;

static AcceptRange accept_read_range(AcceptWord element) {
        AcceptWord name = accept_cut(&element, ';');
        AcceptRange range = { .weight = WEIGHT_MAX };

        range.type = accept_cut(&name, '/');
        range.subtype = accept_word(name.text, name.size);
        while (element.size > 0) {
                AcceptWord value = accept_cut(&element, ';');
                AcceptWord key = accept_cut(&value, '=');

                value = accept_word(value.text, value.size);
                if (value.size >= 2 && value.text[0] == '"' && value.text[value.size - 1] == '"')
                        value = (AcceptWord){ value.text + 1, value.size - 2 };
                if (accept_word_is(key, "q"))
                        range.weight = accept_read_weight(value);
                else if (accept_word_is(key, "version"))
                        range.version = value;
        }
        return range;
}

/* Returns 0 if the range does not include the format; a larger number is more specific. */
static unsigned accept_range_match(const AcceptRange *range, size_t i) {
        if (range->version.size > 0 && (!formats[i].version || !accept_word_is(range->version,
                                                                               formats[i].version)))
                return 0;
        if (accept_word_is(range->type, "*") && accept_word_is(range->subtype, "*"))
                return 1;
        if (!accept_word_is(range->type, formats[i].type))
                return 0;
        if (accept_word_is(range->subtype, "*"))
                return 2;
        if (!accept_word_is(range->subtype, formats[i].subtype))
                return 0;
        return range->version.size > 0 ? 4 : 3;
}

bool accept_header_choose(const char *accept, TextFormat *ret) {
        unsigned matches[ELEMENTSOF(formats)] = {}, weights[ELEMENTSOF(formats)] = {};
        AcceptWord rest = { accept, accept ? strlen(accept) : 0 };
        size_t best = 0;

        if (accept_word(rest.text, rest.size).size == 0) {
                *ret = TEXT_PROMETHEUS;
                return true;
        }
        while (rest.size > 0) {
                AcceptRange range = accept_read_range(accept_cut(&rest, ','));

                for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                        unsigned match = accept_range_match(&range, i);

                        if (match == 0 || match < matches[i])
                                continue;
                        matches[i] = match;
                        weights[i] = range.weight;
                }
        }
        for (size_t i = 1; i < ELEMENTSOF(formats); i++)
                if (weights[i] > weights[best])
                        best = i;
        if (weights[best] == 0)
                return false;
        *ret = formats[best].format;
        return true;
}

bool accept_header_has_gzip(const char *accept) {
        AcceptWord rest = { accept, accept ? strlen(accept) : 0 };

        while (rest.size > 0) {
                AcceptRange range = accept_read_range(accept_cut(&rest, ','));

                if (accept_word_is(range.type, "gzip"))
                        return range.weight > 0;
        }
        return false;
}
