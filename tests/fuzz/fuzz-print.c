/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tables of print formats. The input chooses up to four conversions with their arguments, and the
 * rest is a record of an event with fields of all kinds. Records come from files that anybody may
 * have written. The table must stay inside of the record, and print what libtraceevent prints. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "trace/decode.h"
#include "trace/print-run.h"

#define ID 7

const char *const fuzz_words[] = { "\xff\xff\xff\xff",
        "\x40\x00\x04\x00",
        "\x01\x00\xff\xff",
        "abcdefgh",
        NULL };

static const char *const conversions[] = {
        "%d",
        "%u",
        "%lx",
        "%016llx",
        "%#x",
        "%-12d|",
        "%.3d",
        "%hhd",
        "%hu",
        "%5.2X",
        "%o",
        "%p",
        "%pS",
        "%ps",
        "%i",
        "%zu",
};

static const char *const numbers[] = {
        "REC->n",
        "REC->wide",
        "REC->args[1]",
        "REC->common_pid",
        "__get_dynamic_array_len(bytes)",
        "((unsigned int) (REC->wide >> 20))",
        "(REC->n & 7) * 4 + 1",
        "~REC->wide",
        "-REC->n",
        "!REC->n",
        "REC->n > 3 ? 10 : 20",
        "(u8)REC->n == 255 && REC->wide != 0",
        "((REC->n << 3) | (REC->wide % 10)) ^ 0",
        "REC->wide / 1000",
        "((u8*)__get_dynamic_array(bytes))[2]",
        "sizeof(long)",
};

static const char *const string_conversions[] = { "%s", "%-10s|", "%12s", "%.3s", "%.*s" };

static const char *const strings[] = {
        "REC->name",
        "REC->tail",
        "__get_str(text)",
        "__get_rel_str(there)",
        "\"constant\"",
        "REC->n > 3 ? \"many\" : \"few\"",
        "REC->n ? __print_symbolic(REC->n, { 1, \"one\" }) : \"none\"",
        "__print_flags(REC->n, \"|\", { 1, \"A\" }, { 0x6, \"B\" })",
        "__print_flags(REC->wide, \"\", { 0x8000000000000000, \"top\" }, { -1, \"all\" })",
        "__print_symbolic(REC->n, { 0, \"zero\" }, { 1, \"one\" }, { RCU_SOFTIRQ, \"rcu\" })",
        "__print_hex(REC->name, 4)",
        "__print_hex(__get_dynamic_array(bytes), REC->n)",
        "__print_hex_str(__get_dynamic_array(bytes), __get_dynamic_array_len(bytes))",
        "(char *)REC->name",
};

static const char head[] =
                "name: fuzz\nID: 7\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:int n;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:__data_loc char[] text;\toffset:12;\tsize:4;\tsigned:0;\n"
                "\tfield:u64 wide;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:unsigned long args[3];\toffset:24;\tsize:24;\tsigned:0;\n"
                "\tfield:char name[8];\toffset:48;\tsize:8;\tsigned:0;\n"
                "\tfield:__data_loc u8[] bytes;\toffset:56;\tsize:4;\tsigned:0;\n"
                "\tfield:__rel_loc char[] there;\toffset:60;\tsize:4;\tsigned:0;\n"
                "\tfield:char tail[5];\toffset:64;\tsize:5;\tsigned:0;\n\n"
                "print fmt: ";

#define PICK(list, byte) ((list)[(byte) % ELEMENTSOF(list)])

/* Writes a print format with a conversion for each two bytes. */
static char *make_print(const uint8_t *choice, size_t n) {
        char *text, *arguments, *whole;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        FILE *list = open_memstream(&arguments, &size);

        fuzz_check(out && list);
        for (size_t i = 0; i < n; i++) {
                bool is_string = choice[2 * i] & 0x80;
                uint8_t what = choice[2 * i] & 0x7f, argument = choice[2 * i + 1];

                fprintf(out,
                                " %s",
                                is_string ? PICK(string_conversions, what)
                                          : PICK(conversions, what));
                if (is_string && strchr(PICK(string_conversions, what), '*'))
                        fprintf(list, ", REC->n");
                fprintf(list,
                                ", %s",
                                is_string ? PICK(strings, argument) : PICK(numbers, argument));
        }
        fuzz_check(fclose(out) == 0 && fclose(list) == 0);
        fuzz_check(asprintf(&whole, "%s\"a%%%%\\n%s\"%s\n", head, text, arguments) > 0);
        free(text);
        free(arguments);
        return whole;
}

static void run(Decode *decode, const Record *record) {
        const EventLayout *layout = decode_find(decode, record);
        TextBlock ours = { 0 }, theirs = { 0 };
        PrintTable *table;

        fuzz_check(layout != NULL);
        if (!event_layout_fits(layout, record->data, record->size))
                return;
        fuzz_check(print_table_new(layout, &table) == 0);
        if (table->is_compiled && print_guard_admits(&table->guard, record->data, record->size)) {
                print_run(table, record->data, record->size, &ours);
                decode_print_slowly(decode, record, true, &theirs);
                fuzz_check(ours.used == theirs.used);
                fuzz_check(ours.used == 0 || memcmp(ours.data, theirs.data, ours.used) == 0);
        }
        text_block_clear(&ours);
        text_block_clear(&theirs);
        print_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        size_t n = size > 0 ? data[0] % 5 : 0;
        Reason reason = { 0 };
        uint8_t *record;
        Decode *decode;
        char *format;

        if (size < 1 + 2 * n || size > 4096)
                return 0;
        format = make_print(data + 1, n);
        fuzz_check(decode_new(false, &decode) == 0);
        fuzz_check(decode_add_event(decode, "test", format, strlen(format), &reason) == 0);
        free(format);
        data += 1 + 2 * n;
        size -= 1 + 2 * n;
        /* Exactly as large as the record, so that AddressSanitizer sees each byte beyond it. */
        record = malloc(size + 8);
        fuzz_check(record != NULL);
        memcpy(record, &(uint64_t){ ID }, 8);
        memcpy(record + 8, data, size);
        run(decode, &(Record){ .data = record, .size = (uint32_t)size + 8 });
        decode_free(decode);
        free(record);
        return 0;
}
