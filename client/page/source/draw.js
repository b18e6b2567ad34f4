/* Draws the lanes on the canvas. A lane has a bar of who or what ran, a row of calls, and ticks of
 * events. When several parts fall on a pixel, their share of the time is drawn, and for events
 * their number: the cost depends on the pixels, not on the events. */

const GUTTER = 190, AXIS = 30, LANE = 34, TICKS = 8;

/* The text of each colour is made once. */
const colourOf = (value, theme) => {
        let colour = theme.colours.get(value);
        if (!colour) {
                colour = `hsl(${(value * 137.508 + 200) % 360} ${theme.saturation} ${theme.lightness})`;
                theme.colours.set(value, colour);
        }
        return colour;
};

/* So that the same text has the same colour everywhere. */
const hashOf = (text) => Array.from(text).reduce((hash, c) => (hash * 31 + c.charCodeAt(0)) % 997, 0);

const readTheme = () => {
        const style = getComputedStyle(document.documentElement);
        const names = ['back', 'panel', 'line', 'text', 'faint', 'accent', 'wait', 'block', 'tick',
                'loss', 'select', 'found', 'saturation', 'lightness'];
        const theme = Object.fromEntries(names.map((name) => [name, style.getPropertyValue('--' + name).trim()]));
        return { ...theme, colours: new Map() };
};

const laneNote = (lane) => {
        if (lane.isUnit)
                return `${showTime(lane.begin, 1e6)} \u00b7 ${showCount(lane.nProcesses)} process` +
                        (lane.nProcesses === 1 ? '' : 'es');
        return `${lane.isCpu ? '' : `${lane.tid} \u00b7 `}${showCount(lane.list.length)} events`;
};

class Drawing {
        constructor(canvas) {
                this.canvas = canvas;
                this.context = canvas.getContext('2d');
                this.from = 0;
                this.to = 1;
                this.scroll = 0;
                this.selection = null; /* [from, to] */
                this.chosen = -1;      /* an item */
                this.matches = [];     /* items */
                this.setTheme();
        }

        setTheme() {
                this.theme = readTheme();
                this.hatch = null;
        }

        setModel(model) {
                this.model = model;
                this.trace = model.trace;
                this.lanes = model.lanes();
                this.rows = new Map(this.lanes.map((lane, row) =>
                        [lane.isCpu ? `c${lane.cpu}` : lane.isUnit ? lane.path : lane.tid, row]));
        }

        resize() {
                const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
                const ratio = window.devicePixelRatio || 1;
                Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
                Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
                this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
                Object.assign(this, { width, height });
        }

        get pixel() {
                return (this.to - this.from) / Math.max(1, this.width - GUTTER);
        }
        x(time) {
                return GUTTER + (time - this.from) / this.pixel;
        }
        time(x) {
                return this.from + (x - GUTTER) * this.pixel;
        }
        y(row) {
                return AXIS + row * LANE - this.scroll;
        }
        laneAt(y) {
                return y < AXIS ? null : this.lanes[Math.floor((y - AXIS + this.scroll) / LANE)] || null;
        }
        get scrollMax() {
                return Math.max(0, this.lanes.length * LANE + AXIS - this.height);
        }

        draw() {
                const { context: c, theme } = this;
                this.crowd = 0; /* most events on one pixel */
                c.fillStyle = theme.back;
                c.fillRect(0, 0, this.width, this.height);
                c.save();
                c.beginPath();
                c.rect(0, AXIS, this.width, this.height - AXIS);
                c.clip();
                const first = Math.floor(this.scroll / LANE);
                const last = Math.min(this.lanes.length, first + Math.ceil(this.height / LANE) + 1);
                for (let row = first; row < last; row++)
                        this.drawLane(this.lanes[row], this.y(row));
                this.drawWakes(first, last);
                for (let row = first; row < last; row++)
                        this.drawName(this.lanes[row], this.y(row));
                c.restore();
                this.drawMarks();
                this.drawAxis();
        }

        drawLane(lane, y) {
                const { context: c, theme } = this;
                c.fillStyle = theme.line;
                c.fillRect(0, y + LANE - 1, this.width, 1);
                if (lane.isCpu) {
                        this.drawSlices(lane.runs, y + 3, 18, (tid) => colourOf(tid, theme),
                                (tid) => threadLabel(this.trace, tid));
                        this.drawGaps(lane.cpu, y + 1);
                } else if (lane.isUnit) {
                        this.drawSlices(lane.waits, y + 5, 3, () => theme.wait);
                        this.drawSlices(lane.runs, y + 3, 7, () => theme.tick);
                        this.drawSlices(lane.programs, y + 11, 11, (program) => colourOf(hashOf(program), theme),
                                (program) => program);
                } else {
                        const colour = colourOf(lane.tid, theme);
                        this.drawSlices(lane.runs, y + 3, 7, () => colour);
                        this.drawSlices(lane.waits, y + 5, 3, (blocked) => blocked ? theme.block : theme.wait);
                        this.drawSlices(lane.calls, y + 11, 11,
                                (call) => colourOf(this.trace.calls.number[call] + 3, theme),
                                (call) => callName(this.trace, call));
                }
                this.drawTicks(lane.list, y + LANE - TICKS - 2);
        }

