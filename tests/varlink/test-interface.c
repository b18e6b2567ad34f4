/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is documented is what is served: interfaces/org.ktrace1.varlink and the XML say what the
 * table of methods and the table of errors say, and have the same methods with the same arguments.
 */
#include <gio/gio.h>

#include "door/method-table.h"
#include "interfaces/names.h"
#include "varlink/method-list.h"

#define MAY_ASK "allowInteractiveAuthentication: ?bool"

/* name -> "session: string, options: ?object"; the results beside it. */
static GHashTable *parameters, *results;
static char *idl;

static char *squeeze(const char *text) {
        g_autoptr(GRegex) blank = g_regex_new("\\s+", 0, 0, NULL);
        g_autofree char *one = g_regex_replace_literal(blank, text, -1, 0, " ", 0, NULL);

        return g_strdup(g_strstrip(one));
}

static void read_idl(void) {
        g_autofree char *path = g_build_filename(
                        g_getenv("KTRACE_SOURCE_ROOT"), "interfaces", "org.ktrace1.varlink", NULL);
        g_autoptr(GRegex) comment = g_regex_new("^#.*$", G_REGEX_MULTILINE, 0, NULL);
        g_autoptr(GRegex) method = g_regex_new(
                        "^method (\\w+)\\(([^)]*)\\) -> \\(([^()]*)", G_REGEX_MULTILINE, 0, NULL);
        g_autofree char *text = NULL;
        g_autoptr(GMatchInfo) match = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        idl = g_regex_replace_literal(comment, text, -1, 0, "", 0, NULL);
        parameters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        results = g_hash_table_new_full(
                        g_str_hash, g_str_equal, NULL, g_free); /* names are shared */
        g_regex_match(method, idl, 0, &match);
        for (; g_match_info_matches(match); g_match_info_next(match, NULL)) {
                g_autofree char *in = g_match_info_fetch(match, 2);
                g_autofree char *out = g_match_info_fetch(match, 3);
                char *name = g_match_info_fetch(match, 1);

                g_assert_true(g_hash_table_insert(parameters, name, squeeze(in)));
                g_hash_table_insert(results, name, squeeze(out));
        }
}

static gboolean is_subscription(const char *method) {
        return g_str_equal(method, "Subscribe") || g_str_equal(method, "Watch");
}

static const char *type_of(enum json_type type) {
        switch (type) {
        case json_type_string:
                return "string";
        case json_type_object:
                return "object";
        case json_type_boolean:
                return "bool";
        case json_type_array:
                return "[]object";
        default:
                g_assert_not_reached();
        }
}

static void test_table(void) {
        _cleanup_(method_list_free_cleanup) MethodList *list = NULL;

        g_assert_cmpint(method_list_new(method_table, NULL, &list), ==, 0);
        const VarlinkInterface *interface = method_list_get(list);
        g_assert_cmpuint(interface->n_methods, ==, g_hash_table_size(parameters));
        for (size_t i = 0; i < interface->n_methods; i++) {
                const VarlinkMethod *method = &interface->methods[i];
                g_autoptr(GString) text = g_string_new("");

                for (const VarlinkParameter *p = method->parameters; p && p->name; p++)
                        g_string_append_printf(text,
                                        "%s%s: %s%s",
                                        text->len > 0 ? ", " : "",
                                        p->name,
                                        p->is_optional ? "?" : "",
                                        type_of(p->type));
                g_test_message("%s", method->name);
                g_assert_cmpstr(g_hash_table_lookup(parameters, method->name), ==, text->str);
                g_assert_cmpint(method->needs_more, ==, is_subscription(method->name));
        }
}

/* Each entry can be served: it has one verb, and its session is the first parameter. */
static void test_entries(void) {
        for (const Method *method = method_table; method->name; method++) {
                const MethodValue *first = method->parameters;

                g_test_message("%s", method->name);
                g_assert_true(!method->verb != !method->session_verb);
                g_assert_true(method->is_of_session || method->verb);
                g_assert_cmpint(method->is_of_session,
                                ==,
                                first && first->type == VALUE_SESSION &&
                                                g_str_equal(first->name, "session"));
                for (const Method *other = method_table; other < method; other++)
                        g_assert_cmpstr(other->name, !=, method->name);
        }
}

