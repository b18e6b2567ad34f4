/* The flame graph of kernel stacks: by number of samples, or by the time off the CPU that followed a
 * stack of sched_switch. The outermost function is at the top. */

const FLAME_ROW = 18;
/* As in folded stacks. Only a hostile recording has deeper ones. */
const FLAME_FRAMES = 256;

/* Names of the functions, the innermost first. */
const stackOf = (trace, item) => {
        const field = trace.kinds.get(trace.items.kind[item]).fields.find((f) => f.kind === FIELD_ARRAY);
        return field ? field.numbers(trace.items, item).slice(0, FLAME_FRAMES).map((address) => {
                const hex = BigInt.asUintN(64, BigInt(address)).toString(16);
                return hex in trace.meta.functions ? showText(trace.meta.functions[hex]) : `0x${hex}`;
        }) : [];
};

/* The time until the thread of a stack ran again, if the stack is of its switch; otherwise 0. */
const offCpuTime = (model, item) => {
        const { items, kinds } = model.trace, tid = items.tid[item];
        let before = item - 1;
        while (before >= 0 && item - before < 64 && items.cpu[before] !== items.cpu[item])
                before--;
        const kind = before >= 0 && kinds.get(items.kind[before]);
        if (!kind || kind.name !== 'sched_switch' || items.tid[before] !== tid || tid <= 0)
                return 0;
        const { runs } = model.threads.get(tid), next = lowerBound(runs.start, items.time[before]);
        return next < runs.n ? runs.start[next] - items.time[before] : 0;
};

const buildFlame = (model, [from, to], byTime) => {
        const { trace } = model, root = { name: 'all', weight: 0, children: new Map() };
        const [first, last] = model.range(from, to);
        for (let item = first; item < last; item++) {
                const kind = trace.kinds.get(trace.items.kind[item]);
                if (!kind || kind.name !== 'kernel_stack')
                        continue;
                const weight = byTime ? offCpuTime(model, item) : 1;
                let node = root;
                root.weight += weight;
                for (const name of [threadName(trace, trace.items.tid[item]), ...stackOf(trace, item).reverse()]) {
                        if (!node.children.has(name))
                                node.children.set(name, { name, weight: 0, children: new Map(), parent: node });
                        node = node.children.get(name);
                        node.weight += weight;
                }
        }
        return root;
};

class Flame {
        constructor(panel) {
                this.panel = panel;
                this.choice = make('select', {}, make('option', { textContent: 'Samples' }),
                        make('option', { textContent: 'Time off the CPU' }));
                this.note = make('p', { className: 'note' });
                this.canvas = make('canvas');
                this.choice.onchange = () => this.build();
                this.canvas.onmousemove = (event) => this.describe(this.at(event));
                this.canvas.onclick = (event) => {
                        const node = this.at(event);
                        this.zoomed = node === this.zoomed ? this.root : node || this.root;
                        this.draw();
                };
        }

        show(model, range) {
                Object.assign(this, { model, range });
                this.build();
        }

        build() {
                this.root = buildFlame(this.model, this.range, this.choice.selectedIndex === 1);
                this.zoomed = this.root;
                if (this.root.weight === 0 && this.choice.selectedIndex === 0) {
                        this.panel.replaceChildren(make('p', { className: 'note',
                                textContent: 'No kernel stacks in this time: record them with --stacktrace.' }));
                        return;
                }
                this.panel.replaceChildren(this.choice, this.note, this.canvas);
                this.draw();
        }

        weightText(weight) {
                return this.choice.selectedIndex === 1 ? showDuration(weight) : `${showCount(weight)} samples`;
        }

        describe(node = this.zoomed) {
                const share = (100 * node.weight / (this.root.weight || 1)).toFixed(1);
                this.note.textContent = `${node.name}: ${this.weightText(node.weight)}, ${share} %. Click to zoom.`;
        }

        draw() {
                const width = this.panel.clientWidth - 24, ratio = window.devicePixelRatio || 1, theme = readTheme();
                this.boxes = [];
                this.place(this.zoomed, 0, width, 0);
                /* A call cannot have as many arguments as there may be boxes. */
                const height = FLAME_ROW * (1 + this.boxes.reduce((row, box) => Math.max(row, box.row), 0));
                Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
                Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
                const c = this.canvas.getContext('2d');
                c.scale(ratio, ratio);
                c.font = '11px system-ui, sans-serif';
                c.textBaseline = 'middle';
                for (const { node, x, row, size } of this.boxes) {
                        let hash = 0;
                        for (const character of node.name)
                                hash = (hash * 31 + character.charCodeAt(0)) % 997;
                        c.fillStyle = `hsl(${10 + hash % 45} ${theme.saturation} ${theme.lightness})`;
                        c.fillRect(x, row * FLAME_ROW, Math.max(0.5, size - 0.5), FLAME_ROW - 1);
                        c.fillStyle = '#10151c';
                        const letters = Math.floor((size - 6) / 6);
                        if (letters > 2)
                                c.fillText(node.name.length > letters
                                        ? node.name.slice(0, letters - 1) + '\u2026' : node.name,
                                        x + 3, row * FLAME_ROW + FLAME_ROW / 2);
                }
                this.describe();
        }

        /* Boxes of less than half a pixel are left out. */
        place(node, x, size, row) {
                this.boxes.push({ node, x, row, size });
                const children = Array.from(node.children.values()).sort((a, b) => b.weight - a.weight);
                for (const child of children) {
                        const part = node.weight > 0 ? size * child.weight / node.weight : 0;
                        if (part >= 0.5)
                                this.place(child, x, part, row + 1);
                        x += part;
                }
        }

        at(event) {
                const { offsetX: x, offsetY: y } = event, row = Math.floor(y / FLAME_ROW);
                const box = this.boxes.find((b) => b.row === row && x >= b.x && x < b.x + b.size);
                return box && box.node;
        }
}