        drawSlices(slices, y, height, colour, label) {
                const { context: c } = this, [first, last] = slices.range(this.from, this.to);
                if (last - first > 2 * (this.width - GUTTER)) {
                        this.drawShares(slices, y, height, colour);
                        return;
                }
                let drawn = 0;
                for (let i = first; i < last; i++) {
                        const left = Math.max(GUTTER, this.x(slices.start[i]));
                        const right = Math.min(this.width, this.x(slices.end[i]));
                        if (right <= drawn) /* the slice before covers it */
                                continue;
                        drawn = left + 0.7;
                        c.fillStyle = colour(slices.value[i]);
                        c.fillRect(left, y, Math.max(0.7, right - left - (right - left > 3 ? 0.5 : 0)), height);
                        if (label && height > 10 && right - left > 44)
                                this.drawText(label(slices.value[i]), left + 4, y + height / 2,
                                        right - left - 6, '#10151c');
                }
        }

        drawShares(slices, y, height, colour) {
                const { context: c, pixel } = this;
                for (let x = GUTTER; x < this.width; x++) {
                        const time = this.time(x), share = slices.busy(time, time + pixel) / pixel;
                        if (share <= 0)
                                continue;
                        const middle = Math.min(slices.n - 1, lowerBound(slices.end, time + pixel / 2));
                        const part = Math.max(1, height * Math.min(1, share));
                        c.fillStyle = colour(slices.value[middle]);
                        c.fillRect(x, y + height - part, 1, part);
                }
        }

        drawTicks(list, y) {
                const { context: c, theme } = this, { time } = this.trace.items;
                /* The first item at this time or later, from `low` on. It is mostly near. */
                const find = (at, low) => {
                        let step = 1;
                        while (low + step < list.length && time[list[low + step]] < at) {
                                low += step;
                                step *= 2;
                        }
                        let high = Math.min(list.length, low + step);
                        while (low < high) {
                                const middle = (low + high) >>> 1;
                                if (time[list[middle]] < at)
                                        low = middle + 1;
                                else
                                        high = middle;
                        }
                        return low;
                };
                /* Neighbouring pixels of about the same number of events are one rectangle. */
                const show = (from, to, level) => {
                        const size = Math.min(TICKS, 2 + level * 0.9);
                        c.globalAlpha = Math.min(1, 0.45 + level * 0.09);
                        c.fillRect(from, y + TICKS - size, to - from, size);
                };
                let begin = GUTTER, level = -1, x = GUTTER;
                c.fillStyle = theme.tick;
                for (let i = find(this.from, 0); x < this.width && i < list.length; x++) {
                        const next = find(this.time(x + 1), i), n = next - i;
                        const now = n > 0 ? Math.round(Math.log2(n)) : -1;
                        if (now !== level) {
                                if (level >= 0)
                                        show(begin, x, level);
                                begin = x;
                                level = now;
                        }
                        this.crowd = Math.max(this.crowd, n);
                        i = next;
                }
                if (level >= 0)
                        show(begin, x, level);
                c.globalAlpha = 1;
        }

        makeHatch() {
                const tile = Object.assign(document.createElement('canvas'), { width: 8, height: 8 });
                const c = tile.getContext('2d');
                c.strokeStyle = this.theme.loss;
                c.lineWidth = 1.6;
                c.beginPath();
                for (const x of [-8, 0, 8]) {
                        c.moveTo(x, 8);
                        c.lineTo(x + 8, 0);
                }
                c.stroke();
                return this.context.createPattern(tile, 'repeat');
        }

        /* Every loss is drawn, also a short one. Those on the same pixel are drawn once. */
        drawGaps(cpu, y) {
                const { context: c } = this;
                let drawn = 0;
                this.hatch = this.hatch || this.makeHatch();
                for (const gap of this.model.gaps) {
                        const left = Math.max(GUTTER, this.x(gap.from));
                        const right = Math.min(this.width, Math.max(left + 3, this.x(gap.to)));
                        if (gap.cpu !== cpu || gap.to < this.from || gap.from > this.to || right <= drawn)
                                continue;
                        c.fillStyle = this.theme.back;
                        c.fillRect(left, y, right - left, 22);
                        c.fillStyle = this.hatch;
                        c.fillRect(left, y, right - left, 22);
                        drawn = right;
                }
        }

