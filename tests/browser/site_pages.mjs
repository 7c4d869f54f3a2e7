// site_pages.mjs - every page of the site, as a stranger, a user and a moderator see it: is it
// valid, can everybody use it, does it fit a phone?

import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {HtmlValidate} from 'html-validate';
import {layoutFaults, overlapFaults} from './inspect.mjs';
import {DESK, PHONE, ask, follow} from './site_served.mjs';
import {expect, expectNone} from './tap.mjs';

const validator = new HtmlValidate({
    root: true,
    extends: ['html-validate:recommended'],
    rules: {
        'long-title': 'off', // a model's name is as long as it is
        'form-dup-name': 'off', // switches of one name, and a hidden field for when all are off
    },
});
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WHOLE = {
    type: 'tag',
    values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};
const COLOURS = {type: 'rule', values: ['color-contrast', 'link-in-text-block']};
const SIZES = {type: 'rule', values: ['scrollable-region-focusable', 'target-size']};

// ---- looking -----------------------------------------------------------------------------------

async function axeFaults(page, rules, how) {
    const found = await page.evaluate(async (runOnly) => {
        const {violations} = await globalThis.axe.run(document,
            {runOnly, resultTypes: ['violations'], preload: false});
        return violations.flatMap((v) => v.nodes.map((n) =>
            `${v.id} (${v.impact}): ${n.target} ${n.failureSummary.replace(/\s+/g, ' ')}`));
    }, rules);
    return found.map((fault) => `axe, ${how}: ${fault}`);
}

async function htmlFaults(text) {
    const report = await validator.validateString(text, 'page.html');
    return report.results.flatMap((r) => r.messages)
        .map((m) => `HTML: ${m.line}:${m.column} ${m.ruleId}: ${m.message}`);
}

const fitFaults = async (page, how) =>
    [...await page.evaluate(layoutFaults), ...await page.evaluate(overlapFaults)]
        .map((fault) => `${how}: ${fault}`);

// What is wrong with the page that a visitor has before him.
async function look({page, log}) {
    const faults = [];
    await page.emulateMedia({colorScheme: 'light'});
    await page.setViewportSize(DESK);
    // not the document itself, most of which lies outside of the box that it scrolls in
    await page.evaluate(() => document.querySelectorAll('details:not(:has(#document))')
        .forEach((e) => (e.open = true)));
    faults.push(...await fitFaults(page, 'on a desk'));
    await page.evaluate(axe);
    faults.push(...await axeFaults(page, WHOLE, 'light'));
    await page.setViewportSize(PHONE);
    faults.push(...await axeFaults(page, SIZES, 'on a phone'));
    faults.push(...await fitFaults(page, 'on a phone'));
    faults.push(...log.splice(0));
    return faults;
}

// What is the same for all who see the page, so that the first of them is enough.
async function lookDeeper({page}, text) {
    await page.emulateMedia({colorScheme: 'dark'});
    return [...await htmlFaults(text), ...await axeFaults(page, COLOURS, 'dark')];
}

// ---- which pages -------------------------------------------------------------------------------

const PUBLIC = ['stranger', 'bob', 'alice']; // nobody, a user, a moderator
const USERS = ['bob', 'alice'];

// Name, address behind the language, who looks, the answer's status.
export async function pagesOf(s) {
    const {dense, moe, published, uploaded, draft, flagged} = s.runs;
    const run = await (await ask(`${s.site.origin}/api/v1/runs/${dense}`)).json();
    const chinese = await (await ask(`${s.site.origin}/api/v1/runs/${uploaded}`)).json();
    const all = [
        ['home', ''],
        ['get-started', '/get-started'],
        ['leaderboard', '/leaderboard'],
        ['leaderboard, a point', '/leaderboard?metric=total&context=16384&concurrency=4'],
        ['leaderboard, verified', '/leaderboard?verified=1', ['stranger']],
        ['leaderboard, nothing', '/leaderboard?metric=per_joule&context=7'],
        ['runs', '/runs?order=fastest'],
        ['runs, nothing', '/runs?engine=none'],
        ['run, measured', `/runs/${published}`],
        ['run, imported', `/runs/${dense}`],
        ['compare, nothing', '/compare', ['stranger']],
        ['compare', `/compare?run=${moe}&run=${dense}&run=${published}`],
        ['models', '/models?order=name'],
        ['model', `/models/${run.model}`],
        ['model without organization', '/models/example-8b', ['stranger']],
        ['model, Chinese', `/models/${encodeURI(chinese.model)}`, ['stranger']],
        ['organizations', '/organizations'],
        ['organization', `/organizations/${run.organization}`],
        ['hardware', '/hardware'],
        ['a piece of hardware', `/hardware/${run.hardware}`],
        ['user', '/users/alice'],
        ['calculator', `/calculator?run=${dense}&corrections=none`],
        ['calculator, nothing fits', '/calculator?memory-gb=8', ['stranger']],
        ['calculator, a wrong input', '/calculator?memory-gb=much', ['stranger']],
        ['api', '/api'],
        ['search', '/search?q=qwen'],
        ['search, nothing', '/search?q=xyzzy', ['stranger']],
        ['search, no question', '/search', ['stranger']],
        ['sign-in', '/sign-in?next=%2Fen%2Fdashboard', ['stranger']],
        ['sign-up', '/sign-up', ['stranger']],
        ['dashboard', '/dashboard', USERS],
        ['device', '/device?code=BCDF-GHJK', USERS],
        ['own draft', `/runs/${draft}`, ['alice']],
        ['own withdrawn run', `/runs/${flagged}`, ['bob']],
        ['admin', '/admin', ['alice']],
        ['admin/users', '/admin/users', ['alice']],
        ['admin/users, nobody', '/admin/users?q=zz', ['alice']],
        ['admin/audit', '/admin/audit', ['alice']],
        ['admin/audit, nothing', '/admin/audit?user=zz', ['alice']],
        ['no page', '/nothing', PUBLIC, 404],
        ['no run', `/runs/${published.replace(/.$/, 'x')}`, ['stranger'], 404],
        ['withdrawn', `/runs/${flagged}`, ['stranger'], 410],
        ['wrong question', '/leaderboard?metric=nonsense', ['stranger'], 400],
        ['for moderators', '/admin', ['bob'], 403],
    ];
    return all.map(([name, path, who = PUBLIC, status = 200]) => ({name, path, who, status}));
}

