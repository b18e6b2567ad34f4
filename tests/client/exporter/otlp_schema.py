# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks an ExportMetricsServiceRequest in the JSON form of protobuf: which fields each message has, and their types
(opentelemetry-proto, metrics/v1/metrics.proto and docs/specification.md)."""
import re

ATTRIBUTES = ["KeyValue"]
POINT = {"attributes": ATTRIBUTES, "startTimeUnixNano": "uint64", "timeUnixNano": "uint64!"}
MESSAGES = {
    "Request": {"resourceMetrics": ["ResourceMetrics"]},
    "ResourceMetrics": {"resource": "Resource", "scopeMetrics": ["ScopeMetrics"]},
    "Resource": {"attributes": ATTRIBUTES},
    "ScopeMetrics": {"scope": "Scope", "metrics": ["Metric"]},
    "Scope": {"name": "string", "version": "string"},
    "KeyValue": {"key": "string!", "value": "AnyValue!"},
    "AnyValue": {"stringValue": "string!"},
    "Metric": {"name": "string!", "description": "string", "unit": "string", "gauge": "Gauge", "sum": "Sum",
               "histogram": "Histogram", "exponentialHistogram": "ExponentialHistogram"},
    "Gauge": {"dataPoints": ["NumberDataPoint"]},
    "Sum": {"dataPoints": ["NumberDataPoint"], "aggregationTemporality": "enum!", "isMonotonic": "bool"},
    "Histogram": {"dataPoints": ["HistogramDataPoint"], "aggregationTemporality": "enum!"},
    "ExponentialHistogram": {"dataPoints": ["ExponentialHistogramDataPoint"], "aggregationTemporality": "enum!"},
    "NumberDataPoint": {**POINT, "asInt": "int64", "asDouble": "double"},
    "HistogramDataPoint": {**POINT, "count": "uint64!", "sum": "double", "bucketCounts": ["uint64"],
                           "explicitBounds": ["double"]},
    "ExponentialHistogramDataPoint": {**POINT, "count": "uint64!", "sum": "double", "scale": "int32!",
                                      "zeroCount": "uint64!", "positive": "Buckets", "negative": "Buckets"},
    "Buckets": {"offset": "int32!", "bucketCounts": ["uint64"]},
}
SCALARS = {
    "string": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "double": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "int32": lambda value: type(value) is int and abs(value) < 2 ** 31,
    "enum": lambda value: type(value) is int,
    "uint64": lambda value: isinstance(value, str) and re.fullmatch(r"\d+", value) and int(value) < 2 ** 64,
    "int64": lambda value: isinstance(value, str) and re.fullmatch(r"-?\d+", value) and abs(int(value)) < 2 ** 63,
}


def check_value(value, kind, path):
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{path}: no list"]
        return [line for i, item in enumerate(value) for line in check_value(item, kind[0], f"{path}[{i}]")]
    kind = kind.rstrip("!")
    if kind in SCALARS:
        return [] if SCALARS[kind](value) else [f"{path}: {value!r} is no {kind}"]
    fields = MESSAGES[kind]
    if not isinstance(value, dict):
        return [f"{path}: no object"]
    wrong = [f"{path}: unknown field {name}" for name in value if name not in fields]
    wrong += [f"{path}: no {name}" for name, one in fields.items() if str(one).endswith("!") and name not in value]
    for name in value:
        if name in fields:
            wrong += check_value(value[name], fields[name], f"{path}.{name}")
    return wrong + check_meaning(kind, value, path)


def check_meaning(kind, value, path):
    """What the types do not say."""
    wrong = []
    if kind == "NumberDataPoint" and ("asInt" in value) == ("asDouble" in value):
        wrong.append(f"{path}: expected one value")
    if kind == "Metric" and sum(name in value for name in ("gauge", "sum", "histogram", "exponentialHistogram")) != 1:
        wrong.append(f"{path}: expected one kind of data")
    if kind == "HistogramDataPoint":
        counts, bounds = [int(count) for count in value["bucketCounts"]], value["explicitBounds"]
        if len(counts) != len(bounds) + 1 or sum(counts) != int(value["count"]) or bounds != sorted(set(bounds)):
            wrong.append(f"{path}: {counts} and {bounds} do not fit")
    if kind == "ExponentialHistogramDataPoint":
        counts = [int(count) for count in value.get("positive", {}).get("bucketCounts", [])]
        if sum(counts) + int(value["zeroCount"]) != int(value["count"]):
            wrong.append(f"{path}: {counts} is not {value['count']}")
    return wrong


def check_request(request):
    """Returns a line for each mistake."""
    return check_value(request, "Request", "request")
