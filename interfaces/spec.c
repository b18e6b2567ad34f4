/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a caller asks for, checked value by value. Each door (bus, JSON files, command line) feeds
 * the setters what it read; `spec_fields` is the one table behind them, the help and the man page.
 *
 * Nothing here looks at the machine: whether an event exists, a pid lives or policy agrees is
 * judged above, and what a filter says is judged with the event's format (daemon/policy/filter.h).
 * Here a value is only kept from being what it can never be: a path, a list without end, a number
 * that no kernel takes. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "duration.h"
#include "nearest.h"
#include "quote.h"
#include "spec-scope.h"
#include "utf8.h"

#define CLOCK_DEFAULT "mono"
#define CLOCK_MAX     32
#define MODE_MAX      16
#define LIFETIME_MAX  32
/* "command:" and every pid with seven digits and a comma. */
#define SCOPE_MAX (8 + SPEC_PIDS_MAX * 8)

const SpecField spec_fields[] = {
        { "name",
                        SPEC_STRING,
                        1,
                        KT_NAME_MAX,
                        NULL,
                        "A label for the session, unique among those of its owner: letters, "
                        "digits, '.', '_' and '-', and not 16 hexadecimal digits, for that is "
                        "how ids look. Default: none, the session is addressed by its id." },
        { "mode",
                        SPEC_STRING,
                        1,
                        MODE_MAX,
                        NULL,
                        "How the buffer is read. 'stream': a consumer reads all along; when it "
                        "falls behind, new events are dropped and counted. 'flight': nobody "
                        "reads, the kernel overwrites the oldest events, and snapshots take what "
                        "is there; so far for traces that need no fence. Default: stream." },
        { "scope",
                        SPEC_STRING,
                        1,
                        SCOPE_MAX,
                        NULL,
                        "Whose events are recorded. 'command:PID': one process that the client "
                        "holds back until tracing is armed, and its children. 'own': every "
                        "process of the caller. 'pids:PID,PID,…': these processes, at most "
                        "1024, and their children. 'unit:NAME': the processes of a systemd unit "
                        "of the caller or of the system. 'cgroup:PATH': those in this cgroup "
                        "and below, the path as in /proc/PID/cgroup. 'system': everything. No "
                        "default: it must be given." },
        { "events",
                        SPEC_EVENTS,
                        1,
                        SPEC_EVENTS_MAX,
                        NULL,
                        "The events to record, each with its name and, if wanted, a filter. "
                        "A name is 'SYSTEM:EVENT' or a glob of it ('*', "
                        "'?', '[…]'); 'EVENT' alone means this event of any system. No "
                        "default: at least one must be given." },
        { "probes",
                        SPEC_EVENTS,
                        1,
                        SPEC_PROBES_MAX,
                        NULL,
                        "Probes to record besides the events, by their names in the catalogue or "
                        "of one's own, each with a filter if wanted; 'ktracectl probes list' shows "
                        "them. Default: none." },
        { "where",
                        SPEC_STRING,
                        1,
                        SPEC_FILTER_MAX,
                        NULL,
                        "A filter for all events, besides their own: only what both let through is "
                        "recorded. Default: none." },
        { "buffer-kb",
                        SPEC_NUMBER,
                        SPEC_BUFFER_KB_MIN,
                        SPEC_BUFFER_KB_MAX,
                        "KiB per CPU",
                        "The size of the kernel's ring buffer for each CPU. Default: 1024." },
        { "clock",
                        SPEC_STRING,
                        1,
                        CLOCK_MAX,
                        NULL,
                        "The kernel's trace clock that stamps the events, as tracefs names it in "
                        "trace_clock. Default: mono." },
        { "lifetime",
                        SPEC_STRING,
                        1,
                        LIFETIME_MAX,
                        NULL,
                        "When the session goes away by itself. 'client': when its creator "
                        "leaves the bus. 'linger': never, it stays until it is destroyed. "
                        "'linger:TIME': this long after its creator has left, at most 7d; TIME "
                        "is a whole number with us, ms, s, min, h or d, seconds without. "
                        "Default: client." },
        { "allow-setuid",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "With scope 'command' and where policy allows: the command may run "
                        "set-user-ID programs. The trace ends at the first change of its "
                        "credentials, before anything is done with them. Default: false, the "
                        "command must have no_new_privs." },
        { "unredacted",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "Records as the kernel wrote them, with all fields and kernel addresses: "
                        "only the rules of policy that grant this are asked, which mostly want an "
                        "administrator's yes. Default: false, what the first rule gives." },
};

const size_t n_spec_fields = ELEMENTSOF(spec_fields);

/* Not ctype.h: it follows the locale. */
static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

