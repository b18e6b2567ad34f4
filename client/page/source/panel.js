/* Fills the panels: the summary of a time range, an event or a call, the receipt. */

const makeTable = (headings, rows) => make('table', {},
        make('thead', {}, make('tr', {}, ...headings.map((text, i) =>
                make('th', { textContent: text, className: i > 0 ? 'number' : '' })))),
        make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell, i) =>
                make('td', { textContent: cell, className: i > 0 ? 'number' : '' }))))));

const makeSection = (name, title, table) => {
        const section = make('section', {}, make('h2', { textContent: title }), table);
        section.dataset.name = name;
        return section;
};

/* Long tables show their largest rows and say so. */
const ROWS_MAX = 200;

const addTable = (panel, name, title, headings, rows) => {
        if (rows.length === 0)
                return;
        panel.append(makeSection(name, title, makeTable(headings, rows.slice(0, ROWS_MAX))));
        if (rows.length > ROWS_MAX)
                panel.append(make('p', { className: 'note',
                        textContent: `The ${ROWS_MAX} largest of ${showCount(rows.length)}` }));
};

const countKinds = (trace, from, to) => {
        const counts = new Int32Array(65537); /* by id plus 1 */
        for (let item = from; item < to; item++)
                if (!trace.items.isLoss(item))
                        counts[trace.items.kind[item] + 1]++;
        const rows = [[-1, counts[0]], ...Array.from(trace.kinds.keys(), (kind) => [kind, counts[kind + 1]])];
        return rows.filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]).map(([kind, n]) => [
                kind >= 0 ? trace.kinds.get(kind).label : 'unknown or damaged record', showCount(n)]);
};

/* Calls that end in the range. A negative result down to -4095 is an error number. */
const countCalls = (trace, from, to) => {
        const { calls } = trace, rows = new Map();
        for (let i = 0; i < calls.n; i++) {
                if (calls.at[i] < from || calls.at[i] > to)
                        continue;
                const key = calls.name[i] < 0 ? -1 - calls.number[i]
                        : calls.name[i] * 2 + (calls.state[i] & CALL_PROVEN) / 2;
                let row = rows.get(key);
                if (!row)
                        rows.set(key, row = { name: callName(trace, i), n: 0, errors: 0, timed: 0, total: 0, max: 0 });
                row.n++;
                row.errors += calls.result[i] < 0 && calls.result[i] >= -4095 ? 1 : 0;
                row.timed += calls.duration[i] >= 0 ? 1 : 0;
                row.total += Math.max(0, calls.duration[i]);
                row.max = Math.max(row.max, calls.duration[i]);
        }
        return Array.from(rows.values()).sort((a, b) => b.total - a.total).map((row) => [
                row.name, showCount(row.n), showCount(row.errors), showDuration(row.total),
                row.timed > 0 ? showDuration(row.total / row.timed) : '', row.timed > 0 ? showDuration(row.max) : '']);
};

const countThreads = (trace, model, from, to) => {
        const rows = [];
        for (const thread of model.threads.values()) {
                const run = thread.runs.busy(from, to), wait = thread.waits.busy(from, to);
                if (run > 0 || wait > 0)
                        rows.push([run, [threadLabel(trace, thread.tid), showDuration(run), showDuration(wait)]]);
        }
        return rows.sort((a, b) => b[0] - a[0]).map(([, row]) => row);
};

/* Units that began in the range. */
const listUnits = (model, from, to) => model.units.filter((unit) => unit.begin >= from && unit.begin <= to)
        .map((unit) => [unit.name, showTime(unit.begin, 1e6), unit.delay < 0 ? '' : showDuration(unit.delay),
                showCount(unit.nProcesses), unit.program]);

