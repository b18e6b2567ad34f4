/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ProxyArgument {
        const char *name;
        const char *type;           /* D-Bus type */
        const char *const *members; /* of the structs in an array; NULL: none */
} ProxyArgument;

/* A method of ktraced as the interface defines it. */
typedef struct ProxyMethod {
        const char *name;
        bool is_of_session;
        ProxyArgument in[3], out[3]; /* end at the first without a name */
} ProxyMethod;

/* Returns NULL for a method that ktracectl does not use. */
const ProxyMethod *proxy_method_find(const char *name);
/* For the test that compares the table with the interface. */
const ProxyMethod *proxy_method_get_all(size_t *ret_n);
/* Whether the method returns a descriptor. */
bool proxy_method_has_fd(const ProxyMethod *method);
