/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* redact-stream IN OUT CUTS: the .kts stream IN as the consumer would have written it with CUTS, a
 * JSON object of event name to its "cut" array; null: the event is not told. Used by redacted.sh.
 */

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "consumer/records/mask-rules.h"
#include "consumer/records/page.h"
#include "interfaces/frame.h"

#include <fcntl.h>

static void die(const char *what) {
        fprintf(stderr, "redact-stream: %s\n", what);
        exit(1);
}

static json_object *get(json_object *object, const char *key) {
        json_object *value;

        if (!json_object_object_get_ex(object, key, &value))
                die(key);
        return value;
}

/* Those of the stream's events that may be reported, each with its cuts. */
static Masks *make_masks(json_object *metadata, json_object *cuts) {
        _cleanup_json_ json_object *reported = json_object_new_array();
        json_object *events = get(metadata, "events"), *cut;
        Masks *masks = NULL;

        for (size_t i = 0; i < json_object_array_length(events); i++) {
                json_object *event = json_object_array_get_idx(events, i);
                const char *name = json_object_get_string(get(event, "name"));
                bool is_named = json_object_object_get_ex(cuts, name, &cut);

                if (is_named && !cut)
                        continue;
                if (is_named)
                        json_object_object_add(event, "cut", json_object_get(cut));
                json_object_array_add(reported, json_object_get(event));
        }
        if (masks_new(reported, false, &masks) < 0)
                die("the cuts are not understood");
        return masks;
}

static void put(FILE *out, FrameHeader header, const void *payload) {
        uint8_t bytes[sizeof(header)];

        frame_header_encode(bytes, &header);
        fwrite(bytes, 1, sizeof(bytes), out);
        fwrite(payload, 1, header.size, out);
}

int main(int argc, char **argv) {
        _cleanup_free_ char *bytes = NULL;
        json_object *metadata = NULL;
        PageTally tally = {};
        Masks *masks = NULL;
        size_t size, subbuf_size = 0;

        if (argc != 4)
                return 2;
        int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
        FILE *out = fopen(argv[2], "we");
        json_object *cuts = json_tokener_parse(argv[3]);
        if (fd < 0 || !out || !cuts || fd_read_all(fd, FRAME_SIZE_MAX, &bytes, &size) < 0)
                die("cannot begin");
        fwrite(bytes, 1, sizeof(StreamHeader), out);
        for (size_t at = sizeof(StreamHeader); at + sizeof(FrameHeader) <= size;) {
                uint8_t *payload = (uint8_t *)bytes + at + sizeof(FrameHeader);
                FrameHeader header;

                if (frame_header_decode((uint8_t *)bytes + at, &header, NULL) != 0)
                        die("bad frame");
                at += sizeof(FrameHeader) + header.size;
                if (header.type == FRAME_METADATA) {
                        char *text = strndup((char *)payload, header.size);

                        metadata = json_tokener_parse(text);
                        free(text);
                        if (!metadata)
                                die("bad metadata");
                        masks = make_masks(metadata, cuts);
                        subbuf_size = json_object_get_uint64(get(metadata, "subbuf-size"));
                        const char *reported = json_object_to_json_string(metadata);
                        header.size = strlen(reported);
                        put(out, header, reported);
                        continue;
                }
                for (size_t i = 0; header.type == FRAME_DATA && i < header.size; i += subbuf_size)
                        page_clean(masks,
                                        payload + i,
                                        MIN_OF(subbuf_size, header.size - i),
                                        &tally);
                put(out, header, payload);
        }
        if (tally.n_unparsed > 0)
                die("sub-buffers that cannot be walked");
        masks_free(masks);
        json_object_put(metadata);
        json_object_put(cuts);
        close(fd);
        return fclose(out) == 0 ? 0 : 1;
}