/* NULL: it has no place in Varlink. */
static const char *type_from(const char *signature) {
        static const char *const types[][2] = {
                { "a{sv}", "object" },
                { "aa{sv}", "[]object" },
                { "s", "string" },
                { "as", "[]string" },
                { "h", "int" },
                { "u", "int" },
                { "a(sosus)", "[]Session" },
                { "o", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
                if (g_str_equal(types[i][0], signature))
                        return types[i][1];
        g_error("%s: not known here", signature);
}

/* "spec:a{sv}" for each argument, from the table and from the XML. */
static char *list_values(const MethodValue *values) {
        g_autoptr(GString) text = g_string_new("");

        for (; values && values->name; values++)
                if (value_get_signature(values->type))
                        g_string_append_printf(text,
                                        " %s:%s",
                                        values->name,
                                        value_get_signature(values->type));
        return g_strdup(text->str);
}

static char *list_arguments(GDBusArgInfo **arguments) {
        g_autoptr(GString) text = g_string_new("");

        for (; arguments && *arguments; arguments++)
                g_string_append_printf(text, " %s:%s", (*arguments)->name, (*arguments)->signature);
        return g_strdup(text->str);
}

static void compare_entry(const GDBusMethodInfo *info, bool is_of_session) {
        const Method *method = method_table;

        while (method->name && !g_str_equal(method->name, info->name))
                method++;
        g_assert_cmpstr(method->name, ==, info->name);
        g_assert_cmpint(method->is_of_session, ==, is_of_session);
        g_autofree char *in = list_values(method->parameters), *out = list_values(method->results);
        g_autofree char *xml_in = list_arguments(info->in_args);
        g_autofree char *xml_out = list_arguments(info->out_args);
        g_assert_cmpstr(in, ==, xml_in);
        g_assert_cmpstr(out, ==, xml_out);
}

static void append_arguments(GString *text, GDBusArgInfo **arguments) {
        for (; arguments && *arguments; arguments++) {
                const char *type = type_from((*arguments)->signature);

                if (type)
                        g_string_append_printf(text,
                                        "%s%s: %s%s",
                                        text->len > 0 ? ", " : "",
                                        (*arguments)->name,
                                        g_str_equal((*arguments)->name, "options") ? "?" : "",
                                        type);
        }
}

/* What a flag of the message is on the bus. */
static char *without_flag(const char *text) {
        g_autofree char *first = g_strdup(text);

        if (g_str_has_suffix(first, MAY_ASK))
                first[strlen(first) - strlen(MAY_ASK)] = '\0';
        return g_str_has_suffix(first, ", ") ? g_strndup(first, strlen(first) - 2)
                                             : g_strdup(first);
}

static unsigned compare_method(const GDBusMethodInfo *method, const char *first) {
        g_autoptr(GString) in = g_string_new(first), out = g_string_new("");
        const char *has = g_hash_table_lookup(parameters, method->name);

        g_test_message("%s", method->name);
        compare_entry(method, *first);
        g_assert_nonnull(has);
        g_autofree char *own = without_flag(has);
        append_arguments(in, method->in_args);
        g_assert_cmpstr(own, ==, in->str);
        append_arguments(out, method->out_args);
        if (g_str_equal(method->name, "GetSession")) /* a path on the bus */
                g_string_assign(out, "id: string");
        if (!is_subscription(method->name)) /* signals on the bus */
                g_assert_cmpstr(g_hash_table_lookup(results, method->name), ==, out->str);
        return 1;
}

static unsigned compare_interface(const char *name, const char *first) {
        g_autofree char *path = g_strdup_printf(
                        "%s/interfaces/%s.xml", g_getenv("KTRACE_SOURCE_ROOT"), name);
        g_autofree char *text = NULL;
        g_autoptr(GError) error = NULL;
        unsigned n = 0;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_autoptr(GDBusNodeInfo) node = g_dbus_node_info_new_for_xml(text, &error);
        g_assert_no_error(error);
        GDBusInterfaceInfo *info = g_dbus_node_info_lookup_interface(node, name);
        for (GDBusMethodInfo **m = info->methods; *m; m++)
                n += compare_method(*m, first);
        return n;
}

static void test_bus(void) {
        unsigned n = compare_interface(KT_MANAGER_INTERFACE, "");

        n += compare_interface(KT_SESSION_INTERFACE, "session: string");
        g_assert_cmpuint(n, ==, g_hash_table_size(parameters));
}

static void test_errors(void) {
        unsigned n = 0;

        for (const char *at = idl; (at = strstr(at, "\nerror ")); at++)
                n++;
        g_assert_cmpuint(n, ==, _KT_E_N - 1);
        for (int code = 1; code < _KT_E_N; code++) {
                g_autofree char *line = g_strdup_printf("\nerror %s (reason: string)\n",
                                error_get(code)->bus_name + strlen(KT_ERROR_PREFIX));
                g_assert_nonnull(strstr(idl, line));
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        read_idl();
        g_test_add_func("/interface/table", test_table);
        g_test_add_func("/interface/entries", test_entries);
        g_test_add_func("/interface/bus", test_bus);
        g_test_add_func("/interface/errors", test_errors);
        int r = g_test_run();
        g_hash_table_unref(parameters);
        g_hash_table_unref(results);
        g_free(idl);
        return r;
}