Spec *spec_new(void) {
        _cleanup_spec_ Spec *spec = calloc(1, sizeof(*spec));

        if (!spec)
                return NULL;
        spec->clock = strdup(CLOCK_DEFAULT);
        if (!spec->clock)
                return NULL;
        spec->buffer_kb = SPEC_BUFFER_KB_DEFAULT;
        spec->lifetime = LIFETIME_CLIENT;
        return TAKE_PTR(spec);
}

static void free_entries(SpecEvent *list, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(list[i].name);
                free(list[i].filter);
        }
        free(list);
}

Spec *spec_free(Spec *spec) {
        if (!spec)
                return NULL;
        free_entries(spec->events, spec->n_events);
        free_entries(spec->probes, spec->n_probes);
        free(spec->pids);
        free(spec->where);
        free(spec->group);
        free(spec->clock);
        free(spec->name);
        free(spec);
        return NULL;
}

const SpecField *spec_field_find(const char *key) {
        for (size_t i = 0; i < n_spec_fields; i++)
                if (strcmp(spec_fields[i].name, key) == 0)
                        return &spec_fields[i];
        return NULL;
}

int spec_refuse_key(const char *key, Reason *reason) {
        uint32_t least = UINT32_MAX;
        const char *nearest = NULL;
        char known[128] = "";

        for (size_t i = 0; i < n_spec_fields; i++) {
                uint32_t distance = nearest_distance(key, spec_fields[i].name);
                size_t used = strlen(known);

                if (distance < least) {
                        least = distance;
                        nearest = spec_fields[i].name;
                }
                snprintf(known + used,
                                sizeof(known) - used,
                                "%s%s",
                                i ? ", " : "",
                                spec_fields[i].name);
        }
        if (nearest && least <= 2 && least < strlen(nearest))
                return reason_set(reason,
                                KT_E_UNKNOWN_KEY,
                                "unknown key %s: did you mean \"%s\"?",
                                quote(key).text,
                                nearest);
        return reason_set(reason,
                        KT_E_UNKNOWN_KEY,
                        "unknown key %s: the known ones are %s",
                        quote(key).text,
                        known);
}

int spec_refuse_type(const SpecField *field, const char *got, Reason *reason) {
        static const char *const wanted[] = {
                [SPEC_STRING] = "a string",
                [SPEC_NUMBER] = "a number",
                [SPEC_BOOLEAN] = "true or false",
                [SPEC_EVENTS] = "a list",
        };

        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s is wanted, not %s",
                        field->name,
                        wanted[field->type],
                        got);
}

static int refuse_twice(const SpecField *field, Reason *reason) {
        return reason_set(reason, KT_E_INVALID_SPEC, "key \"%s\" twice: give it once", field->name);
}

static uint32_t field_bit(const SpecField *field) {
        return UINT32_C(1) << (field - spec_fields);
}

static int set_name(Spec *spec, const char *value, Reason *reason) {
        char *name;

        if (strcmp(value, ".") == 0 || strcmp(value, "..") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "name: %s is a directory: write a name with a letter or a digit",
                                quote(value).text);
        for (const char *p = value; *p; p++)
                if (!is_alphanumeric(*p) && !strchr("._-", *p))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "name: %s holds more than letters, digits, '.', '_', '-'",
                                        quote(value).text);
        if (strlen(value) == KT_ID_DIGITS &&
                        strspn(value, "0123456789abcdefABCDEF") == KT_ID_DIGITS)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "name: %s looks like a session id: choose another",
                                quote(value).text);

        name = strdup(value);
        if (!name)
                return -ENOMEM;
        spec->name = name;
        return 0;
}

const char *spec_mode_to_string(SpecMode mode) {
        static const char *const names[_MODE_N] = {
                [MODE_STREAM] = "stream",
                [MODE_FLIGHT] = "flight",
        };

        return names[mode];
}

static int set_mode(Spec *spec, const char *value, Reason *reason) {
        for (SpecMode mode = 0; mode < _MODE_N; mode++)
                if (strcmp(value, spec_mode_to_string(mode)) == 0) {
                        spec->mode = mode;
                        return 0;
                }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "mode: %s is not known: write stream or flight",
                        quote(value).text);
}

static int set_clock(Spec *spec, const char *value, Reason *reason) {
        char *clock;

        for (const char *p = value; *p; p++)
                if (!is_digit(*p) && !(*p >= 'a' && *p <= 'z') && *p != '_' && *p != '-')
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "clock: %s holds more than a-z, 0-9, '_', '-': write a "
                                        "name of the kernel's trace_clock, such as mono",
                                        quote(value).text);
        clock = strdup(value);
        if (!clock)
                return -ENOMEM;
        free(spec->clock);
        spec->clock = clock;
        return 0;
}

