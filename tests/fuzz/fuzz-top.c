/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the host of `top -H` sends for a refresh: a text that is taken is taken again after it was
 * printed, and the screen that is made of it has no control characters of the host. */

#include <string.h>

#include "fuzz.h"
#include "interfaces/json.h"
#include "top/top-answer.h"
#include "top/top-frame.h"

const char *const fuzz_words[] = { "\"scope\":\"x\"",
        "\"interval-nsec\":1000000000",
        "\"events\":1",
        "\"lost-events\":1",
        "\"lost-more\":true",
        "\"other-calls\":1",
        "\"threads\":[",
        "\"calls\":[",
        "\"devices\":[",
        "\"name\":\"\\u001b\\u009b\\n\"",
        "\"running-nsec\":1",
        "18446744073709551615",
        NULL };

static void check_frame(const TopAnswer *answer, TopViewId view) {
        TopChoice choice = { .view = view };
        TopFrame frame = { .choice = &choice,
                .numbers = &answer->numbers,
                .scope = answer->scope,
                .interval_nsec = answer->interval_nsec };
        TextBlock block = {};

        choice.sort[view] = top_view_get(view)->sort;
        top_frame_add(&block, &frame);
        fuzz_check(!block.is_short_of_memory);
        for (size_t i = 0; i < block.used; i++) {
                unsigned char c = (unsigned char)block.data[i];

                fuzz_check((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
                fuzz_check(c != 0xc2 || i + 1 == block.used ||
                                (unsigned char)block.data[i + 1] < 0x80 ||
                                (unsigned char)block.data[i + 1] >= 0xa0);
        }
        text_block_clear(&block);
}

static void check_again(const TopAnswer *answer) {
        json_object *object =
                        top_view_to_json(&answer->numbers, answer->interval_nsec, answer->scope);
        const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
        TopAnswer again;
        Reason reason = {};

        fuzz_check(top_answer_read(text, strlen(text), &again, &reason) == 0);
        fuzz_check(again.interval_nsec == answer->interval_nsec &&
                        again.numbers.n_events == answer->numbers.n_events &&
                        again.numbers.n_threads == answer->numbers.n_threads &&
                        again.numbers.n_calls == answer->numbers.n_calls &&
                        again.numbers.n_devices == answer->numbers.n_devices);
        top_numbers_clear(&again.numbers);
        json_object_put(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        TopAnswer answer;
        Reason reason = {};

        if (top_answer_read((const char *)data, size, &answer, &reason) != 0) {
                fuzz_check(reason.text[0] != '\0');
                return 0;
        }
        for (TopViewId view = 0; view < _TOP_VIEW_N; view++)
                check_frame(&answer, view);
        check_again(&answer);
        top_numbers_clear(&answer.numbers);
        return 0;
}
