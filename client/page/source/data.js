/* Unpacks the page's data, whose form client/export/export-html.c describes, and reads the fields
 * of records when they are shown. */

const FLAG_LOSS = 0x8000, FLAG_UNKNOWN = 0x4000, BUFFER_MASK = 0x3fff;
const FIELD_POINTER = 1, FIELD_STRING = 2, FIELD_ARRAY = 3;
const FIELD_SIGNED = 1, FIELD_SWAPPED = 2, FIELD_DYNAMIC = 4, FIELD_RELATIVE = 8;
const CALL_NO_RETURN = 1, CALL_UNFINISHED = 2; /* CallState of analysis/call-pair.h */
const CALL_DOUBTFUL = 1, CALL_PROVEN = 2;
const RECORD_HEADER = 8; /* event, flags, thread */

const decodeBase64 = (text) => {
        if (Uint8Array.fromBase64)
                return Uint8Array.fromBase64(text);
        const binary = atob(text), bytes = new Uint8Array(binary.length);
        for (let i = 0; i < binary.length; i++)
                bytes[i] = binary.charCodeAt(i);
        return bytes;
};

const unpack = (element) => {
        const packed = decodeBase64(element.textContent);
        element.remove(); /* its text needs more memory than what is in it */
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
        return new Response(stream).arrayBuffer();
};

/* Reads varints. Numbers above 2^53 lose their last digits. */
class VarintReader {
        constructor(bytes, place) {
                this.bytes = bytes;
                this.place = place;
        }
        next() {
                let byte = this.bytes[this.place++];
                if (byte < 0x80)
                        return byte;
                let number = byte & 0x7f;
                for (let factor = 128; byte >= 0x80; factor *= 128) {
                        byte = this.bytes[this.place++];
                        number += (byte & 0x7f) * factor;
                }
                return number;
        }
        nextSigned() {
                const number = this.next();
                return number % 2 === 1 ? -(number + 1) / 2 : number / 2;
        }
}

/* All events and losses, in time order. An item is its index. */
class Items {
        constructor(meta) {
                const n = meta.events + meta.losses;
                this.n = 0;
                this.blocks = [];
                this.time = new Float64Array(n); /* nanoseconds since the first item */
                this.cpu = new Uint16Array(n);
                this.flags = new Uint16Array(n);
                this.tid = new Int32Array(n);
                this.kind = new Int32Array(n); /* the event's id; -1: a loss or unknown */
                this.block = new Uint16Array(n);
                this.offset = new Uint32Array(n);
                this.size = new Uint32Array(n);
        }

        add(buffer) {
                const [n, timesSize] = new Uint32Array(buffer, 0, 2);
                const sizes = new Uint32Array(buffer, 8, n), first = this.n;
                const times = new VarintReader(new Uint8Array(buffer), 8 + 8 * n);
                const view = new DataView(buffer);
                let offset = 8 + 8 * n + timesSize, time = first > 0 ? this.time[first - 1] : 0;

                this.cpu.set(new Uint16Array(buffer, 8 + 4 * n, n), first);
                this.flags.set(new Uint16Array(buffer, 8 + 6 * n, n), first);
                this.size.set(sizes, first);
                this.block.fill(this.blocks.length, first, first + n);
                for (let i = 0; i < n; i++) {
                        const item = first + i, flags = this.flags[item];
                        time += times.next();
                        this.time[item] = time;
                        this.offset[item] = offset;
                        this.kind[item] = flags & (FLAG_LOSS | FLAG_UNKNOWN) ? -1
                                : view.getUint16(offset, true);
                        this.tid[item] = flags & FLAG_LOSS || sizes[i] < RECORD_HEADER ? -1
                                : view.getInt32(offset + 4, true);
                        offset += sizes[i];
                }
                this.blocks.push(view);
                this.n += n;
        }

        isLoss(item) {
                return (this.flags[item] & FLAG_LOSS) !== 0;
        }

        /* The number of lost events, or -1. */
        lost(item) {
                return Number(this.blocks[this.block[item]].getBigInt64(this.offset[item], true));
        }
}

/* A field of an event, as page-meta.c writes it. */
class Field {
        constructor([name, kind, offset, size, element, flags]) {
                Object.assign(this, { name, kind, offset, size, element, flags });
        }

