/* Connects the page: loads the trace, draws once for each frame, handles mouse, keys and search. */

const byId = (id) => document.getElementById(id);
const drawing = new Drawing(byId('canvas'));
const flame = new Flame(byId('flame'));
const TABS = ['summary', 'event', 'flame', 'receipt', 'help'];
let model = null, isWaiting = false, tab = 'summary';

const redraw = () => {
        if (isWaiting || !model)
                return;
        isWaiting = true;
        requestAnimationFrame(() => {
                isWaiting = false;
                drawing.draw();
                byId('scale').textContent = drawing.scaleText();
        });
};

const setView = (from, to) => {
        const span = Math.min(Math.max(to - from, 10), model.end * 1.1 + 10);
        const low = -0.05 * model.end, high = 1.05 * model.end + 10;
        drawing.from = Math.max(low, Math.min(from, high - span));
        drawing.to = drawing.from + span;
        redraw();
};

const zoom = (factor, at = (drawing.from + drawing.to) / 2) =>
        setView(at - (at - drawing.from) * factor, at + (drawing.to - at) * factor);
const pan = (pixels) => setView(drawing.from + pixels * drawing.pixel, drawing.to + pixels * drawing.pixel);
const scroll = (pixels) => {
        drawing.scroll = Math.max(0, Math.min(drawing.scrollMax, drawing.scroll + pixels));
        redraw();
};
const fit = () => setView(0, model.end);

const fillTab = () => {
        if (tab === 'summary')
                showSummary(byId('summary'), model, drawing.selection);
        else if (tab === 'flame')
                flame.show(model, drawing.selection || [0, model.end]);
};

const openTab = (name) => {
        tab = name;
        for (const id of TABS)
                byId(id).hidden = id !== name;
        for (const button of document.querySelectorAll('nav button'))
                button.setAttribute('aria-selected', String(button.dataset.tab === name));
        fillTab();
};

const select = (range) => {
        drawing.selection = range;
        redraw();
        fillTab();
};

/* What is at a point: a loss, a call, an item, or who ran. */
const findAt = (x, y) => {
        const lane = x < GUTTER ? null : drawing.laneAt(y), time = drawing.time(x), reach = 4 * drawing.pixel;
        if (!lane)
                return null;
        const inLane = (y - AXIS + drawing.scroll) % LANE, { items } = model.trace;
        const gap = lane.isCpu && model.gaps.find((g) =>
                g.cpu === lane.cpu && g.from - reach <= time && time <= g.to + reach);
        if (gap && inLane < 24)
                return { lane, item: gap.item };
        const call = lane.isCpu || inLane < 10 ? -1 : lane.calls.at(time);
        if (call >= 0 && inLane < 23)
                return { lane, call: lane.calls.value[call] };
        let low = 0, high = lane.list.length;
        while (low < high) {
                const middle = (low + high) >>> 1;
                if (items.time[lane.list[middle]] < time)
                        low = middle + 1;
                else
                        high = middle;
        }
        const distance = (i) => i >= 0 && i < lane.list.length ? Math.abs(items.time[lane.list[i]] - time) : Infinity;
        const nearest = distance(low - 1) < distance(low) ? low - 1 : low;
        const item = distance(nearest) <= reach ? lane.list[nearest] : -1;
        return { lane, item, run: lane.runs.at(time), wait: lane.isCpu ? -1 : lane.waits.at(time),
                program: lane.isUnit ? lane.programs.at(time) : -1 };
};

const runFacts = (found) => {
        const { lane, run, wait } = found, { trace } = model;
        const length = (slices, i) => showDuration(slices.end[i] - slices.start[i]);
        if (lane.isUnit)
                return [['Unit', lane.name], ...(run >= 0 ? [['With processes', length(lane.runs, run)]] : []),
                        ...(wait >= 0 ? [['Without a process', length(lane.waits, wait)]] : []),
                        ...(found.program >= 0 ? [['Program', lane.programs.value[found.program]],
                                ['Oldest process for', length(lane.programs, found.program)]] : [])];
        if (run >= 0)
                return lane.isCpu
                        ? [['Ran', `${threadLabel(trace, lane.runs.value[run])} for ${length(lane.runs, run)}`]]
                        : [['Ran', `on CPU ${lane.runs.value[run]} for ${length(lane.runs, run)}`]];
        if (wait >= 0)
                return [[lane.waits.value[wait] ? 'Blocked' : 'Waited for a CPU', length(lane.waits, wait)]];
        return [];
};

