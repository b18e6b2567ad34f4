// SPDX-License-Identifier: LGPL-2.1-or-later
// browse.js BROWSER PAGE SEARCH [PICTURES]: opens a page of `convert --to html`, uses it with mouse and keys, and
// prints what it shows as JSON. PICTURES: a directory for screenshots. Speaks the DevTools protocol over two pipes.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');

const [browserPath, pagePath, searched, pictures] = process.argv.slice(2);
const browser = spawn(browserPath, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
        '--hide-scrollbars', '--window-size=1400,800', '--remote-debugging-pipe', 'about:blank'],
{ stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const waiting = new Map(), requests = [], problems = [];
let last = 0, text = '', session;

const take = (message) => {
        if (message.id) {
                const { resolve, reject } = waiting.get(message.id);
                waiting.delete(message.id);
                message.error ? reject(new Error(message.error.message)) : resolve(message.result);
        } else if (message.method === 'Network.requestWillBeSent')
                requests.push(message.params.request.url);
        else if (['Runtime.exceptionThrown', 'Log.entryAdded', 'Page.javascriptDialogOpening'].includes(message.method))
                problems.push(message);
};
browser.stdio[4].on('data', (data) => {
        const messages = (text + data).split('\0');
        text = messages.pop();
        messages.map((message) => JSON.parse(message)).forEach(take);
});
const send = (method, params = {}) => new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject });
        browser.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId: session }) + '\0');
});
const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));
const read = async (expression) => {
        const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, returnByValue: true });
        if (exceptionDetails)
                throw new Error(exceptionDetails.exception.description);
        return result.value;
};
const waitFor = async (expression) => {
        for (let i = 0; i < 600; i++) {
                if (await read(expression))
                        return;
                await sleep(50);
        }
        throw new Error(`never true: ${expression}`);
};
const picture = async (name) => {
        await sleep(100);
        const { data } = pictures ? await send('Page.captureScreenshot') : {};
        if (pictures)
                fs.writeFileSync(`${pictures}/${name}.png`, Buffer.from(data, 'base64'));
};
const mouse = (type, x, y, more = {}) => send('Input.dispatchMouseEvent', { type, x, y, button: 'left', ...more });
const drag = async (from, to, y, modifiers) => {
        await mouse('mousePressed', from, y, { clickCount: 1, modifiers });
        for (let i = 1; i <= 4; i++)
                await mouse('mouseMoved', from + (to - from) * i / 4, y, { buttons: 1, modifiers });
        await mouse('mouseReleased', to, y, { clickCount: 1, modifiers });
        await sleep(150);
};
const key = async (name) => {
        await send('Input.dispatchKeyEvent', { type: 'keyDown', key: name,
                text: name.length === 1 ? name : undefined });
        await send('Input.dispatchKeyEvent', { type: 'keyUp', key: name });
        await sleep(150);
};
const tables = () => read(`Object.fromEntries(Array.from(document.querySelectorAll('#summary section'),
        (s) => [s.dataset.name,
        Array.from(s.querySelectorAll('tbody tr'), (row) => Array.from(row.cells, (cell) => cell.textContent))]))`);
const scale = () => read("document.getElementById('scale').textContent");
const click = (selector) => read(`document.querySelector('${selector}').click()`);
const panel = (name) => read(`document.getElementById('${name}').innerText`);

// Moves over the lanes until something is shown.
const hover = async () => {
        for (let x = 250; x < 950; x += 7) {
                await mouse('mouseMoved', x, 150, { button: 'none' });
                if (await read("!document.getElementById('tip').hidden"))
                        return read("document.getElementById('tip').innerText");
        }
        return '';
};

const use = async () => {
        const result = { ready: Number(await read('document.documentElement.dataset.ready')),
                first: Number(await read('document.documentElement.dataset.first')),
                summary: await tables(), title: await read('document.title'),
                receipt: await read("document.getElementById('receipt').textContent"),
                elements: await read("document.querySelectorAll('img, iframe, script, link, object').length") };
        await picture('whole');
        const scales = [await scale()];
        await mouse('mouseWheel', 600, 150, { deltaX: 0, deltaY: -600, button: 'none' });
        await sleep(200);
        scales.push(await scale());
        await key('w');
        scales.push(await scale());
        result.tip = await hover();
        await picture('hover');
        await drag(700, 500, 150, 0);
        await key('0');
        scales.push(await scale());
        result.scales = scales.map((each) => each.split(' \u00b7 ')[0]);
        await drag(400, 700, 150, 8);
        result.selection = { text: await panel('summary'), summary: await tables() };
        await picture('selection');
        await key('Escape');
        result.afterEscape = await tables();
        await key('/');
        await send('Input.insertText', { text: searched });
        await key('Enter');
        await read("document.getElementById('search').dispatchEvent(new Event('change'))");
        await waitFor("document.getElementById('found').textContent.endsWith('found')");
        result.found = await read("document.getElementById('found').textContent");
        await key('n');
        result.event = await panel('event');
        await picture('search');
        await click('#theme');
        await click('nav button[data-tab=flame]');
        result.flame = await panel('flame');
        await picture('flame');
        await click('nav button[data-tab=receipt]');
        await picture('receipt');
        return result;
};

const run = async () => {
        const { targetInfos } = await send('Target.getTargets');
        const { targetId } = targetInfos.find((target) => target.type === 'page');
        session = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
        for (const domain of ['Page', 'Runtime', 'Network', 'Log'])
                await send(`${domain}.enable`);
        await send('Page.navigate', { url: `file://${fs.realpathSync(pagePath)}` });
        await waitFor('document.documentElement?.dataset.ready !== undefined');
        console.log(JSON.stringify({ ...await use(), problems,
                requests: requests.filter((url) => !url.startsWith('file:')) }));
};
const end = (status) => {
        browser.kill('SIGKILL');
        process.exitCode = status;
        browser.stdio[3].destroy();
        browser.stdio[4].destroy();
};
run().then(() => end(0), (error) => {
        console.error(`browse.js: ${error.stack}`);
        end(1);
});
