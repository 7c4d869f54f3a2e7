// site.mjs TOKGRID BROWSER TESTS FOLDER - the site in a real browser: its whole story with scripts
// and without, every page looked at for what an eye, a validator or a screen reader would find
// wrong, and every link followed.

import {crawl} from './site_links.mjs';
import {EMPTY, faultyForms, lookAt, lookAtFaulty, lookWithout, pagesOf,
    unseenRoutes} from './site_pages.mjs';
import {Site} from './site_served.mjs';
import {story} from './site_story.mjs';
import {LANGUAGES, launch} from './surroundings.mjs';
import {expect, expectNone, finish, test} from './tap.mjs';

const [tokgrid, browserPath, tests, folder] = process.argv.slice(2);
const STARTS = ['/', '/en', '/zh', '/robots.txt', '/api/v1/agent'];

// A site of one's own for the time of use(site).
async function onSite(browser, name, use) {
    const site = await Site.start(tokgrid, browser, folder, name);
    try {
        await use(site);
    } finally {
        await site.stop();
    }
}

async function withoutScripts(site) {
    const {steps, found} = story(site, tests, false);
    for (const [name, step] of steps)
        await test(`without scripts: ${name}`, step);
    for (const lang of LANGUAGES)
        for (const page of await pagesOf(found))
            if (/^run|^compare|^calculator$/.test(page.name))
                await test(`without scripts: ${page.name}.${lang}`,
                    () => lookWithout(found, found.stranger, lang, page));
}

async function empty(site) {
    const stranger = await site.visitor();
    for (const lang of LANGUAGES)
        for (const path of EMPTY)
            await test(`an empty site: ${path || '/'}.${lang}`,
                () => lookAt({site, stranger}, 'stranger', lang,
                    {path, who: ['stranger'], status: 200}));
    await test('an empty site: every link answers', async () =>
        `${await crawl(site, stranger, stranger.page, STARTS)} addresses`);
}

// The same people in browsers of their own, so that both languages can be looked at beside each
// other.
async function again({site, runs, ...people}) {
    const s = {site, runs};
    for (const [name, {context}] of Object.entries(people))
        s[name] = await site.visitor({state: await context.storageState()});
    return s;
}

async function pages(found, lang) {
    const s = await again(found);
    for (const page of await pagesOf(s))
        for (const who of page.who)
            await test(`${page.name}.${lang}, ${who}`, () => lookAt(s, who, lang, page));
    for (const form of faultyForms(s))
        await test(`${form[0]}.${lang}`, () => lookAtFaulty(s, lang, form));
}

async function withScripts(site) {
    await empty(site);
    const {steps, found} = story(site, tests, true);
    for (const [name, step] of steps)
        await test(name, step);
    await test('every page of the table of routes is looked at', async () =>
        expectNone(unseenRoutes(tests, await pagesOf(found)), 'not looked at'));
    await Promise.all(LANGUAGES.map((lang) => pages(found, lang)));
    for (const who of ['stranger', 'bob', 'alice'])
        await test(`every link answers: ${who}`, async () => {
            const count = await crawl(site, found[who], found[who].page, STARTS);
            expect(count > 150, `only ${count} addresses`);
            return `${count} addresses`;
        });
}

const browser = await launch(browserPath, null);
try {
    // each is a site of its own: two cores do both
    await Promise.all([
        onSite(browser, 'without-scripts', withoutScripts),
        onSite(browser, 'with-scripts', withScripts),
    ]);
} finally {
    await browser.close();
}
process.exitCode = finish();
