// site.mjs TOKGRID BROWSER TESTS FOLDER - the site in a real browser: its story with scripts off, and
// every kind of page looked at for what an eye, a validator or a screen reader would find wrong.

import {spawn} from 'node:child_process';
import {mkdirSync, readFileSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {HtmlValidate} from 'html-validate';
import {layoutFaults, overlapFaults} from './inspect.mjs';
import {LANGUAGES, SCHEMES, launch} from './surroundings.mjs';
import {expect, expectNone, finish, test} from './tap.mjs';

const [tokgrid, browserPath, tests, folder] = process.argv.slice(2);
const home = join(folder, 'home');
const data = (name) => join(tests, 'data', name);
const RUNS = [
    data('published/qwen3-coder-30b.json'),
    data('published/qwen3.5-27b.json'),
    data('measured/example.json'),
];
const PHONE = 390;
const DESK = 1440;

// ---- surroundings ------------------------------------------------------------------------------

rmSync(home, {recursive: true, force: true});
mkdirSync(home, {recursive: true});
const server = spawn(tokgrid, ['serve', '--listen', '127.0.0.1:0'],
    {cwd: home, stdio: ['ignore', 'pipe', 'inherit']});
const first = await new Promise((resolve) =>
    createInterface({input: server.stdout}).once('line', resolve).once('close', () => resolve('')));
const origin = /^listening on (http:.*)$/.exec(first)?.[1];
if (!origin)
    throw new Error(`tokgrid serve does not start: ${first}`);
const browser = await launch(browserPath, null);

const validator = new HtmlValidate({
    root: true,
    extends: ['html-validate:recommended'],
    rules: {
        'long-title': 'off', // a model's name is as long as it is
    },
});
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

// A context whose log holds what pages did beside showing themselves.
async function visit(options, use) {
    const context = await browser.newContext({
        viewport: {width: options.width ?? DESK, height: 900},
        colorScheme: options.scheme ?? 'light',
        javaScriptEnabled: options.scripts ?? true,
        reducedMotion: 'reduce',
        bypassCSP: options.bypassPolicy ?? false,
        storageState: options.state,
    });
    const log = [];
    try {
        const page = await context.newPage();
        page.on('request', (request) => {
            if (!request.url().startsWith(origin))
                log.push(`request: ${request.url()}`);
        });
        page.on('console', (message) => {
            // a status that the test asked for is no fault
            if (!message.text().startsWith('Failed to load resource'))
                log.push(`console: ${message.text()}`);
        });
        page.on('pageerror', (error) => log.push(`script: ${error.message}`));
        return await use(page, log, context);
    } finally {
        await context.close();
    }
}

// ---- the story ---------------------------------------------------------------------------------

let state; // of a browser that is signed in

async function story() {
    await visit({scripts: false}, async (page, log, context) => {
        await page.goto(`${origin}/`);
        await page.click('text=Sign in');
        await page.click('main >> text=Sign up');
        await page.fill('#user', 'alice');
        await page.fill('#password', 'correct horse battery');
        await page.click('main button');
        expect(page.url().endsWith('/en/dashboard'), `after sign-up: ${page.url()}`);
        for (const run of RUNS) {
            await page.goto(`${origin}/en/dashboard`);
            await page.setInputFiles('#run', run);
            await page.click('form[action="/en/dashboard/upload"] button');
            expect(/\/en\/runs\/[0-9a-f-]{36}$/.test(page.url()), `after upload: ${page.url()}`);
        }
        await page.goto(`${origin}/en/dashboard`);
        await page.fill('#label', 'bench');
        await page.click('form[action="/en/dashboard/keys"] button');
        const key = await page.textContent('#keys .notice code');
        expect(/^tgk_[0-9a-f]{40}$/.test(key), `the new key: ${key}`);
        await page.goto(`${origin}/en/leaderboard`);
        expect(await page.locator('.board tbody tr').count() === RUNS.length, 'the leaderboard');
        await page.click('.tabs >> text=Total decode');
        await page.selectOption('#context', '16384');
        await page.click('.filters button');
        expect(page.url().includes('context=16384'), `filters are not in ${page.url()}`);
        expectNone(log, 'pages did more than show themselves');
        state = await context.storageState();
    });
}

// ---- every kind of page ------------------------------------------------------------------------

async function pagesOf(lang) {
    const {runs} = await (await fetch(`${origin}/api/v1/runs`)).json();
    const [a, b] = runs;
    return {
        home: '/', start: '/get-started', board: '/leaderboard?metric=total', runs: '/runs',
        run: `/runs/${a.id}`, compare: `/compare?run=${a.id}&run=${b.id}`, models: '/models',
        model: `/models/${b.model}`, organizations: '/organizations',
        organization: `/organizations/${b.organization}`, hardware: '/hardware',
        card: `/hardware/${b.hardware}`, user: '/users/alice', calculator: `/calculator?run=${b.id}`,
        unusable: '/calculator?memory-gb=8', search: '/search?q=qwen', nothing: '/nothing',
        api: '/api',
        signIn: '/sign-in', signUp: '/sign-up', dashboard: '/dashboard', device: '/device',
    };
}

const PRIVATE = ['dashboard', 'device'];

async function look(lang, name, path, width, scheme, scripts) {
    const options = {width, scheme, scripts, state: PRIVATE.includes(name) ? state : undefined};
    await visit(options, async (page, log) => {
        await page.goto(`${origin}/${lang}${path}`, {waitUntil: 'load'});
        if (scripts)
            await page.evaluate(() =>
                document.querySelectorAll('details').forEach((e) => (e.open = true)));
        expectNone(await page.evaluate(layoutFaults), 'layout');
        expectNone(await page.evaluate(overlapFaults), 'text on text');
        expectNone(log, 'the page did more than show itself');
        await page.screenshot({
            path: join(folder, `${name}.${lang}.${width}.${scheme}.png`), fullPage: true,
        });
    });
}

async function accessible(lang, name, path, width, scheme) {
    const signedIn = PRIVATE.includes(name) ? state : undefined;
    await visit({width, scheme, state: signedIn, bypassPolicy: true}, async (page) => {
        await page.goto(`${origin}/${lang}${path}`, {waitUntil: 'load'});
        await page.evaluate(() =>
            document.querySelectorAll('details').forEach((e) => (e.open = true)));
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

async function valid(lang, name, path) {
    const cookies = (PRIVATE.includes(name) ? state.cookies : [])
        .map((c) => `${c.name}=${c.value}`).join('; ');
    const text = await (await fetch(`${origin}/${lang}${path}`, {headers: {Cookie: cookies}})).text();
    const report = await validator.validateString(text, `${name}.html`);
    expectNone(report.results.flatMap((r) => r.messages)
        .map((m) => `${m.line}:${m.column} ${m.ruleId}: ${m.message}`), 'invalid HTML');
}

try {
    await test('sign up, upload, publish and find, without scripts', story);
    for (const lang of LANGUAGES) {
        for (const [name, path] of Object.entries(await pagesOf(lang))) {
            await test(`${name}.${lang}: valid HTML`, () => valid(lang, name, path));
            for (const scheme of SCHEMES)
                await test(`${name}.${lang}: axe, ${scheme}`, () =>
                    accessible(lang, name, path, scheme === 'light' ? DESK : PHONE, scheme));
            await test(`${name}.${lang}: on a phone, without scripts`, () =>
                look(lang, name, path, PHONE, 'dark', false));
            await test(`${name}.${lang}: on a desk`, () =>
                look(lang, name, path, DESK, 'light', true));
        }
    }
} finally {
    await browser.close();
    server.kill('SIGTERM');
}
process.exitCode = finish();
