/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks where a probe may be placed in a program's file. A breakpoint in the middle of an
 * instruction, or a counter address that is not a counter, changes what every process that runs the
 * file computes. So the answer comes from the file, and not from the caller: the instructions are
 * decoded from the beginning of the function. inspector.c calls this in the sandbox, because the
 * file may have been made to break this code. The answer concerns only this file, and a user who
 * may change the file could also change its program. */

#include "consumer/inspect/inspect.h"

#include <errno.h>
#include <inttypes.h>

#ifdef __x86_64__
#include <Zydis/Zydis.h>
#endif

#include "consumer/inspect/inspect-function.h"
#include "interfaces/defence.h"

#define FUNCTION_MAX      ((uint64_t)4 << 20) /* limit of the bytes to decode */
#define CHUNK_BYTES       4096
#define INSTRUCTION_BYTES 16 /* x86 has instructions of up to 15 */

#ifdef __x86_64__
typedef ZydisDecoder Decoder;

static int inspect_decoder_init(Decoder *decoder, bool is_64) {
        ZyanStatus status = ZydisDecoderInit(decoder,
                        is_64 ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
                        is_64 ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32);

        return ZYAN_SUCCESS(status) ? 0 : -EINVAL;
}

/* Returns the length of the instruction at data, or 0 when there is no valid instruction. */
static size_t inspect_get_length(const Decoder *decoder, const uint8_t *data, size_t size) {
        ZydisDecodedInstruction instruction;

        ZyanStatus status = ZydisDecoderDecodeInstruction(decoder, NULL, data, size, &instruction);
        return ZYAN_SUCCESS(status) ? instruction.length : 0;
}
#else
typedef bool Decoder;

static int inspect_decoder_init(Decoder *decoder, bool is_64) {
        *decoder = is_64;
        return is_64 ? 0 : -EINVAL;
}

static size_t inspect_get_length(const Decoder *decoder _unused_,
                const uint8_t *data _unused_,
                size_t size) {
        return size < 4 ? 0 : 4;
}
#endif

/* Decodes from the function's first instruction to the last one that begins at `place` or before
 * it. */
static int decode(InspectFile *file,
                uint64_t at,
                uint64_t place,
                uint64_t end,
                uint64_t *ret_last) {
        uint8_t data[CHUNK_BYTES];
        uint64_t from = at; /* file offset of data[0] */
        size_t there = 0;
        Decoder decoder;

        int r = inspect_decoder_init(&decoder, file->is_64);
        while (r == 0) {
                /* The chunk must hold a whole instruction, or all remaining bytes. */
                if (at - from + INSTRUCTION_BYTES > there && from + there < end) {
                        from = at;
                        there = (size_t)MIN_OF(end - at, (uint64_t)sizeof(data));
                        r = inspect_read(file, from, data, there);
                        if (r < 0)
                                break;
                }
                size_t into = (size_t)(at - from);
                size_t length = inspect_get_length(&decoder, data + into, there - into);
                if (length == 0 || length > end - at)
                        return -EILSEQ;
                if (place < at + length) {
                        *ret_last = at;
                        return 0;
                }
                at += length;
                if (at >= end)
                        return -EILSEQ;
        }
        return r;
}

static int inspect_refuse(int error, uint64_t offset, Reason *reason) {
        const char *why = "the file is damaged there";

        if (error == -ENOENT)
                why = "the file (.eh_frame, symbols) does not show where the function "
                      "around it begins";
        else if (error == -EDQUOT)
                why = "too much of the file would have to be read";
        else if (error == -EILSEQ)
                why = "the code before it in its function cannot be decoded";
        else if (error != -EBADMSG)
                return error;
        return reason_set(reason, KT_E_FAILED, "offset %#" PRIx64 ": %s", offset, why);
}

/* Finds the offsets of the function that contains the place, within the segment's bytes. */
static int inspect_search_function(InspectFile *file,
                const Elf64_Phdr *segment,
                uint64_t offset,
                uint64_t *ret_start,
                uint64_t *ret_end) {
        uint64_t address = offset - segment->p_offset + segment->p_vaddr;
        uint64_t start = 0, end = 0;

        int r = inspect_find_function(file, address, &start, &end);
        if (r < 0)
                return r;
        if (start > address || end <= address || start < segment->p_vaddr ||
                        end - segment->p_vaddr > segment->p_filesz)
                return -EBADMSG;
        if (address - start > FUNCTION_MAX)
                return -EDQUOT;
        *ret_start = start - segment->p_vaddr + segment->p_offset;
        *ret_end = end - segment->p_vaddr + segment->p_offset;
        return 0;
}

int inspect_offset(InspectFile *file, uint64_t offset, UserPlace *ret, Reason *reason) {
        const Elf64_Phdr *segment = inspect_find_offset(file, offset, 1);
        uint64_t start, end, last;

        if (!segment || !(segment->p_flags & PF_X))
                return reason_set(reason,
                                KT_E_FAILED,
                                "no code of the file lies at offset %#" PRIx64,
                                offset);
        int r = inspect_search_function(file, segment, offset, &start, &end);
        r = r ?: decode(file, start, offset, end, &last);
        if (r < 0)
                return inspect_refuse(r, offset, reason);
        if (last != offset && defence_is_on("boundaries"))
                return reason_set(reason,
                                KT_E_FAILED,
                                "offset %#" PRIx64
                                " is in the middle of an instruction, which begins at %#" PRIx64,
                                offset,
                                last);
        *ret = (UserPlace){ .offset = offset, .function = start, .is_32bit = !file->is_64 };
        return 0;
}