/* key: "where", "events[0].filter" */
static int check_filter(const char *key, const char *filter, Reason *reason) {
        size_t size = strlen(filter);

        if (strspn(filter, " ") == size)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: \"\" is empty: leave the key out for none",
                                key);
        if (size > SPEC_FILTER_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s has %zu bytes, the most is %d",
                                key,
                                quote(filter).text,
                                size,
                                SPEC_FILTER_MAX);
        for (size_t i = 0, n; i < size; i += n) {
                n = utf8_length(filter + i, size - i);
                if (n == 0 || (unsigned char)filter[i] < 0x20 || filter[i] == 0x7f)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: %s: byte %zu is not printable: write the filter on "
                                        "one line of text",
                                        key,
                                        quote(filter).text,
                                        i + 1);
        }
        return 0;
}

static int check_entry_filter(const char *list, size_t index, const char *filter, Reason *reason) {
        char key[40];

        snprintf(key, sizeof(key), "%s[%zu].filter", list, index);
        return check_filter(key, filter, reason);
}

static int set_where(Spec *spec, const char *value, Reason *reason) {
        int r = check_filter("where", value, reason);

        if (r != 0)
                return r;
        spec->where = strdup(value);
        return spec->where ? 0 : -ENOMEM;
}

static int set_lifetime(Spec *spec, const char *value, Reason *reason) {
        const char *time = NULL;
        uint64_t usec = 0;
        int r = 0;

        if (strcmp(value, "client") == 0) {
                spec->lifetime = LIFETIME_CLIENT;
                return 0;
        }
        if (strncmp(value, "linger:", strlen("linger:")) == 0)
                time = value + strlen("linger:");
        else if (strcmp(value, "linger") != 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "lifetime: %s is not known: write client, linger or linger:TIME",
                                quote(value).text);

        if (time)
                r = duration_parse(time, &usec);
        if (r == -EINVAL)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "lifetime: %s holds no time: write linger:30s, with us, ms, s, "
                                "min, h or d",
                                quote(value).text);
        if (time && (r < 0 || usec < 1 || usec > SPEC_LINGER_MAX_USEC))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "lifetime: %s: a time lies above 0 and at most at 7d: write linger "
                                "for no end",
                                quote(value).text);
        spec->lifetime = LIFETIME_LINGER;
        spec->linger_usec = usec;
        return 0;
}

/* The strings of the table; SPEC_EVENTS and SPEC_NUMBER have setters of their own. */
static const struct {
        const char *key;
        int (*set)(Spec *spec, const char *value, Reason *reason);
} string_setters[] = {
        { "name", set_name },
        { "mode", set_mode },
        { "scope", spec_scope_set },
        { "where", set_where },
        { "clock", set_clock },
        { "lifetime", set_lifetime },
};

int spec_set_string(Spec *spec, const char *key, const char *value, Reason *reason) {
        const SpecField *field = spec_field_find(key);
        size_t size = strlen(value), i = 0;
        int r;

        if (!field)
                return spec_refuse_key(key, reason);
        if (field->type != SPEC_STRING)
                return spec_refuse_type(field, "a string", reason);
        if (spec->set_keys & field_bit(field))
                return refuse_twice(field, reason);
        if (size < field->min)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: \"\" is empty: leave the key out or give it a value",
                                field->name);
        if (size > field->max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s has %zu bytes, the most is %" PRIu64,
                                field->name,
                                quote(value).text,
                                size,
                                field->max);

        while (strcmp(string_setters[i].key, key) != 0)
                i++;
        r = string_setters[i].set(spec, value, reason);
        if (r == 0)
                spec->set_keys |= field_bit(field);
        return r;
}

int spec_set_number(Spec *spec, const char *key, uint64_t value, Reason *reason) {
        const SpecField *field = spec_field_find(key);

        if (!field)
                return spec_refuse_key(key, reason);
        if (field->type != SPEC_NUMBER)
                return spec_refuse_type(field, "a number", reason);
        if (spec->set_keys & field_bit(field))
                return refuse_twice(field, reason);
        if (value < field->min)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %" PRIu64 " is under the least of %" PRIu64,
                                field->name,
                                value,
                                field->min);
        if (value > field->max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %" PRIu64 " is over the most of %" PRIu64,
                                field->name,
                                value,
                                field->max);
        spec->buffer_kb = value;
        spec->set_keys |= field_bit(field);
        return 0;
}

int spec_set_boolean(Spec *spec, const char *key, bool value, Reason *reason) {
        const SpecField *field = spec_field_find(key);

        if (!field)
                return spec_refuse_key(key, reason);
        if (field->type != SPEC_BOOLEAN)
                return spec_refuse_type(field, "true or false", reason);
        if (spec->set_keys & field_bit(field))
                return refuse_twice(field, reason);
        if (strcmp(key, "allow-setuid") == 0)
                spec->allow_setuid = value;
        else
                spec->unredacted = value;
        spec->set_keys |= field_bit(field);
        return 0;
}

