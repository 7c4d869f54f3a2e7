// site_story.mjs - what people do on the site, from an empty folder on: steps that go on from each
// other. They are the same with scripts and without.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {LANGUAGES} from './surroundings.mjs';
import {ask, button, follow, heard, link} from './site_served.mjs';
import {expect, expectNone} from './tap.mjs';

const PASSWORD = 'correct horse battery';
const IMPORTED = ['published/qwen3-coder-30b.json', 'published/qwen3.5-27b.json'];
const MEASURED = 'measured/example.json';
const CHINESE = {id: '01a22c18-0000-7000-8000-0e79e4b0aa38', model: '通义实验室/通义千问-8B'};
const ALONE = {id: '01a22c18-0000-7000-8000-0e79e4b0aa41'};
const ALONE_NAME = 'example-8b';
const IMPLAUSIBLE = {id: '01a22c18-0000-7000-8000-0e79e4b0aa39'};

// A document as a browser uploads it.
const file = (document) => ({
    name: 'run.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(document)),
});

const runOf = (url) => /\/runs\/([0-9a-f-]{36})/.exec(url)?.[1];

// The steps, as [what happens, how]. `s` gathers what they leave behind: people and runs.
export function story(site, tests, scripts) {
    const s = {site, runs: {}};
    const {origin} = site;
    const measured = () => JSON.parse(readFileSync(join(tests, 'data', MEASURED), 'utf8'));
    const open = (page, path) => page.goto(`${origin}${path}`);
    const at = (page, path) =>
        expect(new URL(page.url()).pathname === path, `at ${page.url()}, not at ${path}`);
    const main = (page) => page.getByRole('main').innerText();
    const says = async (page, words) =>
        expect((await main(page)).includes(words), `${page.url()} does not say "${words}"`);
    const menu = (page, name) =>
        page.getByRole('navigation').getByRole('link', {name, exact: true});
    const linksTo = (page, uid) => page.locator(`main a[href*="/runs/${uid}"]`).count();

    async function signUp(page, name) {
        await page.fill('#user', name);
        await page.fill('#password', PASSWORD);
        await follow(page, button(page, 'Sign up'));
    }

    async function upload(page, document, draft = false) {
        await open(page, '/en/dashboard');
        await page.setInputFiles('#run', file(document));
        if (draft)
            await page.check('#draft');
        await follow(page, button(page, 'Upload'));
        const uid = runOf(page.url());
        expect(uid, `the upload leads to ${page.url()}: ${await main(page)}`);
        return uid;
    }

    // On every page that lists runs, in both languages, as a stranger sees them.
    async function everywhere(uid) {
        const run = await (await ask(`${origin}/api/v1/runs/${uid}`)).json();
        const {page} = s.stranger;
        const path = (text) => text.split('/').map(encodeURIComponent).join('/');
        const hardware = `/hardware/${run.hardware}`;
        const organization = `/organizations/${encodeURIComponent(run.organization)}`;
        for (const lang of LANGUAGES) {
            for (const place of ['/runs', `/models/${path(run.model)}`, organization, hardware,
                '/leaderboard', `/users/${run.user}`,
                `/search?q=${encodeURIComponent(run.model)}`]) {
                await open(page, `/${lang}${place}`);
                expect(await linksTo(page, uid) > 0, `not on /${lang}${place}`);
            }
            // repackagings stand under the model that they are made from
            for (const [place, leads] of [['/models', `/models/${path(run.base_model)}`],
                ['/organizations', organization], ['/hardware', hardware]]) {
                await open(page, `/${lang}${place}`);
                expect(await page.locator(`main a[href="/${lang}${leads}"]`).count() > 0,
                    `/${lang}${place} does not lead to ${leads}`);
            }
        }
    }

    const steps = [
        ['the first page speaks the language of the browser', async () => {
            s.stranger = await site.visitor({scripts});
            s.alice = await site.visitor({scripts});
            s.bob = await site.visitor({scripts});
            await open(s.alice.page, '/');
            at(s.alice.page, '/en/');
        }],
        ['alice signs up, and is the moderator', async () => {
            const {page} = s.alice;
            await follow(page, menu(page, 'Sign in'));
            await follow(page, link(page, 'Sign up'));
            await signUp(page, 'alice');
            at(page, '/en/dashboard');
            expect(await menu(page, 'Moderation').count() === 1, 'she is no moderator');
        }],
        ['she makes a key, logs in with it and publishes', async () => {
            const {page} = s.alice;
            await page.fill('#label', 'bench');
            await follow(page, button(page, 'Make a key'));
            const key = await page.locator('#keys .notice code').innerText();
            expect(/^tgk_[0-9a-f]{40}$/.test(key), `the new key: ${key}`);
            const words = await site.run(['login', origin, '--key', '-'], `${key}\n`);
            expect(words.includes('as alice'), words);
            const said = await site.run(['publish', join(tests, 'data', MEASURED), '--yes']);
            s.runs.published = runOf(said);
            await everywhere(s.runs.published);
        }],
        ['another program gets a key through the page', async () => {
            const {page} = s.alice;
            const login = site.command(['login', origin, '--json', '--label', 'bench <box>']);
            const [where, code] = await heard(login.stderr,
                /^Open (http\S+), [^]*^ +([A-Z]{4}-[A-Z]{4})\n/m);
            await page.goto(where);
            await page.fill('#code', code);
            await follow(page, button(page, 'Go on'));
            await says(page, 'bench <box>');
            await follow(page, button(page, 'Allow'));
            await says(page, 'Done');
            const ended = await login.ended;
            expect(ended.code === 0 && JSON.parse(ended.out).user === 'alice', ended.err);
            await open(page, '/en/dashboard');
            await says(page, 'bench <box>');
        }],
        ['she uploads another run by the form', async () => {
            const document = measured();
            document.id = CHINESE.id;
            document.subject.model = CHINESE.model;
            s.runs.uploaded = await upload(s.alice.page, document);
            await everywhere(s.runs.uploaded);
        }],
        ['a draft is seen by her alone', async () => {
            const document = {...measured(), id: '01a22c18-0000-7000-8000-0e79e4b0aa40'};
            s.runs.draft = await upload(s.alice.page, document, true);
            expect(await s.alice.page.getByRole('button', {name: 'Publish'}).count() === 1,
                'it cannot be published');
            const answer = await open(s.stranger.page, `/en/runs/${s.runs.draft}`);
            expect(answer.status() === 404, `a stranger gets HTTP ${answer.status()}`);
        }],
        ['both published pages are imported', async () => {
            const paths = IMPORTED.map((name) => join(tests, 'data', name));
            const ids = (await site.run(['import', ...paths])).trim().split(/\s+/);
            expect(ids.length === 2, `imported: ${ids}`);
            [s.runs.moe, s.runs.dense] = ids;
            await everywhere(s.runs.moe);
            await everywhere(s.runs.dense);
        }],
        ['all are found, by Latin and by Chinese words', async () => {
            const {page} = s.stranger;
            for (const [words, uid] of [['Qwen3.5', s.runs.dense], ['coder', s.runs.moe],
                ['千问', s.runs.uploaded], ['example-8b', s.runs.published]]) {
                await open(page, '/zh');
                await page.fill('.find input', words);
                await follow(page, '.find button');
                at(page, '/zh/search');
                expect(await linksTo(page, uid) > 0, `"${words}" does not find ${uid}`);
            }
        }],
        ['the leaderboard narrows down', async () => {
            const {page} = s.stranger;
            await open(page, '/en/leaderboard');
            await follow(page, link(page, 'Total decode'));
            await page.selectOption('#context', '16384');
            await page.selectOption('#concurrency', '4');
            await follow(page, button(page, 'Show'));
            const {searchParams} = new URL(page.url());
            expect(searchParams.get('metric') === 'total' &&
                searchParams.get('context') === '16384', `filters are not in ${page.url()}`);
            const rows = await page.locator('.board tbody tr').count();
            expect(rows > 0 && rows === await page.locator('.board td:text-is("16K")').count(),
                'other points are shown');
        }],
        ['two runs are compared', async () => {
            const {page} = s.stranger;
            await open(page, `/en/runs/${s.runs.moe}`);
            await follow(page, page.getByRole('link', {name: 'Compare with another run'}));
            await follow(page, page.locator(`.found a[href*="${s.runs.dense}"]`));
            expect(await page.locator('.ratio td b').count() > 4, 'no ratios');
            await follow(page, page.locator('.tabs a:not([aria-current])').first());
            expect(page.url().includes(s.runs.moe) && page.url().includes(s.runs.dense),
                `another view forgets the runs: ${page.url()}`);
            expect(await page.locator('.ratio').count() === 1, 'another view has no table');
        }],
        ['the bound is laid under a measured run, corrections on and off', async () => {
            const {page} = s.stranger;
            await open(page, `/en/runs/${s.runs.dense}`);
            await follow(page, page.getByRole('link', {name: 'Against the bandwidth bound'}));
            const measuredLine = page.locator('figure').filter({hasText: /measured/});
            expect(await measuredLine.count() > 0, 'no measured line');
            expect(await page.isChecked('#correct-exact-rate'), 'corrections are not on');
            await page.uncheck('#correct-exact-rate');
            await page.uncheck('#correct-compute');
            await follow(page, button(page, 'Calculate'));
            const on = await page.locator('.corrections input:checked').evaluateAll(
                (boxes) => boxes.map((box) => box.value));
            expect(on.length === 2 && !on.includes('compute'), `corrections: ${on}`);
            expect(await page.inputValue('#run') === s.runs.dense, 'the run is gone');
            expect(await measuredLine.count() > 0, 'the measured line is gone');
        }],
        ['bob signs in from a run, and reports it', async () => {
            const {page} = s.bob;
            await open(page, `/en/runs/${s.runs.published}`);
            await follow(page, page.getByRole('link', {name: 'Sign in to report this run'}));
            await follow(page, link(page, 'Sign up'));
            await signUp(page, 'bob');
            at(page, `/en/runs/${s.runs.published}`);
            await page.click('summary:text-is("Report this run")');
            await page.selectOption('#reason', 'identity');
            await page.fill('#text', 'This is <another> card.');
            await follow(page, page.getByRole('button', {name: 'Send the report'}));
            expect(await page.getByRole('status').count() === 1, 'no thanks');
        }],
        ['a run of his above the bound is flagged', async () => {
            const document = {...measured(), ...IMPLAUSIBLE};
            document.server.facts.find(({name}) => name === 'memory_bandwidth_bytes_s').value =
                '800000000000';
            s.runs.flagged = await upload(s.bob.page, document);
            await open(s.stranger.page, `/en/runs/${s.runs.flagged}`);
            expect((await s.stranger.page.locator('.above .notice').innerText())
                .includes('implausible'), 'a stranger is not warned');
        }],
        ['a model without an organization has a page', async () => {
            const document = {...measured(), ...ALONE};
            Object.assign(document.subject, {model: null});
            s.runs.alone = await upload(s.bob.page, document);
            const {page} = s.bob;
            await follow(page, page.locator('.above').getByRole('link', {name: ALONE_NAME}));
            at(page, `/en/models/${ALONE_NAME}`);
            expect(await linksTo(page, s.runs.alone) > 0, 'the run is not there');
        }],
        ['alice sees both in the queue and decides', async () => {
            const {page} = s.alice;
            await open(page, '/en/dashboard');
            expect(await page.locator('.count').innerText() === '2', 'the number of waiting runs');
            await follow(page, menu(page, 'Moderation'));
            const entry = (uid) => page.locator('.waiting').filter(
                {has: page.locator(`h3 a[href="/en/runs/${uid}"]`)});
            const reported = entry(s.runs.published);
            expect((await reported.innerText()).includes('This is <another> card.'), 'the report');
            await reported.locator('input[name="resolution"]').fill('It is that card.');
            await follow(page, reported.getByRole('button', {name: 'Resolve'}));
            await follow(page, entry(s.runs.flagged).getByRole('button', {name: 'Accept'}));
            await says(page, 'Nothing is waiting');
        }],
        ['she flags a run with a reason, accepts and verifies it', async () => {
            const {page} = s.alice;
            const decide = async (what, reason) => {
                await open(page, `/en/runs/${s.runs.dense}`);
                await page.click('summary:text-is("Decide on this run")');
                await page.fill('input[name="reason"]', reason);
                await follow(page, page.getByRole('button', {name: what, exact: true}));
                at(page, `/en/runs/${s.runs.dense}`);
            };
            const warned = async () => {
                await open(s.stranger.page, `/zh/runs/${s.runs.dense}`);
                return (await s.stranger.page.locator('.above').innerText()).includes('odd <card>');
            };
            await decide('Flag', 'odd <card>');
            expect(await warned(), 'nobody is warned');
            await decide('Accept', '');
            expect(!await warned(), 'the warning stays');
            await decide('Verify', '');
            await open(s.stranger.page, '/en/runs?verified=1');
            expect(await linksTo(s.stranger.page, s.runs.dense) > 0, 'not among the verified');
            expect(await linksTo(s.stranger.page, s.runs.moe) === 0, 'all are verified');
        }],
        ['users and the audit log can be looked through', async () => {
            const {page} = s.alice;
            await open(page, '/en/admin');
            await follow(page, link(page, 'Users'));
            await page.fill('#q', 'bo');
            await follow(page, button(page, 'Find'));
            expect(await page.locator('main tbody tr').count() === 1, 'others than bob');
            await follow(page, button(page, 'Make moderator'));
            await open(s.bob.page, '/en/admin');
            expect(await s.bob.page.locator('.tabs').count() === 1, 'bob is no moderator');
            await open(page, '/en/admin/users?q=bob');
            await follow(page, button(page, 'No longer moderator'));
            await follow(page, link(page, 'Audit log'));
            await page.selectOption('#action', 'user.not_admin');
            await follow(page, button(page, 'Show'));
            expect(await page.locator('main tbody tr').count() === 1, 'the log');
        }],
        ['a run is withdrawn, and published anew', async () => {
            const {page} = s.alice;
            const uid = s.runs.uploaded;
            await open(page, `/en/runs/${uid}`);
            await follow(page, page.getByRole('button', {name: 'Withdraw'}).first());
            const answer = await open(s.stranger.page, `/en/runs/${uid}`);
            expect(answer.status() === 410, `a stranger gets HTTP ${answer.status()}`);
            await open(s.stranger.page, '/en/runs');
            expect(await linksTo(s.stranger.page, uid) === 0, 'still listed');
            await open(page, `/en/runs/${uid}`);
            await follow(page, page.getByRole('button', {name: 'Publish'}));
            await everywhere(uid);
            await open(s.bob.page, `/en/runs/${s.runs.flagged}`);
            await follow(s.bob.page, s.bob.page.getByRole('button', {name: 'Withdraw'}));
        }],
        ['setups are saved, from a run and by the form', async () => {
            const {page} = s.alice;
            await open(page, `/en/runs/${s.runs.published}`);
            await follow(page, page.getByRole('button', {name: 'Save as setup'}));
            at(page, '/en/dashboard');
            await page.click('summary:text-is("Save a setup")');
            await page.fill('#name', 'desk');
            await page.fill('#launch_command', 'llama-server --port 8080');
            await page.check('#default');
            await follow(page, button(page, 'Save'));
            expect(await page.locator('#setups .waiting').count() === 2, 'not both are there');
            await says(page, 'llama-server --port 8080');
            expect(await page.locator('#setups .badge').count() === 1, 'there is one default');
        }],
        ['she signs out and in, and is where she wanted to be', async () => {
            const {page} = s.alice;
            await follow(page, button(page, 'Sign out'));
            await open(page, '/en/admin/audit?action=run.add');
            at(page, '/en/sign-in');
            await page.fill('#user', 'alice');
            await page.fill('#password', 'not this one');
            await follow(page, button(page, 'Sign in'));
            await says(page, 'wrong');
            await page.fill('#password', PASSWORD);
            await follow(page, button(page, 'Sign in'));
            at(page, '/en/admin/audit');
            expect(page.url().endsWith('?action=run.add'), page.url());
        }],
        ['the other language shows the same page', async () => {
            const {page} = s.alice;
            const here = () => decodeURIComponent(page.url()).replace(/\/$/, '');
            for (const path of ['', '/leaderboard?metric=ttft', `/runs/${s.runs.moe}`,
                '/search?q=千问', `/models/${CHINESE.model}`, '/calculator?memory-gb=48&devices=2',
                '/dashboard', '/admin/users?q=al', '/nothing']) {
                await open(page, `/en${path}`);
                const before = here();
                await follow(page, page.getByRole('link', {name: '中文', exact: true}));
                expect(here() === before.replace('/en', '/zh'), `${before} leads to ${here()}`);
                expect(await page.locator('html').getAttribute('lang') === 'zh', 'its language');
                await follow(page, page.getByRole('link', {name: 'English', exact: true}));
                expect(here() === before, `${before} leads back to ${here()}`);
            }
        }],
        ['the page of the API leads to its documents', async () => {
            const {page} = s.stranger;
            await open(page, '/en');
            await follow(page, page.getByRole('contentinfo').getByRole('link', {name: 'API'}));
            at(page, '/en/api');
            expect(await page.locator('.calls article').count() > 20, 'the calls');
            await follow(page, link(page, 'OpenAPI 3.1 document'));
            at(page, '/api/v1/openapi.json');
        }],
        ['nobody\'s pages did more than show themselves', async () => {
            for (const who of ['stranger', 'alice', 'bob'])
                expectNone(s[who].log, `in ${who}'s browser`);
        }],
    ];
    return {steps, found: s};
}
