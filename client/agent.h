/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"

/* polkit's own agent for terminals, as a child of ours: asks for passwords on the terminal. */
typedef struct Agent Agent;

/* Returns once polkit knows it, or will never. *ret is NULL where there is none to be had: no
 * terminal on stdin, root (whom nobody asks), pkttyagent not installed. A desktop's own agent goes
 * before it. 0 or -errno. */
int agent_open(Agent **ret);
/* Ends it; a prompt that stands is taken away. */
Agent *agent_free(Agent *agent);
DEFINE_CLEANUP(Agent, agent_free);
