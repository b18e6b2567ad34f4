/* Makes lanes from a trace: who ran on each CPU, what each thread did, calls, losses, wake-ups. */

const TASK_SLEEPING = 1, TASK_BLOCKED = 2;
const EXIT = 'sched:sched_process_exit';

/* The first index whose value is at least `value`. */
const lowerBound = (values, value, low = 0, high = values.length) => {
        while (low < high) {
                const middle = (low + high) >>> 1;
                if (values[middle] < value)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
};

/* Parts of a lane that do not overlap, in time order. `value` says what was in a part. */
class Slices {
        constructor() {
                this.start = [];
                this.end = [];
                this.value = [];
                this.sums = null;
        }
        push(start, end, value) {
                /* Entries of calls may overlap where events were lost. */
                const last = this.end.length > 0 ? this.end[this.end.length - 1] : 0;
                this.start.push(Math.max(start, Math.min(last, end)));
                this.end.push(end);
                this.value.push(value);
        }
        get n() {
                return this.start.length;
        }
        /* The indices of the slices that touch the time range. */
        range(from, to) {
                const first = lowerBound(this.end, from);
                return [first, Math.max(first, lowerBound(this.start, to, first))];
        }
        /* The index of the slice at a time, or -1. */
        at(time) {
                const i = lowerBound(this.end, time);
                return i < this.n && this.start[i] <= time ? i : -1;
        }
        /* The time before `time` that slices cover. */
        busyBefore(time) {
                if (!this.sums) {
                        this.sums = new Float64Array(this.n + 1);
                        for (let i = 0; i < this.n; i++)
                                this.sums[i + 1] = this.sums[i] + this.end[i] - this.start[i];
                }
                const i = lowerBound(this.end, time);
                return this.sums[i] + (i < this.n ? Math.max(0, time - this.start[i]) : 0);
        }
        busy(from, to) {
                return this.busyBefore(to) - this.busyBefore(from);
        }
}

/* Lists the items of each key, in time order. */
const groupItems = (n, keys) => {
        const groups = new Map();
        let group = null;
        const find = (key) => {
                if (!group || group.key !== key) /* most items have the key of the item before */
                        group = groups.get(key);
                return group;
        };
        for (let i = 0; i < n; i++)
                if (find(keys[i]))
                        group.n++;
                else
                        groups.set(keys[i], group = { key: keys[i], n: 1, used: 0 });
        for (const each of groups.values())
                each.items = new Int32Array(each.n);
        for (let i = 0; i < n; i++)
                find(keys[i]).items[group.used++] = i;
        return new Map(Array.from(groups.values(), ({ key, items }) => [key, items]));
};

class Model {
        constructor(trace) {
                const items = trace.items;
                this.trace = trace;
                this.end = items.n > 0 ? items.time[items.n - 1] : 1;
                this.gaps = [];  /* {cpu, from, to, item} */
                this.wakes = []; /* {time, from, to, item}: the threads */
                this.cpus = new Map(Array.from(groupItems(items.n, items.cpu),
                        ([cpu, list]) => [cpu, { cpu, list, runs: new Slices() }]));
                this.threads = new Map();
                for (const [tid, list] of groupItems(items.n, items.tid))
                        if (tid > 0)
                                this.thread(tid).list = list;
                this.scan();
                this.addCalls();
                this.units = new UnitReader(trace).read();
        }

        thread(tid) {
                let thread = this.threads.get(tid);
                if (!thread) {
                        thread = { tid, list: new Int32Array(0), runs: new Slices(), waits: new Slices(),
                                calls: new Slices(), state: '', since: 0 };
                        this.threads.set(tid, thread);
                }
                return thread;
        }

        /* The events of the scheduler, by kind. A recording of own processes may lack the switches from
         * other threads to its own. Then it does not say when a thread ran and when it waited. */
        findReaders() {
                const readers = new Map(), { kinds, meta } = this.trace, receipt = meta.receipt || {};
                const label = 'sched:sched_switch', has = (map) => Boolean(map) && Object.hasOwn(map, label);
                this.hidesOthers = Boolean(receipt.fenced) &&
                        Array.from(kinds.values()).some((kind) => kind.label === label);
                const { scope } = receipt.spec || {};
                this.listsThreads = scope !== undefined && scope !== 'system';
                this.hidesScheduler = this.hidesOthers && !has(receipt['also-of']);
                if (this.hidesScheduler)
                        return readers;
                for (const kind of kinds.values()) {
                        const fields = Object.fromEntries(kind.fields.map((f) => [f.name, f]));
                        if (kind.label === 'sched:sched_switch')
                                readers.set(kind.id, (item) => this.takeSwitch(item, fields));
                        else if (kind.label === EXIT && this.listsThreads && fields.pid)
                                readers.set(kind.id, (item) => this.takeExit(item, fields));
                        else if (/^sched:sched_(waking|wakeup|wakeup_new)$/.test(kind.label) && fields.pid)
                                readers.set(kind.id, (item) => this.takeWake(item, fields));
                }
                return readers;
        }

        /* One pass over all items. Instances may each have the switches: those of one are used. */
        scan() {
                const { items } = this.trace, readers = this.findReaders();
                const last = new Map(); /* time of the last item of each CPU */
                this.buffer = -1;
                for (let item = 0; item < items.n; item++) {
                        const read = readers.get(items.kind[item]), cpu = items.cpu[item];
                        if (read && (this.buffer < 0 || (items.flags[item] & BUFFER_MASK) === this.buffer)) {
                                this.buffer = items.flags[item] & BUFFER_MASK;
                                read(item);
                        } else if (items.isLoss(item))
                                this.takeLoss(item, last.get(cpu) || 0);
                        last.set(cpu, items.time[item]);
                }
                if (this.listsThreads && !Array.from(this.trace.kinds.values()).some((kind) => kind.label === EXIT))
                        this.forgetRunning();
                for (const cpu of this.cpus.values())
                        this.leave(cpu, this.end);
                for (const thread of this.threads.values())
                        this.setState(thread, '', this.end);
        }

        /* A thread that seems to run may have ended. */
        forgetRunning() {
                for (const cpu of this.cpus.values())
                        cpu.running = 0;
                for (const thread of this.threads.values())
                        if (thread.state === 'runs')
                                thread.state = '';
        }

        setState(thread, state, time, cpu = 0) {
                if (thread.state === 'runs')
                        thread.runs.push(thread.since, time, thread.cpu);
                else if (thread.state !== '')
                        thread.waits.push(thread.since, time, thread.state === 'waits' ? 0 : 1);
                Object.assign(thread, { state, since: time, cpu });
        }

        leave(cpu, time) {
                if (cpu.running > 0)
                        cpu.runs.push(cpu.since, time, cpu.running);
                cpu.running = 0;
        }

        takeSwitch(item, fields) {
                if (!fields.prev_pid || !fields.next_pid || !fields.prev_state)
                        return;
                const { items } = this.trace, cpu = this.cpus.get(items.cpu[item]);
                const time = items.time[item], previous = fields.prev_pid.number(items, item);
                const next = fields.next_pid.number(items, item);
                this.checkRunning(cpu, previous);
                if (previous > 0) {
                        const thread = this.thread(previous), state = fields.prev_state.number(items, item);
                        this.setState(thread, state & TASK_BLOCKED ? 'blocked'
                                : state & 0xff ? '' : 'waits', time);
                }
                this.leave(cpu, time);
                Object.assign(cpu, { running: next, since: time });
                if (next > 0)
                        this.setState(this.thread(next), 'runs', time, cpu.cpu);
        }

        /* The first switch says who ran since the start. Later a switch may be missing, because it was
         * of a thread that the recording may not show. Then it is unknown who ran when. */
        checkRunning(cpu, previous) {
                if (cpu.running === undefined) {
                        Object.assign(cpu, { running: previous, since: 0 });
                        if (previous > 0)
                                Object.assign(this.thread(previous), { state: 'runs', since: 0, cpu: cpu.cpu });
                } else if (cpu.running !== previous) {
                        if (cpu.running > 0)
                                this.setState(this.thread(cpu.running), '', cpu.since);
                        this.leave(cpu, cpu.since || 0);
                        if (previous > 0)
                                this.thread(previous).state = '';
                }
        }

        takeWake(item, fields) {
                const { items, kinds } = this.trace, tid = fields.pid.number(items, item);
                const thread = tid > 0 ? this.thread(tid) : null, time = items.time[item];
                if (!thread || thread.state === 'runs' || thread.state === 'waits')
                        return;
                this.setState(thread, 'waits', time);
                if (items.tid[item] > 0 && !/sched_wakeup$/.test(kinds.get(items.kind[item]).name))
                        this.wakes.push({ time, from: items.tid[item], to: tid, item });
        }

        /* A recording of chosen processes lacks the last switch away from a thread that ends. */
        takeExit(item, fields) {
                const { items } = this.trace, cpu = this.cpus.get(items.cpu[item]);
                const tid = fields.pid.number(items, item), time = items.time[item];
                if (tid <= 0)
                        return;
                this.setState(this.thread(tid), '', time);
                if (cpu.running === tid) {
                        this.leave(cpu, time);
                        cpu.since = time;
                }
        }

        /* What ran on the CPU during a loss is unknown. */
        takeLoss(item, from) {
                const { items } = this.trace, cpu = this.cpus.get(items.cpu[item]);
                this.gaps.push({ cpu: cpu.cpu, from, to: items.time[item], item });
                if (cpu.running > 0)
                        this.setState(this.thread(cpu.running), '', Math.max(from, cpu.since));
                this.leave(cpu, Math.max(from, cpu.since || 0));
        }

        addCalls() {
                const { calls } = this.trace;
                for (let i = 0; i < calls.n; i++)
                        if (calls.duration[i] >= 0)
                                this.thread(calls.tid[i]).calls.push(
                                        calls.at[i] - calls.duration[i], calls.at[i], i);
        }

        /* CPUs by number, then units by their begin, then threads, those with most events first. */
        lanes() {
                const cpus = Array.from(this.cpus.values()).sort((a, b) => a.cpu - b.cpu);
                const threads = Array.from(this.threads.values()).sort((a, b) =>
                        b.list.length - a.list.length || a.tid - b.tid);
                return [...cpus.map((cpu) => ({ ...cpu, isCpu: true, name: `CPU ${cpu.cpu}` })),
                        ...this.units,
                        ...threads.map((thread) => ({ ...thread, isCpu: false,
                                name: threadName(this.trace, thread.tid) }))];
        }

        /* The items of a time range are adjacent. */
        range(from, to) {
                const { time, n } = this.trace.items;
                return [lowerBound(time, from, 0, n), lowerBound(time, to + 1, 0, n)];
        }
}
