/* Makes texts for people. Traced programs choose names, so all of them pass showText(), and reach
 * the page only as textContent or through fillText(). */

/* Control characters, and those that change the direction of a text, are written as numbers. */
const showText = (text) => text.replace(
        /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
        (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

const countFormat = new Intl.NumberFormat('en-US');
const showCount = (n) => countFormat.format(n);

const showDuration = (ns) => {
        const units = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']];
        const [size, unit] = units.find(([limit]) => Math.abs(ns) >= limit) || units[3];
        const value = ns / size;
        return `${unit === 'ns' ? Math.round(value) : value.toFixed(Math.abs(value) < 10 ? 3 : 2)} ${unit}`;
};

/* Seconds since the start of the recording, with as many digits as the step needs. */
const showTime = (ns, step = 1) => {
        const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9))));
        return `${(ns / 1e9).toFixed(digits)} s`;
};

/* Raw events do not say whether a program made a 64-bit call. Then the name has a question mark. */
const callName = (trace, call) => trace.calls.name[call] < 0 ? `call ${trace.calls.number[call]}`
        : showText(trace.meta.calls[trace.calls.name[call]]) + (trace.calls.state[call] & CALL_PROVEN ? '' : '?');

const callResult = (trace, call) => {
        const state = trace.calls.state[call] >> 2;
        const doubt = trace.calls.state[call] & CALL_DOUBTFUL ? ' (events were lost during it)' : '';
        if (state === CALL_NO_RETURN)
                return 'does not return';
        return (state === CALL_UNFINISHED ? 'unfinished' : String(trace.calls.result[call])) + doubt;
};

const threadName = (trace, tid) => {
        const name = trace.meta.threads[tid];
        return name === undefined ? '<...>' : showText(name);
};

const threadLabel = (trace, tid) => tid < 0 ? '' : `${threadName(trace, tid)} ${tid}`;

const kindLabel = (trace, item) => {
        if (trace.items.isLoss(item)) {
                const lost = trace.items.lost(item);
                return lost > 0 ? `${showCount(lost)} events lost` : 'events lost';
        }
        const kind = trace.kinds.get(trace.items.kind[item]);
        return kind ? kind.label : 'unknown or damaged record';
};

/* Pairs of name and value. A record fits its event, but its texts may lie anywhere. */
const fieldRows = (trace, item) => {
        const kind = trace.kinds.get(trace.items.kind[item]);
        const value = (field) => {
                try {
                        return field.value(trace.items, item);
                } catch (error) {
                        return '(damaged)';
                }
        };
        return kind ? kind.fields.map((field) => [showText(field.name), value(field)]) : [];
};

/* An element with texts and other elements in it. */
const make = (name, properties, ...children) => {
        const element = Object.assign(document.createElement(name), properties);
        element.append(...children);
        return element;
};