const showSummary = (panel, model, selection) => {
        const { trace } = model, [from, to] = selection || [0, model.end];
        const [first, last] = model.range(from, to);
        let losses = 0;
        for (const gap of model.gaps)
                losses += gap.item >= first && gap.item < last ? 1 : 0;
        panel.replaceChildren();
        panel.append(make('p', { className: 'title',
                textContent: selection ? `Selection from ${showTime(from, 1e3)} to ${showTime(to, 1e3)}`
                        : 'The whole recording' }));
        addTable(panel, 'totals', 'Totals', ['', ''], [
                ['Duration', showDuration(to - from)],
                ['Events', showCount(last - first - losses)],
                ...(selection ? [] : [['Lost events', showCount(trace.meta.lost)]]),
                ['Gaps from lost events', showCount(losses)],
                ['CPUs', showCount(model.cpus.size)],
                ['Threads', showCount(model.threads.size)],
        ]);
        addTable(panel, 'units', 'Units', ['Unit', 'Began', 'Empty for', 'Processes', 'Program'],
                listUnits(model, from, to));
        addTable(panel, 'kinds', 'Events', ['Event', 'Count'], countKinds(trace, first, last));
        addTable(panel, 'calls', 'System calls', ['Call', 'Count', 'Errors', 'Total', 'Mean', 'Longest'],
                countCalls(trace, from, to));
        addTable(panel, 'threads', 'Threads', ['Thread', 'On CPU', 'Waited'], countThreads(trace, model, from, to));
        if (model.hidesOthers)
                panel.append(make('p', { className: 'note', textContent: model.hidesScheduler
                        ? 'Scheduler: not granted. The recording has no switches to its processes.'
                        : 'Other tasks: not granted. A CPU without a thread was idle or ran another task.' }));
};

/* The time of day, if the recording's clock can be converted. */
const wallTime = (trace, item) => {
        if (trace.meta.wall === undefined)
                return [];
        const ns = BigInt(trace.meta.start) + BigInt(Math.round(trace.items.time[item])) + BigInt(trace.meta.wall);
        const date = new Date(Number(ns / 1000000n));
        const digits = String(ns % 1000000000n).padStart(9, '0');
        return Number.isNaN(date.getTime()) ? [] : [['Time of day',
                `${date.toISOString().slice(0, 19).replace('T', ' ')}.${digits} UTC`]];
};

const makeFacts = (rows) => make('dl', {}, ...rows.flatMap(([name, value]) => [
        make('dt', { textContent: name }), make('dd', { textContent: value })]));

const itemFacts = (trace, item) => [
        ['Time', showTime(trace.items.time[item])],
        ['CPU', String(trace.items.cpu[item])],
        ...(trace.items.isLoss(item) ? [] : [['Thread', threadLabel(trace, trace.items.tid[item])]]),
        ...(trace.meta.buffers.length > 1
                ? [['Instance', showText(trace.meta.buffers[trace.items.flags[item] & BUFFER_MASK] || '')]] : []),
];

const callFacts = (trace, call) => [
        ['Result', callResult(trace, call)],
        ['Duration', showDuration(trace.calls.duration[call])],
        ['Thread', threadLabel(trace, trace.calls.tid[call])],
        ['Number', `${trace.calls.number[call]}${trace.calls.state[call] & CALL_PROVEN ? ''
                : ': the name is that of the 64-bit call'}`],
        ['Start', showTime(trace.calls.at[call] - trace.calls.duration[call])],
];

const showItem = (panel, trace, item) => {
        const kind = trace.kinds.get(trace.items.kind[item]), rows = fieldRows(trace, item);
        panel.replaceChildren(make('p', { className: 'title', textContent: kindLabel(trace, item) }),
                makeFacts([...itemFacts(trace, item), ...wallTime(trace, item)]));
        if (rows.length > 0)
                panel.append(makeSection('fields', 'Fields', makeTable(['Field', 'Value'], rows)));
        if (kind && kind.name === 'kernel_stack')
                panel.append(make('h2', { textContent: 'Functions, the innermost first' }),
                        make('ul', {}, ...stackOf(trace, item).map((name) => make('li', { textContent: name }))));
};

const showCall = (panel, trace, call, entry) => {
        panel.replaceChildren(make('p', { className: 'title', textContent: callName(trace, call) }),
                makeFacts(callFacts(trace, call)));
        if (entry >= 0)
                panel.append(makeSection('fields', 'Arguments',
                        makeTable(['Field', 'Value'], fieldRows(trace, entry))));
};

/* JSON as nested lists. */
const makeTree = (value) => {
        if (value === null || typeof value !== 'object')
                return make('span', { textContent: showText(String(value)) });
        return make('ul', {}, ...Object.entries(value).map(([key, member]) => make('li', {},
                make('b', { textContent: showText(Array.isArray(value) ? `${key}` : key) + ': ' }), makeTree(member))));
};

const showReceipt = (panel, meta) => {
        panel.replaceChildren(make('p', { className: 'title', textContent: 'How this recording was made' }));
        if (meta.missing !== '')
                panel.append(make('p', { textContent: `It is not complete: ${showText(meta.missing)}` }));
        panel.append(meta.receipt ? makeTree(meta.receipt)
                : make('p', { className: 'note', textContent: 'The recording has no receipt.' }));
};
