// SPDX-License-Identifier: LGPL-2.1-or-later
// browse.js BROWSER PAGE SEARCH [PICTURES]: opens a page of `convert --to html`, uses it with mouse and keys, and
// prints what it shows as JSON. PICTURES: a directory for screenshots.
'use strict';
const { onPage, send, sleep, read, waitFor, picture, mouse, requests, problems } = require('./browser.js');

const [browserPath, pagePath, searched, pictures] = process.argv.slice(2);
const keep = async (name) => {
        if (pictures)
                await picture(`${pictures}/${name}.png`);
};
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
        await keep('whole');
        const scales = [await scale()];
        await mouse('mouseWheel', 600, 150, { deltaX: 0, deltaY: -600, button: 'none' });
        await sleep(200);
        scales.push(await scale());
        await key('w');
        scales.push(await scale());
        result.tip = await hover();
        await keep('hover');
        await drag(700, 500, 150, 0);
        await key('0');
        scales.push(await scale());
        result.scales = scales.map((each) => each.split(' \u00b7 ')[0]);
        await drag(400, 700, 150, 8);
        result.selection = { text: await panel('summary'), summary: await tables() };
        await keep('selection');
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
        await keep('search');
        await click('#theme');
        await click('nav button[data-tab=flame]');
        result.flame = await panel('flame');
        await keep('flame');
        await click('nav button[data-tab=receipt]');
        await keep('receipt');
        return result;
};

onPage(browserPath, pagePath, [1400, 800], async () => console.log(JSON.stringify({ ...await use(), problems,
        requests: requests.filter((url) => !url.startsWith('file:')) })));
