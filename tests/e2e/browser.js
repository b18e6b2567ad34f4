// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens a page of `convert --to html` in a headless Chromium, and uses it with mouse and keys. Speaks the DevTools
// protocol over two pipes. For browse.js and tests/pictures.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');

let last = 0, text = '', browser, session;
const waiting = new Map(), requests = [], problems = [];

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
const start = (path, [width, height]) => {
        browser = spawn(path, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                '--hide-scrollbars', `--window-size=${width},${height}`, '--remote-debugging-pipe', 'about:blank'],
        { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
        browser.stdio[4].on('data', (data) => {
                const messages = (text + data).split('\0');
                text = messages.pop();
                messages.map((message) => JSON.parse(message)).forEach(take);
        });
};
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
const picture = async (path) => {
        await sleep(100);
        const { data } = await send('Page.captureScreenshot');
        fs.writeFileSync(path, Buffer.from(data, 'base64'));
};
const mouse = (type, x, y, more = {}) => send('Input.dispatchMouseEvent', { type, x, y, button: 'left', ...more });
const open = async (path) => {
        const { targetInfos } = await send('Target.getTargets');
        const { targetId } = targetInfos.find((target) => target.type === 'page');
        session = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
        for (const domain of ['Page', 'Runtime', 'Network', 'Log'])
                await send(`${domain}.enable`);
        await send('Page.navigate', { url: `file://${fs.realpathSync(path)}` });
        await waitFor('document.documentElement?.dataset.ready !== undefined');
};
const end = (status) => {
        browser.kill('SIGKILL');
        process.exitCode = status;
        browser.stdio[3].destroy();
        browser.stdio[4].destroy();
};

// Runs use() on a page, and ends this process with status 0, or 1 if anything failed.
const onPage = (browserPath, pagePath, size, use) => {
        start(browserPath, size);
        open(pagePath).then(use).then(() => end(0), (error) => {
                console.error(error.stack);
                end(1);
        });
};

module.exports = { onPage, send, sleep, read, waitFor, picture, mouse, requests, problems };