int spec_begin_list(Spec *spec, const SpecField *field, Reason *reason) {
        if (spec->set_keys & field_bit(field))
                return refuse_twice(field, reason);
        spec->set_keys |= field_bit(field);
        return 0;
}

/* "" and "." would be read as directories of tracefs by whoever joins a path of it. */
static bool is_event_part(const char *part, size_t size) {
        return size > 0 && strspn(part, ".") < size;
}

static int check_event_name(size_t index, const char *name, Reason *reason) {
        const char *colon = strchr(name, ':');
        const char *event = colon ? colon + 1 : name;
        size_t size = strlen(name);

        if (size > SPEC_EVENT_NAME_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events[%zu].name: %s has %zu bytes, the most is %d",
                                index,
                                quote(name).text,
                                size,
                                SPEC_EVENT_NAME_MAX);
        for (const char *p = name; *p; p++)
                if (!is_alphanumeric(*p) && !strchr("_-.:*?[]!^", *p))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "events[%zu].name: %s holds '%.*s': write system:event, as "
                                        "'ktracectl events' lists them",
                                        index,
                                        quote(name).text,
                                        (int)MAX_OF(utf8_length(p, strlen(p)), (size_t)1),
                                        p);
        if (colon && strchr(event, ':'))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events[%zu].name: %s holds more than one ':': write system:event, "
                                "as 'ktracectl events' lists them",
                                index,
                                quote(name).text);
        if ((colon && !is_event_part(name, (size_t)(colon - name))) ||
                        !is_event_part(event, strlen(event)))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events[%zu].name: %s names no event: write system:event, as "
                                "'ktracectl events' lists them",
                                index,
                                quote(name).text);
        return 0;
}

static int add_entry(SpecEvent **list, size_t *n, const char *name, const char *filter) {
        _cleanup_free_ char *name_copy = strdup(name);
        _cleanup_free_ char *filter_copy = filter ? strdup(filter) : NULL;
        SpecEvent *grown;

        if (!name_copy || (filter && !filter_copy))
                return -ENOMEM;
        grown = reallocarray(*list, *n + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        *list = grown;
        grown[(*n)++] = (SpecEvent){ .name = TAKE_PTR(name_copy), .filter = TAKE_PTR(filter_copy) };
        return 0;
}

int spec_add_event(Spec *spec, const char *name, const char *filter, Reason *reason) {
        int r;

        if (spec->n_events >= SPEC_EVENTS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events: more than %d entries: name them by globs",
                                SPEC_EVENTS_MAX);
        r = check_event_name(spec->n_events, name, reason);
        if (r == 0 && filter)
                r = check_entry_filter("events", spec->n_events, filter, reason);
        if (r != 0)
                return r;

        return add_entry(&spec->events, &spec->n_events, name, filter);
}

/* "NAME", or "GROUP:NAME" for what another user has made. */
static int check_probe_name(size_t index, const char *name, Reason *reason) {
        size_t size = strlen(name), colons = 0;

        for (const char *p = name; *p; p++) {
                colons += *p == ':';
                if (!is_alphanumeric(*p) && *p != '_' && *p != ':')
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "probes[%zu].name: %s is no name: 'ktracectl probes list' "
                                        "shows them",
                                        index,
                                        quote(name).text);
        }
        if (size == 0 || size > SPEC_EVENT_NAME_MAX || colons > 1)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes[%zu].name: %s is no name: 'ktracectl probes list' shows "
                                "them",
                                index,
                                quote(name).text);
        return 0;
}

int spec_add_probe(Spec *spec, const char *name, const char *filter, Reason *reason) {
        if (spec->n_probes >= SPEC_PROBES_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "probes: more than %d entries",
                                SPEC_PROBES_MAX);
        int r = check_probe_name(spec->n_probes, name, reason);
        if (r == 0 && filter)
                r = check_entry_filter("probes", spec->n_probes, filter, reason);
        return r ?: add_entry(&spec->probes, &spec->n_probes, name, filter);
}

int spec_add_entry(Spec *spec,
                const SpecField *field,
                const char *name,
                const char *filter,
                Reason *reason) {
        return strcmp(field->name, "probes") == 0 ? spec_add_probe(spec, name, filter, reason)
                                                  : spec_add_event(spec, name, filter, reason);
}

int spec_complete(const Spec *spec, Reason *reason) {
        if (!spec->has_scope)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: missing: write " SPEC_SCOPE_FORMS);
        if (spec->n_events == 0 && spec->n_probes == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "events: none given: name at least one, as 'ktracectl events' "
                                "lists them");
        if (spec->allow_setuid && spec->scope != SCOPE_COMMAND)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "allow-setuid: is for scope command only: leave it away");
        return 0;
}
