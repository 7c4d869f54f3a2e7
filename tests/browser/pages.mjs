// pages.mjs TOKGRID BROWSER TESTS FOLDER - the pages and pictures of results in a real browser.
//
// TESTS is the folder of all tests (data, golden images), FOLDER takes what is made. With
// TOKGRID_GOLDEN_UPDATE set the golden images are written anew where the pages differ from them.

import {mkdirSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import {HtmlValidate} from 'html-validate';
import {Golden, layFonts} from './golden.mjs';
import {hiddenFaults, layoutFaults, overlapFaults, pictureFaults} from './inspect.mjs';
import {LANGUAGES, SCHEMES, WIDTHS, launch, open, render} from './surroundings.mjs';
import {expect, expectNone, finish, test} from './tap.mjs';

const [tokgrid, browserPath, tests, folder] = process.argv.slice(2);
const fonts = layFonts(join(folder, 'fonts'));
const made = join(folder, 'made');
mkdirSync(made, {recursive: true});
const subjects = render(tokgrid, tests, made);
const browser = await launch(browserPath, fonts.missing ? null : fonts.settings);
const subject = (name) => subjects.find((s) => s.name === name);

// ---- the text of a page ------------------------------------------------------------------------

const validator = new HtmlValidate({
    root: true,
    extends: ['html-validate:recommended'],
    rules: {
        'long-title': 'off', // a model's name is as long as it is
    },
});

async function valid(s) {
    const report = await validator.validateString(s.page.text, `${s.name}.html`);
    expectNone(report.results.flatMap((r) => r.messages)
        .map((m) => `${m.line}:${m.column} ${m.ruleId}: ${m.message}`), 'invalid HTML');
}

// ---- accessibility -----------------------------------------------------------------------------

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

async function accessible(s, width, scheme) {
    await open(browser, s.page.url, {width, scheme}, async (page) => {
        await page.evaluate(() => {
            dispatchEvent(new Event('beforeprint')); // every view is shown
            document.querySelectorAll('details').forEach((e) => (e.open = true));
        });
        await page.evaluate(axe);
        const violations = await page.evaluate(async (tags) => {
            const found = await globalThis.axe.run(document,
                {runOnly: tags, resultTypes: ['violations']});
            return found.violations.flatMap((v) => v.nodes.map((n) =>
                `${v.id} (${v.impact}): ${n.target} ${n.failureSummary.replace(/\s+/g, ' ')}`));
        }, AXE_TAGS);
        expectNone(violations, 'axe found');
    });
}

// ---- without script ----------------------------------------------------------------------------

async function plain(s, width) {
    await open(browser, s.page.url, {width, scripts: false}, async (page, log) => {
        const views = await page.locator('.view').evaluateAll((all) => all.map((e) => {
            const box = e.getBoundingClientRect();
            return {id: e.id, top: box.top, bottom: box.bottom, width: box.width};
        }));
        expect(views.length >= 4, `only ${views.length} views`);
        views.forEach((view, i) => {
            expect(view.width > 0 && view.bottom > view.top, `${view.id} is not shown`);
            expect(i === 0 || view.top >= views[i - 1].bottom, `${view.id} lies on the one before`);
        });
        expectNone(await page.evaluate(hiddenFaults), 'without script');
        expectNone(await page.evaluate(layoutFaults), 'layout');
        expectNone(await page.evaluate(overlapFaults), 'text on text');
        expectNone(await page.evaluate(pictureFaults), 'charts');
        expectNone(log, 'the page did more than show itself');
    });
}

// ---- with script -------------------------------------------------------------------------------

const shownViews = (page) =>
    page.locator('.view:visible').evaluateAll((all) => all.map((e) => e.id));
const viewsOf = (buttons) => buttons.evaluateAll((all) => all.map((e) => e.dataset.view));
const switchViews = (page) => viewsOf(page.locator('.switch button'));

async function expectView(page, id, when) {
    const shown = await shownViews(page);
    const down = await viewsOf(page.locator('.switch [aria-pressed="true"]'));
    expect(shown.length === 1 && shown[0] === id, `${when}: shows ${shown}, not ${id}`);
    expect(down.length === 1 && down[0] === id, `${when}: pressed is ${down}, not ${id}`);
}

async function switches(s) {
    await open(browser, s.page.url, {width: 390}, async (page, log) => {
        const ids = await switchViews(page);
        expect(ids.length >= 4, `the switch has ${ids.length} buttons`);
        await expectView(page, ids[0], 'at first');
        for (const id of [...ids].reverse()) {
            await page.click(`.switch [data-view="${id}"]`);
            await expectView(page, id, 'after a click');
        }
        expectNone(log, 'the page did more than show itself');
    });
}

// Tab reaches every button of the switch, in order and visibly; Enter and Space press it.
async function keyboard(s) {
    await open(browser, s.page.url, {}, async (page) => {
        const ids = await switchViews(page);
        const focused = () => page.evaluate(() => ({
            view: document.activeElement.dataset.view,
            skip: document.activeElement.matches('.skip'),
            outline: getComputedStyle(document.activeElement).outlineStyle,
            left: document.activeElement.getBoundingClientRect().left,
        }));
        await page.keyboard.press('Tab');
        const first = await focused();
        expect(first.skip && first.left >= 0, 'the first Tab does not lead to the main part');
        let at = first;
        for (let presses = 0; presses < 40 && at.view !== ids[0]; presses++) {
            await page.keyboard.press('Tab');
            at = await focused();
            expect(at.outline !== 'none', `no focus can be seen after ${presses + 2} Tabs`);
        }
        for (const [i, id] of ids.entries()) {
            at = await focused();
            expect(at.view === id, `Tab leads to ${at.view}, not ${id}`);
            await page.keyboard.press(i % 2 ? 'Enter' : 'Space');
            await expectView(page, id, 'after a key');
            await page.keyboard.press('Tab');
        }
    });
}

async function copies(s, clipboardWorks) {
    const permissions = ['clipboard-read', 'clipboard-write'];
    await open(browser, s.page.url, {permissions}, async (page, log) => {
        const copy = page.locator('.copy');
        const label = await copy.textContent();
        if (!clipboardWorks)
            await page.evaluate(() => {
                navigator.clipboard.writeText = () => Promise.reject(new Error('refused'));
            });
        await copy.click();
        await page.waitForFunction(
            (was) => document.querySelector('.copy').textContent !== was, label, {timeout: 5000});
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        const wanted = s.json.engine.launch_command.trimEnd();
        expect(copied.trimEnd() === wanted, `copied:\n${copied}\nnot:\n${wanted}`);
        expectNone(log, 'the page did more than show itself');
    });
}

async function downloads(s) {
    await open(browser, s.page.url, {}, async (page, log) => {
        const embedded = await page.locator('#document').evaluate((e) => e.textContent);
        const arrives = page.waitForEvent('download');
        await page.click('.download');
        const download = await arrives;
        const bytes = readFileSync(await download.path(), 'utf8');
        expect(bytes === embedded, 'the download is not the embedded document');
        expect(isDeepStrictEqual(JSON.parse(bytes), JSON.parse(s.document)),
            'the download is not what show prints as json');
        const name = download.suggestedFilename();
        expect(name === `${s.json.id ?? 'run'}.json`, `the file is called ${name}`);
        expectNone(log, 'the page did more than show itself');
    });
}

// Shown with the ring around it.
const inWindow = (page, selector) => page.locator(selector).evaluate((e) => {
    const box = e.getBoundingClientRect();
    const ring = 4;
    return e.checkVisibility() && box.top >= ring && box.bottom <= innerHeight - ring &&
        box.left >= ring && box.right <= innerWidth - ring;
});

// The last cell with figures, which is far to the right and far down.
async function permalinks(s, width) {
    const id = await open(browser, s.page.url, {width}, async (page, log) => {
        const last = await page.locator('.heat td[id]:has(a)').last().getAttribute('id');
        const other = await page.locator('.switch button').last().getAttribute('data-view');
        await page.click(`.switch [data-view="${other}"]`);
        await page.click(`.rows a[href="#${last}"]`);
        await page.waitForTimeout(50);
        expect(await inWindow(page, `#${last}`), `a row's link does not show #${last}`);
        await expectView(page, 'view-total', "after a row's link");
        expectNone(log, 'the page did more than show itself');
        return last;
    });
    await open(browser, `${s.page.url}#${id}`, {width}, async (page) => {
        expect(await page.locator(':target').getAttribute('id') === id, `#${id} is no target`);
        expect(await inWindow(page, `#${id}`), `#${id} is not in the window`);
        const outline = await page.locator(':target')
            .evaluate((e) => getComputedStyle(e).outlineStyle);
        expect(outline !== 'none', `#${id} does not stand out`);
    });
}

async function policy(s) {
    await open(browser, s.page.url, {}, async (page) => {
        const blocked = await page.evaluate(() => new Promise((resolve) => {
            const seen = [];
            addEventListener('securitypolicyviolation', (e) => seen.push(e.effectiveDirective));
            const script = document.createElement('script');
            script.textContent = 'globalThis.planted = true';
            const image = Object.assign(new Image(), {src: 'http://localhost:9/x.png'});
            document.body.append(script, image);
            setTimeout(() => resolve({seen, planted: globalThis.planted === true}), 100);
        }));
        expect(!blocked.planted, 'a planted script ran');
        expect(blocked.seen.length === 2, `blocked only: ${blocked.seen}`);
    });
}

// ---- print -------------------------------------------------------------------------------------

const A4_WIDTH = 718; // CSS pixels between margins of 10 mm

async function prints(s) {
    await open(browser, s.page.url, {}, async (page, log) => {
        await page.evaluate(() => addEventListener('beforeprint', () => {
            globalThis.printed = document.querySelectorAll('.view:not([hidden])').length;
        }));
        const pdf = await page.pdf({format: 'A4',
            margin: {top: '10mm', bottom: '10mm', left: '10mm', right: '10mm'}});
        const sheets = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0;
        const views = await page.locator('.view').count();
        const printed = await page.evaluate(() => globalThis.printed);
        expect(printed === views, `${printed} of ${views} views are printed`);
        expect(sheets >= 2 && sheets <= 12, `${sheets} sheets`);
        await expectView(page, 'view-total', 'after printing');
        expectNone(log, 'the page did more than show itself');
    });
    await open(browser, s.page.url, {width: A4_WIDTH, scripts: false}, async (page) => {
        await page.emulateMedia({media: 'print'});
        expectNone(await page.evaluate(layoutFaults), 'layout');
        expectNone(await page.evaluate(overlapFaults), 'text on text');
        expect(await page.locator('.heat b:visible').count() > 30, 'the figures are not printed');
        expect(await page.locator('button:visible').count() === 0, 'buttons are printed');
    });
}

// ---- pictures ----------------------------------------------------------------------------------

async function picture(p) {
    await open(browser, p.url, {width: 1200, height: 630}, async (page, log) => {
        const seen = await page.evaluate((text) => {
            const box = document.documentElement.getBoundingClientRect();
            const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
            return {
                size: `${box.width}x${box.height}`,
                fault: parsed.querySelector('parsererror')?.textContent,
            };
        }, p.text);
        expect(!seen.fault, `no XML: ${seen.fault}`);
        expect(!p.card || seen.size === '1200x630', `it is ${seen.size}`);
        expectNone(await page.evaluate(pictureFaults), 'labels');
        expectNone(log, 'the picture did more than show itself');
    });
}

// ---- golden images -----------------------------------------------------------------------------

// What is shown: the top of the page, or the part under a heading. `at` lists language, width and
// colours; one page has them all.
const every = LANGUAGES.flatMap((lang) => WIDTHS.flatMap((width) => SCHEMES.map(
    (scheme) => [lang, width, scheme])));
const SHOTS = [
    {page: 'qwen3-coder-30b', part: 'decode', at: every},
    {page: 'qwen3-coder-30b', part: 'top', at: [['en', 1440, 'light'], ['zh', 390, 'dark'],
        ['zh', 820, 'light']]},
    {page: 'qwen3-coder-30b', part: 'charts', at: [['en', 1440, 'dark'], ['zh', 390, 'light']]},
    {page: 'qwen3.5-27b', part: 'top', at: [['zh', 1440, 'dark'], ['en', 390, 'light']]},
    {page: 'qwen3.5-27b', part: 'decode', at: [['en', 820, 'light']]},
    {page: 'qwen3.5-27b', part: 'measurements', at: [['en', 820, 'dark']]},
    {page: 'example', part: 'decode', at: [['zh', 820, 'light'], ['en', 390, 'dark']]},
    {page: 'example', part: 'percentiles', at: [['en', 1440, 'dark'], ['zh', 820, 'light']]},
    {page: 'example', part: 'conditions', at: [['zh', 820, 'light']]},
];
const PICTURE_SHOTS = [
    ['qwen3-coder-30b.en.card', 'light'],
    ['example.zh.card', 'light'],
    ['example.en.decode', 'dark'],
];

async function shot(golden, name, part, lang, width, scheme) {
    const s = subject(`${name}.${lang}`);
    await open(browser, s.page.url, {width, scheme}, async (page) => {
        if (part !== 'top')
            await page.locator(`#${part}`).evaluate((e) =>
                scrollTo(0, scrollY + e.getBoundingClientRect().top - 16));
        golden.compare(`${name}.${part}.${lang}-${width}-${scheme}`,
            await page.screenshot({animations: 'disabled', caret: 'hide'}));
    });
}

async function pictureShot(golden, name, scheme) {
    const p = subjects.flatMap((s) => s.pictures).find((each) => each.name === name);
    await open(browser, p.url, {width: 1200, height: 630, scheme}, async (page) =>
        golden.compare(`${name}-${scheme}`, await page.screenshot()));
}

async function goldenImages() {
    const update = Boolean(process.env.TOKGRID_GOLDEN_UPDATE);
    const golden = new Golden(join(tests, 'golden/browser'), join(folder, 'failed'), update);
    const look = (name, take) => test(`looks as before: ${name}`, () =>
        fonts.missing ? {skip: `${fonts.missing} is not installed`} : take());
    for (const {page, part, at} of SHOTS)
        for (const [lang, width, scheme] of at)
            await look(`${page} ${part} ${lang} ${width} ${scheme}`,
                () => shot(golden, page, part, lang, width, scheme));
    for (const [name, scheme] of PICTURE_SHOTS)
        await look(`${name} ${scheme}`, () => pictureShot(golden, name, scheme));
    if (!fonts.missing)
        await test('no golden image is left over', () => expectNone(golden.unused(), 'unused'));
}

// ---- all of it ---------------------------------------------------------------------------------

for (const s of subjects) {
    await test(`HTML is valid: ${s.name}`, () => valid(s));
    for (const scheme of s.lang === 'en' ? SCHEMES : ['light']) // colours are the same in all
        await test(`axe finds nothing: ${s.name} 1440 ${scheme}`,
            () => accessible(s, 1440, scheme));
    await test(`axe finds nothing: ${s.name} 390`, () => accessible(s, 390, 'light'));
    for (const width of WIDTHS)
        await test(`works without script: ${s.name} ${width}`, () => plain(s, width));
    await test(`the switch changes the view: ${s.name}`, () => switches(s));
    for (const width of [390, 1440])
        await test(`links lead to cells: ${s.name} ${width}`, () => permalinks(s, width));
    await test(`the launch command is copied: ${s.name}`, () => copies(s, true));
    await test(`the document can be downloaded: ${s.name}`, () => downloads(s));
    await test(`it prints: ${s.name}`, () => prints(s));
    for (const p of s.pictures)
        await test(`the picture loads: ${p.name}`, () => picture(p));
}
for (const s of subjects.filter(({lang}) => lang === 'en')) { // what no language changes
    await test(`the switch obeys the keyboard: ${s.name}`, () => keyboard(s));
    await test(`it is copied where the clipboard refuses: ${s.name}`, () => copies(s, false));
    await test(`nothing foreign runs or loads: ${s.name}`, () => policy(s));
}
await goldenImages();
await browser.close();
process.exitCode = finish();
