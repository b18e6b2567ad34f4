/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints single events of Chrome's JSON format ("Trace Event Format"). Called by export-chrome.c.
 * Times are microseconds with three decimals. */

#include "export/chrome-event.h"

#include "trace/json-string.h"

static void chrome_event_add_usec(TextBlock *block, uint64_t ns) {
        text_block_add_decimal(block, ns / 1000);
        text_block_add_char(block, '.');
        text_block_add_digits(block, ns % 1000, 3);
}

static void chrome_event_add_track(TextBlock *block, ChromeTrack track) {
        text_block_add(block, ",\"pid\":", 7);
        text_block_add_decimal(block, track.process);
        text_block_add(block, ",\"tid\":", 7);
        text_block_add_signed(block, track.number);
}

static void chrome_event_add_head(TextBlock *block, char phase, const char *name, size_t size) {
        text_block_add_format(block, ",\n{\"ph\":\"%c\",\"name\":", phase);
        json_string_add(block, name, size);
}

void chrome_event_begin_slice(TextBlock *block,
                const char *name,
                ChromeTrack track,
                uint64_t start,
                uint64_t end) {
        chrome_event_add_head(block, 'X', name, strlen(name));
        chrome_event_add_track(block, track);
        text_block_add(block, ",\"ts\":", 6);
        chrome_event_add_usec(block, start);
        text_block_add(block, ",\"dur\":", 7);
        chrome_event_add_usec(block, end - start);
        text_block_add(block, ",\"args\":{", 9);
}

void chrome_event_begin_instant(TextBlock *block,
                const char *name,
                size_t size,
                ChromeTrack track,
                uint64_t ts) {
        chrome_event_add_head(block, 'i', name, size);
        chrome_event_add_track(block, track);
        text_block_add(block, ",\"s\":\"t\",\"ts\":", 14);
        chrome_event_add_usec(block, ts);
        text_block_add(block, ",\"args\":{", 9);
}

void chrome_event_end(TextBlock *block) {
        text_block_add(block, "}}", 2);
}

void chrome_event_add_name(TextBlock *block,
                const char *kind,
                ChromeTrack track,
                const char *name) {
        chrome_event_add_head(block, 'M', kind, strlen(kind));
        chrome_event_add_track(block, track);
        text_block_add(block, ",\"args\":{\"name\":", 16);
        json_string_add(block, name, strlen(name));
        chrome_event_end(block);
}
