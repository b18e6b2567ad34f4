/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the other side of -H sends: the packets are the same however the bytes are cut, each is in
 * the reader's buffer and within its limit, and a hello that is taken is taken again. */

#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "remote/hello.h"
#include "remote/packet.h"

const char *const fuzz_words[] = { "KT\x01",
        "KT\x02",
        "KT\x03",
        "KT\x04",
        "KT\x0b",
        "KT\x0c",
        "KT\x0d",
        "KT\x10",
        "KT\x11",
        "KT\x12",
        "KT\x13",
        "\"protocol\":1",
        "\"oldest\":1",
        "\"version\":\"1\"",
        NULL };

static void check_hello(const Packet *packet) {
        Hello hello, again;
        Reason reason = {};

        if (hello_parse((const char *)packet->data, packet->size, &hello, &reason) != 0) {
                fuzz_check(reason.text[0] != '\0');
                return;
        }
        char *text = hello_to_text(&hello);
        fuzz_check(text && hello_parse(text, strlen(text), &again, &reason) == 0);
        fuzz_check(again.protocol == hello.protocol && again.oldest == hello.oldest &&
                        strcmp(again.version, hello.version) == 0);
        free(text);
}

/* Returns a sum of all packets. */
static uint64_t read_packets(PacketSide from, const uint8_t *data, size_t size, size_t portion) {
        static PacketReader reader;
        uint64_t sum = 1;
        int r = 0;

        reader = (PacketReader){ .from = from };
        memset(reader.buffer, 'A', sizeof(reader.buffer)); /* no NUL ends what was not yet read */
        while (size > 0 && r == 0) {
                Packet packet;
                Reason reason = {};
                size_t space;
                uint8_t *place = packet_reader_get_space(&reader, &space);
                size_t n = MIN_OF(MIN_OF(portion, space), size);

                fuzz_check(n > 0);
                memcpy(place, data, n);
                packet_reader_add(&reader, n);
                data += n;
                size -= n;
                while ((r = packet_reader_take(&reader, &packet, &reason)) > 0) {
                        fuzz_check(packet.size <= PACKET_DATA_MAX);
                        fuzz_check(packet.data >= reader.buffer &&
                                        packet.data + packet.size <=
                                                        reader.buffer + sizeof(reader.buffer));
                        sum = sum * 31 + (uint64_t)packet.type * 65537 + packet.size;
                        if (packet.type == PACKET_HELLO)
                                check_hello(&packet);
                }
                fuzz_check(r == 0 || (r == -EBADMSG && reason.text[0] != '\0'));
        }
        return r < 0 ? sum * 31 + 7 : sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        for (PacketSide from = PACKET_NEAR; from <= PACKET_FAR; from++)
                fuzz_check(read_packets(from, data, size, 3) ==
                                read_packets(from, data, size, SIZE_MAX));
        return 0;
}
