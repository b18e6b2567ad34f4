/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The words of a histogram, judged and written anew for the kernel; a part of grant-trigger.c. It
 * tells each value of its keys and the sums of its values, so these are fields that reach the
 * reader whole. The kernel would read text from wherever a pointer of a record leads, and would
 * empty the rings where a key is a time: neither is taken. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decision.h"
#include "defence.h"

#define WORD_MAX    SPEC_HIST_WORD_MAX
#define BUCKETS_MAX 1000000000

typedef struct Hist {
        const Decision *d;
        const Choice *choice;
        const Format *format;
        size_t index;  /* of the trigger */
        char **filter; /* of it: grows */
        char text[8 * WORD_MAX];
        size_t size;
} Hist;

static const SpecHist *get_wanted(const Hist *hist) {
        return &hist->d->spec->triggers[hist->index].hist;
}

static bool is_free(const Hist *hist) {
        return !hist->d->rule || !defence_is_on("filter-fields");
}

static int refuse(const Hist *hist, int code, const char *list, const char *word, const char *why) {
        return reason_set(hist->d->reason,
                        code,
                        "triggers[%zu].%s: %s: %s",
                        hist->index,
                        list,
                        word,
                        why);
}

static void append(Hist *hist, const char *before, const char *word) {
        int n = snprintf(hist->text + hist->size,
                        sizeof(hist->text) - hist->size,
                        "%s%s",
                        before,
                        word);

        hist->size += (size_t)n; /* seven words and a size: it fits */
}

/* "log2", "buckets=N", …: how a number is shown as a key. */
static bool is_shape(const char *shape) {
        static const char *const shapes[] = { "hex", "log2", "syscall", "execname" };
        char *end;

        for (size_t i = 0; i < ELEMENTSOF(shapes); i++)
                if (strcmp(shape, shapes[i]) == 0)
                        return true;
        if (strncmp(shape, "buckets=", strlen("buckets=")) != 0)
                return false;
        const char *number = shape + strlen("buckets=");
        unsigned long long n = strtoull(number, &end, 10);
        return *number >= '1' && *number <= '9' && !*end && n <= BUCKETS_MAX;
}

static bool is_address_shape(const char *shape) {
        return strcmp(shape, "sym") == 0 || strcmp(shape, "sym-offset") == 0;
}

static bool keeps_addresses(const Hist *hist) {
        return hist->d->grant->addresses == ADDRESS_KEEP && !hist->d->grant->redacted;
}

static bool is_number(const FormatField *field) {
        return field->kind == FIELD_PLAIN && field->n_elements == 0 && !field->is_string &&
               field->size <= sizeof(uint64_t);
}

static bool is_pointer_to_text(const FormatField *field) {
        return strcmp(field->type, "char *") == 0 || strcmp(field->type, "const char *") == 0;
}

static int find_field(const Hist *hist,
                const char *list,
                const char *name,
                const FormatField **ret) {
        const FormatField *field = format_field_find(hist->format, name);
        const char *pid;

        if (!field)
                return refuse(hist, KT_E_INVALID_SPEC, list, name, "the event has no such field");
        if (is_pointer_to_text(field))
                return refuse(hist,
                                KT_E_INVALID_SPEC,
                                list,
                                name,
                                "the text lies in the memory of whoever runs, not in the record");
        FieldVerdict verdict = VERDICT_KEEP;
        if (!is_free(hist))
                verdict = grant_judge_field(
                                hist->d->grant, &hist->choice->event, hist->format, field, &pid);
        bool has_words = verdict == VERDICT_WORDS || verdict == VERDICT_WORDS_PSEUDONYM;
        if (verdict != VERDICT_KEEP && !(has_words && is_number(field)))
                return refuse(hist,
                                KT_E_ACCESS_DENIED,
                                list,
                                name,
                                "the field is not shown to you whole, and a histogram would tell it");
        *ret = field;
        return has_words ? decision_exclude_addresses(field, hist->filter) : 0;
}

static int check_shape(const Hist *hist,
                const FormatField *field,
                const char *word,
                const char *shape) {
        bool is_pid = strcmp(field->name, "common_pid") == 0;

        if (is_address_shape(shape) && !keeps_addresses(hist))
                return refuse(hist, KT_E_ACCESS_DENIED, "keys", word, "kernel addresses are cut");
        if (!is_shape(shape) && !is_address_shape(shape))
                return refuse(hist,
                                KT_E_INVALID_SPEC,
                                "keys",
                                word,
                                "write FIELD or FIELD with .hex, .log2, .buckets=N, .sym, "
                                ".sym-offset, .syscall or .execname");
        if (!is_number(field))
                return refuse(hist,
                                KT_E_INVALID_SPEC,
                                "keys",
                                word,
                                "this is for fields that are numbers");
        if (strcmp(shape, "execname") == 0 && !is_pid)
                return refuse(hist, KT_E_INVALID_SPEC, "keys", word, ".execname is for common_pid");
        return 0;
}

