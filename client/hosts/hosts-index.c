/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The page index.html beside the pages of several machines: what each recorded, how well its clock
 * is known, and a link to its page. It has no script. The texts of a manifest may be hostile. */

#include "hosts/hosts-index.h"

#include <inttypes.h>
#include <string.h>

#include "page/page-escape.h"

static const char hosts_index_head[] =
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\"\n"
                "      content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
                "<title>Recordings of several machines</title>\n"
                "<style>body { font-family: sans-serif } td, th { padding: 0.2em 1em; text-align: left }\n"
                "td.number { text-align: right }</style>\n"
                "</head><body>\n<table>\n"
                "<tr><th>Machine<th>State<th>Events<th>Lost<th>Clock\n";

/* A colon, for one, would make the rest a scheme. */
static void hosts_index_put_link(FILE *out, const char *file, const char *text) {
        fputs("<a href=\"", out);
        for (; *file; file++)
                if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~",
                                    *file))
                        (void)fputc(*file, out);
                else
                        fprintf(out, "%%%02X", (unsigned char)*file);
        fputs("\">", out);
        page_escape(out, text);
        fputs("</a>", out);
}

static void hosts_index_put_clock(FILE *out, const ClockTrack *track) {
        int64_t bound = clock_track_get_largest_bound(track, CLOCK_KIND_MONO);

        if (track->n == 0)
                fputs("<td>never compared\n", out);
        else
                fprintf(out, "<td>within %.3f ms\n", (double)bound / 1e6);
}

static void hosts_index_put_machine(FILE *out, const ManifestMachine *machine, const char *file) {
        fputs("<tr><td>", out);
        if (file)
                hosts_index_put_link(out, file, machine->host);
        else
                page_escape(out, machine->host);
        fputs("<td>", out);
        page_escape(out, machine->state);
        if (machine->message) {
                fputs(": ", out);
                page_escape(out, machine->message);
        }
        fprintf(out,
                        "<td class=\"number\">%" PRIu64 "<td class=\"number\">%" PRIu64,
                        machine->n_events,
                        machine->n_lost);
        hosts_index_put_clock(out, &machine->clock);
}

void hosts_index_write(FILE *out, const Manifest *manifest, char *const *files) {
        fputs(hosts_index_head, out);
        for (size_t i = 0; i < manifest->n_machines; i++)
                hosts_index_put_machine(out, &manifest->machines[i], files[i]);
        fputs("</table>\n</body></html>\n", out);
}