const showTip = (event) => {
        const tip = byId('tip'), found = findAt(event.offsetX, event.offsetY), { trace } = model;
        tip.hidden = true;
        if (!found)
                return;
        const title = found.call !== undefined ? callName(trace, found.call)
                : found.item >= 0 ? kindLabel(trace, found.item) : found.lane.name;
        const rows = found.call !== undefined ? callFacts(trace, found.call)
                : [...(found.item >= 0 ? itemFacts(trace, found.item) : []), ...runFacts(found),
                        ...(found.item >= 0 ? fieldRows(trace, found.item).slice(0, 12) : [])];
        if (rows.length === 0)
                return;
        tip.replaceChildren(make('div', { className: 'title', textContent: title }), makeTable(['', ''], rows));
        tip.querySelector('thead').remove();
        tip.hidden = false;
        const { clientWidth: width, clientHeight: height } = tip.parentElement;
        tip.style.left = `${Math.max(4, Math.min(event.offsetX + 14, width - tip.offsetWidth - 8))}px`;
        tip.style.top = `${Math.max(4, Math.min(event.offsetY + 14, height - tip.offsetHeight - 8))}px`;
};

const choose = (event) => {
        const found = findAt(event.offsetX, event.offsetY);
        if (!found || (found.call === undefined && found.item < 0))
                return;
        drawing.chosen = found.call === undefined ? found.item : -1;
        openTab('event');
        if (found.call === undefined)
                showItem(byId('event'), model.trace, found.item);
        else
                showCall(byId('event'), model.trace, found.call, findEntry(found.lane, found.call));
        redraw();
};

/* The event of a call's entry is the last one of the thread that is not after its start. */
const findEntry = (lane, call) => {
        const { items, calls, kinds } = model.trace, start = calls.at[call] - calls.duration[call];
        return lane.list.find((item) => items.time[item] === start &&
                /^sys_enter/.test((kinds.get(items.kind[item]) || { name: '' }).name)) ?? -1;
};

const connectMouse = (canvas) => {
        let drag = null;
        canvas.onmousedown = (event) => {
                canvas.focus();
                drag = { x: event.offsetX, y: event.offsetY, hasMoved: false,
                        selects: event.shiftKey || event.offsetY < AXIS, start: drawing.time(event.offsetX) };
        };
        canvas.onmousemove = (event) => {
                if (!drag) {
                        showTip(event);
                        return;
                }
                drag.hasMoved = drag.hasMoved || Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) > 3;
                if (!drag.hasMoved)
                        return;
                byId('tip').hidden = true;
                if (drag.selects) {
                        const now = drawing.time(event.offsetX);
                        drawing.selection = [Math.min(drag.start, now), Math.max(drag.start, now)];
                        redraw();
                } else {
                        pan(drag.x - event.offsetX);
                        scroll(drag.y - event.offsetY);
                        Object.assign(drag, { x: event.offsetX, y: event.offsetY });
                }
        };
        window.addEventListener('mouseup', (event) => {
                if (drag && drag.selects && drag.hasMoved)
                        select(drawing.selection);
                else if (drag && !drag.hasMoved && event.target === canvas)
                        choose(event);
                drag = null;
        });
        canvas.onmouseleave = () => { byId('tip').hidden = true; };
        canvas.ondblclick = (event) => zoom(0.25, drawing.time(event.offsetX));
        canvas.onwheel = (event) => {
                event.preventDefault();
                byId('tip').hidden = true;
                if (event.offsetX < GUTTER)
                        scroll(event.deltaY);
                else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
                        pan(event.deltaX || event.deltaY);
                else
                        zoom(Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 400)),
                                drawing.time(event.offsetX));
        };
};

/* Searches in slices of time, so that the page stays usable. */
let search = 0;
const findText = async (text) => {
        const mine = ++search, wanted = text.toLowerCase(), { trace } = model, { items } = trace;
        drawing.matches = [];
        byId('found').textContent = '';
        redraw();
        if (wanted === '')
                return;
        const has = (value) => value.toLowerCase().includes(wanted);
        const kinds = new Set(Array.from(trace.kinds.values())
                .filter((kind) => has(kind.label)).map((kind) => kind.id));
        const tids = new Set(Array.from(model.threads.keys()).filter((tid) => has(threadLabel(trace, tid))));
        let until = performance.now() + 20;
        for (let item = 0; item < items.n; item++) {
                if (kinds.has(items.kind[item]) || tids.has(items.tid[item]) ||
                        fieldRows(trace, item).some(([name, value]) => has(`${name}=${value}`)))
                        drawing.matches.push(item);
                if (item % 256 === 0 && performance.now() > until) {
                        byId('found').textContent = `${Math.floor(100 * item / items.n)} %`;
                        redraw();
                        await new Promise((resume) => setTimeout(resume, 0));
                        if (mine !== search)
                                return;
                        until = performance.now() + 20;
                }
        }
        byId('found').textContent = `${showCount(drawing.matches.length)} found`;
        redraw();
};