static int add_key(Hist *hist, size_t i) {
        const char *word = get_wanted(hist)->keys.items[i];
        const FormatField *field = NULL;
        char name[WORD_MAX + 1];

        if (strcmp(word, "stacktrace") == 0) {
                if (!keeps_addresses(hist))
                        return refuse(hist,
                                        KT_E_ACCESS_DENIED,
                                        "keys",
                                        word,
                                        "kernel addresses are cut");
                append(hist, i > 0 ? "," : "keys=", word);
                return 0;
        }
        (void)snprintf(name, sizeof(name), "%s", word);
        char *shape = strchr(name, '.');
        if (shape)
                *shape++ = '\0';
        int r = find_field(hist, "keys", name, &field);
        if (r == 0 && shape)
                r = check_shape(hist, field, word, shape);
        if (r == 0)
                append(hist, i > 0 ? "," : "keys=", word);
        return r;
}

static int add_value(Hist *hist, size_t i) {
        const char *word = get_wanted(hist)->values.items[i];
        const FormatField *field = NULL;

        int r = find_field(hist, "values", word, &field);
        if (r == 0 && (!is_number(field) || field->is_common))
                r = refuse(hist, KT_E_INVALID_SPEC, "values", word, "is no number that adds up");
        if (r == 0)
                append(hist, i > 0 ? "," : ":vals=hitcount,", word);
        return r;
}

static bool has_word(const SpecWords *words, const char *name) {
        for (size_t i = 0; i < words->n; i++)
                if (strncmp(words->items[i], name, strlen(name)) == 0 &&
                                strchr(".", words->items[i][strlen(name)]))
                        return true;
        return false;
}

static int add_sort(Hist *hist, size_t i) {
        const SpecHist *wanted = get_wanted(hist);
        const char *word = wanted->sort.items[i], *order = strchr(word, '.');
        char name[WORD_MAX + 1];

        (void)snprintf(name,
                        sizeof(name),
                        "%.*s",
                        order ? (int)(order - word) : (int)strlen(word),
                        word);
        if (strcmp(name, "hitcount") != 0 && !has_word(&wanted->keys, name) &&
                        !has_word(&wanted->values, name))
                return refuse(hist,
                                KT_E_INVALID_SPEC,
                                "sort",
                                word,
                                "write hitcount, a key or a value");
        if (order && strcmp(order, ".ascending") != 0 && strcmp(order, ".descending") != 0)
                return refuse(hist,
                                KT_E_INVALID_SPEC,
                                "sort",
                                word,
                                "the order is .ascending or .descending");
        /* The first is what the kernel takes it for, and does not tell. */
        append(hist,
                        i > 0 ? "," : ":sort=",
                        order && strcmp(order, ".ascending") == 0 ? name : word);
        return 0;
}

/* Two of the same on an event would be one to the kernel. */
static int check_same(const Hist *hist) {
        const Spec *spec = hist->d->spec;

        for (size_t i = 0; i < hist->index; i++) {
                const SpecTrigger *other = &spec->triggers[i];

                if (other->action == ACTION_HIST &&
                                strcmp(other->event, spec->triggers[hist->index].event) == 0 &&
                                strcmp(hist->d->grant->triggers[i].hist, hist->text) == 0)
                        return reason_set(hist->d->reason,
                                        KT_E_INVALID_SPEC,
                                        "triggers[%zu]: the same histogram as triggers[%zu]: leave "
                                        "one away",
                                        hist->index,
                                        i);
        }
        return 0;
}

int decision_make_hist(Decision *d, const Choice *choice, size_t index, char **filter, char **ret) {
        Hist hist = { .d = d, .choice = choice, .index = index, .filter = filter };
        const SpecHist *wanted = get_wanted(&hist);
        char number[32];

        /* As with filters: a record of theirs may be made while a stranger runs. */
        if (choice->event.speaks_of_others && !is_free(&hist))
                return refuse(&hist,
                                KT_E_ACCESS_DENIED,
                                "do",
                                "hist",
                                "the event speaks of tasks beside the traced ones, of which a "
                                "histogram would tell");
        int r = d->events->get_format ? d->events->get_format(choice->event.system,
                                                        choice->event.name,
                                                        &hist.format,
                                                        d->events->userdata)
                                      : -EOPNOTSUPP;
        for (size_t i = 0; r == 0 && i < wanted->keys.n; i++)
                r = add_key(&hist, i);
        for (size_t i = 0; r == 0 && i < wanted->values.n; i++)
                r = add_value(&hist, i);
        for (size_t i = 0; r == 0 && i < wanted->sort.n; i++)
                r = add_sort(&hist, i);
        if (r == 0 && wanted->size > 0) {
                (void)snprintf(number, sizeof(number), "%" PRIu64, wanted->size);
                append(&hist, ":size=", number);
        }
        r = r ?: check_same(&hist);
        if (r == 0) {
                *ret = strdup(hist.text);
                r = *ret ? 0 : -ENOMEM;
        }
        return r;
}