        /* Returns the place and the size of its data in the record's block. */
        locate(items, item) {
                const view = items.blocks[items.block[item]], start = items.offset[item];
                if (this.flags & FIELD_DYNAMIC) {
                        const word = view.getUint32(start + this.offset, true);
                        let place = word & 0xffff;
                        if (this.flags & FIELD_RELATIVE)
                                place += this.offset + 4;
                        return [view, start + place, word >>> 16];
                }
                return [view, start + this.offset, this.size || items.size[item] - this.offset];
        }

        /* A number of up to 32 bits is exact, and one of 64 bits is up to 2^53. */
        number(items, item) {
                const [view, place, size] = this.locate(items, item);
                return Number(readNumber(view, place, size, this.flags));
        }

        text(items, item) {
                const [view, place, size] = this.locate(items, item);
                let bytes = new Uint8Array(view.buffer, place, size);
                const end = bytes.indexOf(0);
                bytes = end < 0 ? bytes : bytes.subarray(0, end);
                const text = new TextDecoder().decode(bytes);
                /* The kernel adds a newline to text written to trace_marker. */
                return showText(this.size === 0 ? text.replace(/\n$/, '') : text);
        }

        numbers(items, item) {
                const [view, place, size] = this.locate(items, item), numbers = [];
                for (let i = 0; i + this.element <= size; i += this.element)
                        numbers.push(readNumber(view, place + i, this.element, this.flags));
                return numbers;
        }

        /* As a text for people. */
        value(items, item) {
                if (this.kind === FIELD_STRING)
                        return this.text(items, item);
                if (this.kind === FIELD_ARRAY)
                        return '[' + this.numbers(items, item).join(', ') + ']';
                const [view, place, size] = this.locate(items, item);
                if (this.kind === FIELD_POINTER)
                        return '0x' + readNumber(view, place, size, 0).toString(16);
                return String(readNumber(view, place, size, this.flags));
        }
}

const readNumber = (view, place, size, flags) => {
        const little = !(flags & FIELD_SWAPPED), signed = flags & FIELD_SIGNED;
        if (size === 8)
                return signed ? view.getBigInt64(place, little) : view.getBigUint64(place, little);
        if (size === 4)
                return signed ? view.getInt32(place, little) : view.getUint32(place, little);
        if (size === 2)
                return signed ? view.getInt16(place, little) : view.getUint16(place, little);
        return signed ? view.getInt8(place) : view.getUint8(place);
};

/* The system calls, in the order of their ends. */
const readCalls = (buffers, n) => {
        const calls = {
                n, at: new Float64Array(n), duration: new Float64Array(n), tid: new Int32Array(n),
                name: new Int32Array(n), number: new Float64Array(n), result: new Float64Array(n),
                state: new Uint8Array(n),
        };
        let i = 0, at = 0;
        for (const buffer of buffers) {
                const reader = new VarintReader(new Uint8Array(buffer), 0);
                for (; reader.place < buffer.byteLength; i++) {
                        at += reader.nextSigned();
                        calls.at[i] = at;
                        calls.duration[i] = reader.next() - 1; /* -1: unknown */
                        calls.tid[i] = reader.next();
                        calls.name[i] = reader.next() - 1; /* -1: unknown */
                        calls.number[i] = reader.nextSigned();
                        calls.result[i] = reader.nextSigned();
                        calls.state[i] = reader.next();
                }
        }
        return calls;
};

/* Unpacks all blocks. show() is called after the first events, and after all. */
const loadTrace = async (show) => {
        const elements = (name) => Array.from(document.getElementsByClassName(name));
        const [description] = elements('meta');
        const meta = JSON.parse(new TextDecoder().decode(await unpack(description)));
        const kinds = new Map(meta.kinds.map((kind) => [kind.id, {
                ...kind, label: showText(`${kind.system}:${kind.name}`),
                fields: kind.fields.map((field) => new Field(field)),
        }]));
        const trace = { meta, kinds, items: new Items(meta), calls: readCalls([], 0) };
        for (const block of elements('events')) {
                trace.items.add(await unpack(block));
                await show(trace, false);
        }
        const calls = [];
        for (const block of elements('calls'))
                calls.push(await unpack(block));
        trace.calls = readCalls(calls, meta.calledTimes);
        await show(trace, true);
        return trace;
};
