// SPDX-License-Identifier: LGPL-2.1-or-later
// page.js BROWSER PAGE CALL PICTURE: a screenshot of a page of `convert --to html`, after a click on the first call of
// this name that has a bar in a lane.
'use strict';
const { onPage, read, picture, mouse } = require('../e2e/browser.js');

const [browserPath, pagePath, call, path] = process.argv.slice(2);
const tip = () => read("document.querySelector('#tip:not([hidden])')?.innerText || ''");

// Moves down the lanes, over the row of calls in each.
const findCall = async () => {
        const top = await read("document.getElementById('canvas').getBoundingClientRect().top");
        for (let y = top + 30 + 16; y < top + 30 + 34 * 12; y += 34)
                for (let x = 260; x < 700; x += 40) {
                        await mouse('mouseMoved', x, y, { button: 'none' });
                        if ((await tip()).startsWith(call))
                                return [x, y];
                }
        throw new Error(`no bar of ${call}`);
};

onPage(browserPath, pagePath, [1120, 420], async () => {
        const [x, y] = await findCall();
        await mouse('mousePressed', x, y, { clickCount: 1 });
        await mouse('mouseReleased', x, y, { clickCount: 1 });
        await mouse('mouseMoved', 5, 5, { button: 'none' });
        await picture(path);
});