const goToMatch = (step) => {
        const { matches, chosen } = drawing, { items } = model.trace;
        if (matches.length === 0)
                return;
        const at = lowerBound(matches, step > 0 ? chosen + 1 : chosen) + (step > 0 ? 0 : -1);
        const item = matches[(at + matches.length) % matches.length], span = drawing.to - drawing.from;
        drawing.chosen = item;
        if (items.time[item] < drawing.from || items.time[item] > drawing.to)
                setView(items.time[item] - span / 2, items.time[item] + span / 2);
        const row = drawing.rows.get(items.tid[item] > 0 ? items.tid[item] : `c${items.cpu[item]}`) || 0;
        if (drawing.y(row) < AXIS || drawing.y(row) > drawing.height - LANE)
                scroll(drawing.y(row) - drawing.height / 2);
        openTab('event');
        showItem(byId('event'), model.trace, item);
        redraw();
};

const keys = {
        'w': () => zoom(0.7), '+': () => zoom(0.7), '=': () => zoom(0.7),
        's': () => zoom(1 / 0.7), '-': () => zoom(1 / 0.7),
        'a': () => pan(-80), 'ArrowLeft': () => pan(-80), 'd': () => pan(80), 'ArrowRight': () => pan(80),
        'ArrowUp': () => scroll(-LANE), 'ArrowDown': () => scroll(LANE),
        'PageUp': () => scroll(-drawing.height / 2), 'PageDown': () => scroll(drawing.height / 2),
        '0': fit, 'n': () => goToMatch(1), 'N': () => goToMatch(-1),
        '/': () => byId('search').focus(), '?': () => openTab('help'),
        'Escape': () => {
                byId('search').value = '';
                findText('');
                select(null);
        },
};

const connectKeys = () => {
        const box = byId('search');
        box.onchange = () => findText(box.value);
        box.onkeydown = (event) => {
                if (event.key === 'Enter' || event.key === 'Escape')
                        byId('canvas').focus();
        };
        window.addEventListener('keydown', (event) => {
                const action = keys[event.key];
                if (!model || !action || event.ctrlKey || event.metaKey || event.altKey ||
                        (event.target === box && event.key !== 'Escape'))
                        return;
                event.preventDefault();
                action();
        });
        byId('fit').onclick = fit;
        byId('next').onclick = () => goToMatch(1);
        byId('previous').onclick = () => goToMatch(-1);
        byId('keys').onclick = () => openTab('help');
        byId('theme').onclick = () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
        for (const button of document.querySelectorAll('nav button'))
                button.onclick = () => openTab(button.dataset.tab);
};

const setTheme = (name) => {
        document.documentElement.dataset.theme = name;
        drawing.setTheme();
        redraw();
        if (model && tab === 'flame')
                fillTab();
};

const showLegend = () => {
        const rows = ['Lanes of CPUs: the thread that ran, then ticks of events',
                'Lanes of threads: on a CPU, system calls, then ticks of events',
                'Lanes of units: with processes, the program of the oldest process, then ticks of events',
                'Amber: ready, but waits for a CPU; a unit without a process. Red: blocked',
                'Hatched: events were lost, and what happened is unknown',
                'Arrows: a thread wakes another'];
        byId('legend').replaceChildren(...rows.map((textContent) => make('li', { textContent })));
};

const showFacts = (meta) => {
        const gaps = meta.lost > 0 ? ` \u00b7 ${showCount(meta.lost)} lost` : '';
        const name = showText(meta.name);
        document.title = `${name} - ktrace`;
        byId('name').textContent = name;
        byId('facts').textContent = `${showCount(meta.events)} events${gaps} \u00b7 ${showDuration(model.end)}`;
        const warnings = [...(meta.lost > 0 ? [`${showCount(meta.lost)} events were lost`] : []),
                ...(meta.missing !== '' ? [`the recording is not complete: ${showText(meta.missing)}`] : [])];
        byId('warning').hidden = warnings.length === 0;
        byId('warning').textContent = warnings.join('; ');
};

/* The first events are shown at once, and the view is fitted again when all are there. */
const showTrace = async (trace, isWhole) => {
        if (!isWhole && model)
                return;
        model = new Model(trace);
        drawing.setModel(model);
        showFacts(trace.meta);
        drawing.resize();
        fit();
        await new Promise((resume) => requestAnimationFrame(() => setTimeout(resume, 0)));
        if (!isWhole) {
                document.documentElement.dataset.first = String(Math.round(performance.now()));
                return;
        }
        showReceipt(byId('receipt'), trace.meta);
        fillTab();
        document.documentElement.dataset.ready = String(Math.round(performance.now()));
};

const start = async () => {
        setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
        showLegend();
        connectMouse(byId('canvas'));
        connectKeys();
        new ResizeObserver(() => {
                drawing.resize();
                redraw();
        }).observe(byId('lanes'));
        try {
                await loadTrace(showTrace);
        } catch (error) {
                byId('warning').hidden = false;
                byId('warning').textContent = `The page cannot be read: ${error.message}`;
        }
};
start();
