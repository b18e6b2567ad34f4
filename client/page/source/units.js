/* Makes lanes of systemd's units from the events of cgroups, as a boot chart: when each unit began, when it got its
 * first process, and which programs ran in it.
 *
 * A process enters a unit when it is moved there, or when it is born there: its parent is in the unit, or made the
 * cgroup populated just before. The events do not say when a process is born into another unit than its parent's that
 * has processes already. It counts as its parent's then. Threads are born like processes, so only those count that
 * were moved or that executed a program. */

/* The path up to the last part that is a unit with processes: a unit may have cgroups of its own. */
const unitPath = (path) => {
        const found = /^.*\/[^/]+\.(service|scope|socket|mount|swap)(?=\/|$)/.exec(path);
        return found ? found[0] : '';
};

const lastPart = (path) => path.slice(path.lastIndexOf('/') + 1);

/* A program that was executed by its descriptor has no name. */
const programName = (path) => path.startsWith('/proc/') ? path : lastPart(path);

class Unit {
        constructor(path, time) {
                this.path = path;
                this.name = lastPart(path);
                this.isUnit = true;
                this.begin = time;
                this.delay = -1;          /* from the begin to the first process */
                this.firstProcess = -1;
                this.program = '';        /* of the first process */
                this.nProcesses = 0;
                this.alive = new Map();   /* the program of each process, the oldest first */
                this.isPopulated = false;
                this.since = time;        /* when isPopulated changed */
                this.shown = null;        /* the program of the oldest process */
                this.shownSince = time;
                this.list = [];           /* items */
                this.runs = new Slices();
                this.waits = new Slices();
                this.calls = new Slices();
                this.programs = new Slices();
        }

        setPopulated(isPopulated, time) {
                if (this.isPopulated === isPopulated)
                        return;
                if (isPopulated && this.delay < 0)
                        this.delay = time - this.begin;
                (this.isPopulated ? this.runs : this.waits).push(this.since, time, 0);
                Object.assign(this, { isPopulated, since: time });
        }

        /* Begins the bar of the oldest process. */
        showProgram(time) {
                const [oldest = null] = this.alive.values();
                if (oldest === this.shown)
                        return;
                if (this.shown !== null)
                        this.programs.push(this.shownSince, time, this.shown);
                Object.assign(this, { shown: oldest, shownSince: time });
        }

        setProgram(tid, program, time) {
                if (!this.alive.has(tid))
                        this.nProcesses++;
                if (this.firstProcess < 0)
                        this.firstProcess = tid;
                if (this.firstProcess === tid)
                        this.program = program;
                this.alive.set(tid, program);
                this.setPopulated(true, time);
                this.showProgram(time);
        }

        remove(tid, time) {
                this.alive.delete(tid);
                this.showProgram(time);
        }

        end(time) {
                this.alive.clear();
                this.showProgram(time);
                if (this.isPopulated)
                        this.setPopulated(false, time);
        }
}

class UnitReader {
        constructor(trace) {
                this.trace = trace;
                this.units = new Map();   /* by path */
                this.members = new Map(); /* the unit of a thread */
                this.filled = new Map();  /* by thread: the unit that it made populated, for its next child */
        }

        /* Returns the units by their begin. There are none without events of cgroups. */
        read() {
                const { items, kinds } = this.trace, readers = new Map();
                for (const kind of kinds.values()) {
                        const fields = Object.fromEntries(kind.fields.map((field) => [field.name, field]));
                        const read = this.findReader(kind.label, fields);
                        if (read)
                                readers.set(kind.id, read);
                }
                this.saysPopulated = Array.from(kinds.values()).some(({ label }) =>
                        label === 'cgroup:cgroup_notify_populated');
                if (Array.from(readers.keys()).some((id) => /^cgroup:/.test(kinds.get(id).label)))
                        for (let item = 0; item < items.n; item++)
                                readers.get(items.kind[item])?.(item, items.time[item]);
                for (const unit of this.units.values())
                        unit.end(items.time[items.n - 1]);
                return Array.from(this.units.values()).sort((a, b) => a.begin - b.begin);
        }

        findReader(label, { path, val, dst_path: target, pid, parent_pid: parent, child_pid: child, filename }) {
                if (label === 'cgroup:cgroup_mkdir' && path)
                        return (item) => this.find(path, item);
                if (label === 'cgroup:cgroup_notify_populated' && path && val)
                        return (item, time) => this.takePopulated(item, time, path, val);
                if (label === 'cgroup:cgroup_attach_task' && target && pid)
                        return (item, time) => this.takeMove(item, time, target, pid);
                if (label === 'sched:sched_process_fork' && parent && child)
                        return (item, time) => this.takeBirth(item, time, parent, child);
                if (label === 'sched:sched_process_exec' && filename)
                        return (item, time) => this.takeProgram(item, time, filename);
                if (label === 'sched:sched_process_exit')
                        return (item, time) => this.takeExit(item, time);
                return null;
        }

        /* The text of a damaged record may lie anywhere. */
        text(field, item) {
                try {
                        return field.text(this.trace.items, item);
                } catch (error) {
                        return '';
                }
        }

        find(field, item) {
                const path = unitPath(this.text(field, item));
                if (path === '')
                        return null;
                if (!this.units.has(path))
                        this.units.set(path, new Unit(path, this.trace.items.time[item]));
                const unit = this.units.get(path);
                unit.list.push(item);
                return unit;
        }

        takePopulated(item, time, path, val) {
                const unit = this.find(path, item), { items } = this.trace;
                if (!unit)
                        return;
                if (val.number(items, item) !== 0) {
                        unit.setPopulated(true, time);
                        this.filled.set(items.tid[item], unit);
                } else if (this.text(path, item) === unit.path)
                        unit.setPopulated(false, time);
        }

        takeMove(item, time, target, pid) {
                const unit = this.find(target, item), { items } = this.trace, tid = pid.number(items, item);
                this.filled.delete(items.tid[item]);
                /* systemd moves a process, which then moves itself. */
                if (unit && unit.alive.has(tid))
                        return;
                this.leave(tid, time);
                if (!unit)
                        return;
                this.members.set(tid, unit);
                unit.setProgram(tid, threadName(this.trace, tid), time);
        }

        takeBirth(item, time, parent, child) {
                const { items } = this.trace, tid = parent.number(items, item), born = child.number(items, item);
                const unit = this.filled.get(tid) || this.members.get(tid);
                this.filled.delete(tid);
                this.leave(born, time);
                if (unit)
                        this.members.set(born, unit);
        }

        takeProgram(item, time, filename) {
                const tid = this.trace.items.tid[item], unit = this.members.get(tid);
                if (!unit)
                        return;
                unit.list.push(item);
                unit.setProgram(tid, programName(this.text(filename, item)), time);
        }

        takeExit(item, time) {
                const tid = this.trace.items.tid[item], unit = this.members.get(tid);
                if (unit && unit.alive.has(tid))
                        unit.list.push(item);
                this.leave(tid, time);
        }

        leave(tid, time) {
                const unit = this.members.get(tid);
                this.members.delete(tid);
                if (!unit)
                        return;
                unit.remove(tid, time);
                if (!this.saysPopulated && unit.alive.size === 0)
                        unit.setPopulated(false, time);
        }
}