        /* Arrows from the waker to the thread that it woke, while they are few enough to follow. */
        drawWakes(first, last) {
                const { context: c } = this, { wakes } = this.model;
                let low = 0, high = wakes.length;
                while (low < high) {
                        const middle = (low + high) >>> 1;
                        if (wakes[middle].time < this.from)
                                low = middle + 1;
                        else
                                high = middle;
                }
                const shown = [];
                for (; low < wakes.length && wakes[low].time <= this.to && shown.length <= 200; low++) {
                        const wake = wakes[low], from = this.rows.get(wake.from), to = this.rows.get(wake.to);
                        if (from !== undefined && to !== undefined &&
                                Math.max(from, to) >= first && Math.min(from, to) < last)
                                shown.push([this.x(wake.time), this.y(from) + 6, this.y(to) + 3]);
                }
                this.hidesWakes = shown.length > 200;
                if (this.hidesWakes)
                        return;
                c.strokeStyle = c.fillStyle = this.theme.accent;
                c.globalAlpha = 0.75;
                for (const [x, from, to] of shown) {
                        const sign = Math.sign(to - from) || 1, tip = sign > 0 ? to : to + 7;
                        c.beginPath();
                        c.moveTo(x, from);
                        c.lineTo(x, tip - 4 * sign);
                        c.stroke();
                        c.beginPath();
                        c.moveTo(x, tip);
                        c.lineTo(x - 3, tip - 5 * sign);
                        c.lineTo(x + 3, tip - 5 * sign);
                        c.fill();
                }
                c.globalAlpha = 1;
        }

        drawName(lane, y) {
                const { context: c, theme } = this;
                c.fillStyle = theme.panel;
                c.fillRect(0, y, GUTTER - 1, LANE - 1);
                this.drawText(lane.name, 10, y + 12, GUTTER - 20, theme.text, lane.isCpu ? 600 : 400);
                this.drawText(laneNote(lane), 10, y + 25, GUTTER - 20, theme.faint, 400, 11);
        }

        drawText(text, x, y, room, colour, weight = 400, size = 12) {
                const { context: c } = this;
                c.font = `${weight} ${size}px system-ui, sans-serif`;
                c.textBaseline = 'middle';
                c.fillStyle = colour;
                if (text.length * size * 0.9 > room && c.measureText(text).width > room) {
                        while (text.length > 1 && c.measureText(text + '\u2026').width > room)
                                text = text.slice(0, -Math.ceil(text.length / 12));
                        text += '\u2026';
                }
                c.fillText(text, x, y);
        }

        /* The selection, the chosen item and the matches of a search. */
        drawMarks() {
                const { context: c, theme } = this, { time } = this.trace.items;
                if (this.selection) {
                        const left = Math.max(GUTTER, this.x(this.selection[0]));
                        const right = Math.min(this.width, this.x(this.selection[1]));
                        c.fillStyle = theme.select;
                        c.fillRect(left, 0, Math.max(0, right - left), this.height);
                }
                c.fillStyle = theme.found;
                let drawn = -1;
                for (const item of this.matches) {
                        const x = Math.round(this.x(time[item]));
                        if (x >= GUTTER && x < this.width && x !== drawn)
                                c.fillRect(drawn = x, AXIS - 8, 1, this.height);
                }
                if (this.chosen >= 0 && this.x(time[this.chosen]) >= GUTTER) {
                        c.fillStyle = theme.accent;
                        c.fillRect(this.x(time[this.chosen]) - 0.75, AXIS, 1.5, this.height);
                }
        }

        drawAxis() {
                const { context: c, theme } = this;
                const rough = this.pixel * 110, power = 10 ** Math.floor(Math.log10(rough));
                const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
                c.fillStyle = theme.panel;
                c.fillRect(0, 0, GUTTER - 1, AXIS);
                c.fillStyle = theme.line;
                c.fillRect(0, AXIS - 1, this.width, 1);
                c.fillRect(GUTTER - 1, 0, 1, this.height);
                for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) {
                        c.fillStyle = theme.line;
                        c.fillRect(this.x(at), AXIS - 7, 1, 6);
                        this.drawText(showTime(at, step), this.x(at) + 4, 12, 140, theme.faint, 400, 11);
                }
                this.drawText('Time since the start', 10, 15, GUTTER - 20, theme.faint, 400, 11);
        }

        /* Says what a pixel is. */
        scaleText() {
                const parts = [`1 pixel = ${showDuration(this.pixel)}`];
                if (this.crowd > 1)
                        parts.push(`up to ${showCount(this.crowd)} events on a pixel: drawn as their number`);
                if (this.hidesWakes)
                        parts.push('zoom in for arrows of wake-ups');
                return parts.join(' \u00b7 ');
        }
}
