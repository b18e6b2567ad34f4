/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <time.h>

#include "feed/feed-link.h"
#include "feed/share-ends.h"
#include "feed/share.h"

/* What the files of a share have in common. */

/* The most sessions of one user in an instance with several users. Each may need a copy of all
 * records. */
#define SHARE_OF_USER_MAX 4

typedef struct ShareMove ShareMove;

typedef struct ShareClass {
        unsigned n_viewers;
        int pool;
        bool is_told; /* the reader knows it */
} ShareClass;

struct ShareViewer {
        Share *share;
        Trace *trace;
        const ShareHandlers *handlers;
        void *userdata;
        unsigned number;
        ShareClass *class; /* NULL: it has not begun */
        bool is_adopted;   /* the reader may know it from the last daemon */
        bool is_pending;   /* its trace is being adopted */
        bool is_told;      /* the reader knows it */
        bool has_joined, has_ended;
        bool is_moved;      /* it came from another instance */
        ControlType wanted; /* JOIN, LEAVE or MOVE, until it is answered; 0: none */
        int off;            /* memfd of ids: the events that its session has off; -1: none */
        int wanted_off;     /* the same from the answer to JOIN on */
        bool is_asked;      /* the request was sent to the reader */
        ShareThen then;
        ShareMove *move;    /* to another instance; NULL: it stays */
        uint64_t move_nsec; /* both instances record since then, in their clock */
        ShareEnds ends;
};

struct Share {
        const ConsumerLauncher *launcher;
        Worker *worker;
        uid_t uid; /* of its first viewer: the reader's rings are opened in this user's turn */
        Shared *shared;
        struct ShareList *list;
        FdStore *fd_store;
        bool is_adopting;   /* more viewers may be adopted */
        unsigned n_pending; /* viewers */
        bool awaits_adopted;
        FeedLink link;
        Plan rings;
        int *ring_fds;
        size_t n_ring_fds;
        bool rings_in_flight;
        bool is_ready;   /* the reader has closed its sandbox */
        bool is_reading; /* it has the rings */
        unsigned n_lost_readers;
        time_t lost_since; /* CLOCK_MONOTONIC: the first of them */
        bool has_failed;
        bool is_alone;  /* for one session that has filled another instance */
        bool is_orphan; /* freed when the plan of the rings is over */
        unsigned n_cpus;
        uint32_t subbuf_size, marker_id;
        ShareViewer *viewers[SHARE_VIEWERS_MAX];
        ShareClass classes[SHARE_VIEWERS_MAX];
        unsigned n_viewers, n_active; /* places taken; viewers that have not ended */
        uint64_t held;    /* a bit for each place of a viewer that moves in, or has moved out */
        uid_t holder;     /* whose they are */
        unsigned n_asked; /* requests that the reader has not answered */
        TAILQ_ENTRY(Share) shares;
};

Share *share_free(Share *share);
/* One place less is taken. Without any, the share is freed. */
void share_drop_place(Share *share);
void share_make_pool_name(const Share *share, const ShareClass *class, char name[static 64]);
/* Returns how many viewers belong to this user. */
unsigned share_count_user(const Share *share, uid_t uid);
/* Returns whether the trace may be in it, beside those that are. */
bool share_is_for(const Share *share, const Trace *trace);
/* Takes the place with this number, which is free. */
int share_add_viewer(Share *share, unsigned number, Trace *trace, ShareViewer **ret);
/* Gives the trace what it must know of its place. */
void share_connect(ShareViewer *viewer, const ShareHandlers *handlers, void *userdata);