// Before anything is published.
export const EMPTY = ['', '/leaderboard', '/runs', '/compare', '/models', '/organizations',
    '/hardware', '/calculator', '/search?q=qwen'];

// The pages that routes.c has and `pages` lack: a new page is looked at, too.
export function unseenRoutes(tests, pages) {
    const source = readFileSync(join(tests, '..', 'src', 'site', 'routes.c'), 'utf8');
    const rows = [...source.matchAll(/\{(?:GET|ALIKE),[^{]*?\.path = "\/\{lang\}([^"]*)"/g)];
    expect(rows.length > 20, 'routes.c is written in another way');
    return rows.map(([, path]) => path).filter((path) => !path.endsWith('.svg')).filter((path) => {
        const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/?]+')}$`);
        return !pages.some((page) => page.status === 200 && pattern.test(page.path.split('?')[0]));
    });
}

export async function lookAt(s, name, lang, {path, who, status}) {
    const visitor = s[name];
    const answer = await visitor.page.goto(`${s.site.origin}/${lang}${path}`);
    expect(answer.status() === status, `HTTP ${answer.status()}`);
    const faults = await look(visitor);
    if (name === who[0])
        faults.push(...await lookDeeper(visitor, await answer.text()));
    expectNone(faults, 'this is wrong');
}

// What only a script would show is not needed: the same without.
export async function lookWithout(s, visitor, lang, {path}) {
    const {page, log} = visitor;
    await page.goto(`${s.site.origin}/${lang}${path}`);
    await page.setViewportSize(PHONE);
    expectNone([...await fitFaults(page, 'on a phone'), ...log.splice(0)], 'this is wrong');
}

// ---- forms that are wrong ----------------------------------------------------------------------

const textFile = {name: 'run.json', mimeType: 'application/json', buffer: Buffer.from('{"a": 1}')};

// Name, who, the page with the form, what he does there, and the answer's status.
export const faultyForms = (s) => [
    ['a wrong password', 'stranger', '/sign-in', async (page) => {
        await page.fill('#user', 'nobody');
        await page.fill('#password', 'not this one');
    }, 'main form button', 403],
    ['a name that is taken', 'stranger', '/sign-up', async (page) => {
        await page.fill('#user', 'alice');
        await page.fill('#password', 'correct horse battery');
    }, 'main form button', 409],
    ['a short password', 'stranger', '/sign-up', async (page) => {
        await page.fill('#user', 'carol');
        await page.fill('#password', 'short');
    }, 'main form button', 422],
    ['a file that is no run', 'bob', '/dashboard', (page) => page.setInputFiles('#run', textFile),
        'form[action$="/dashboard/upload"] button', 422],
    ['a new key', 'bob', '/dashboard', (page) => page.fill('#label', 'a machine'),
        '#keys form[action$="/dashboard/keys"] button', 200],
    ['a label that is too long', 'bob', '/dashboard',
        (page) => page.fill('#label', 'long '.repeat(99)),
        '#keys form[action$="/dashboard/keys"] button', 422],
    ['a password that is another one', 'bob', '/dashboard', async (page) => {
        await page.fill('#password', 'not this one');
        await page.fill('#new_password', 'battery staple');
    }, '#own-password form button', 403],
    ['a setup with a secret', 'bob', '/dashboard', async (page) => {
        await page.click('#setups summary');
        await page.fill('#name', 'desk');
        await page.fill('#launch_command', 'vllm serve x --api-key sk-0123456789abcdef0123456789');
    }, '#setups details form button', 422],
    ['a code that nobody waits for', 'bob', '/device', (page) => page.fill('#code', 'BCDF-GHJK'),
        'main form button', 404],
    ['a flag without a reason', 'alice', `/runs/${s.runs.moe}`, (page) =>
        page.click('details:has(input[name="reason"]) summary'), 'button[value="flag"]', 422],
    ['the last moderator steps down', 'alice', '/admin/users', () => undefined,
        'form[action$="/admin/users/alice"] button[value="no-moderator"]', 403],
];

export async function lookAtFaulty(s, lang, [, who, path, fill, press, status]) {
    const visitor = s[who];
    const {page} = visitor;
    await page.setViewportSize(DESK);
    await page.goto(`${s.site.origin}/${lang}${path}`);
    await fill(page);
    const answer = await follow(page, press);
    expect(answer.status() === status, `HTTP ${answer.status()}`);
    const faults = [...await look(visitor), ...await lookDeeper(visitor, await answer.text())];
    const other = await follow(page, lang === 'en' ? '.me a[lang="zh"]' : '.me a[lang="en"]');
    if (other.status() !== 200)
        faults.push(`its other language answers HTTP ${other.status()}: ${page.url()}`);
    expectNone(faults, 'this is wrong');
}

