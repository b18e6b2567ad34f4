/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct ProxyArgument {
        const char *name;
        const char *type;           /* on the bus */
        const char *const *members; /* of an array's structs; NULL: it has none */
} ProxyArgument;

/* A method of ktraced as its interface has it. */
typedef struct ProxyMethod {
        const char *name;
        bool is_of_session;
        ProxyArgument in[3], out[3]; /* up to the first without a name */
} ProxyMethod;

/* NULL: not among those that ktracectl uses. */
const ProxyMethod *proxy_method_find(const char *name);
/* For the test that compares them with the interface. */
const ProxyMethod *proxy_method_get_all(size_t *ret_n);
/* It gives a descriptor. */
bool proxy_method_has_fd(const ProxyMethod *method);
