// SPDX-License-Identifier: LGPL-2.1-or-later
// otlp-transformer.js DIRECTORY: reads an ExportMetricsServiceRequest as JSON from standard input, makes the protobuf
// message of it with OpenTelemetry's own definitions, and prints what a receiver of the message gets, as JSON.
// DIRECTORY: of the npm package @opentelemetry/otlp-transformer, which has the definitions.
"use strict";
const fs = require("fs");
const root = require(process.argv[2] + "/build/src/generated/root");
const Request = root.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
const message = Request.fromObject(JSON.parse(fs.readFileSync(0)));
const wrong = Request.verify(message);
if (wrong)
        throw new Error(wrong);
const received = Request.decode(Request.encode(message).finish());
console.log(JSON.stringify(Request.toObject(received, { longs: String, enums: Number, arrays: false })));
