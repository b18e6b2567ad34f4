/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"

/* polkit's own agent for terminals, as our child. It asks for passwords on the terminal. */
typedef struct Agent Agent;

/* Returns once the agent is registered, or cannot be. *ret is NULL if no agent can run: stdin is
 * not a terminal, the caller is root (polkit does not ask root), or pkttyagent is not installed.
 * A desktop's own agent has precedence. 0 or -errno. */
int agent_open(Agent **ret);
/* Ends the agent and removes an open prompt. */
Agent *agent_free(Agent *agent);
DEFINE_CLEANUP(Agent, agent_free);
