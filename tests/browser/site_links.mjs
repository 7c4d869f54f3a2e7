// site_links.mjs - every address that pages name, followed: it answers, it is of this site, and the
// place in it is there.

import {ask} from './site_served.mjs';
import {expect, expectNone} from './tap.mjs';

const EXPANDED_ALIKE = 2; // of lists that differ in their parameters only
const AT_ONCE = 4;

// Runs in a page: what a document names, and the places in it.
function namesOf([html, address]) {
    const document = new DOMParser().parseFromString(html, 'text/html');
    const names = [];
    for (const [selector, attribute] of [['[href]', 'href'], ['[src]', 'src'],
        ['meta[property^="og:"][content^="http"], meta[property^="og:"][content^="/"]', 'content']])
        for (const e of document.querySelectorAll(selector))
            names.push(e.getAttribute(attribute));
    for (const form of document.querySelectorAll('form:not([method="post"])'))
        names.push(`${form.getAttribute('action')}?${new URLSearchParams(new FormData(form))}`);
    return {
        names: names.map((name) => new URL(name, address).href),
        ids: [...document.querySelectorAll('[id]')].map((e) => e.id),
    };
}

// Follows everything from `starts` as the visitor sees it. `parser` is a page with scripts. Returns
// the number of addresses.
export async function crawl(site, visitor, parser, starts) {
    const cookie = await site.cookies(visitor);
    const faults = [], answers = new Map(), expanded = new Map(), places = [];
    const left = starts.map((path) => [new URL(path, site.origin).href, 'the start']);

    async function visit(address, from) {
        const answer = await ask(address, {headers: {Cookie: cookie}, redirect: 'manual'});
        const text = await answer.text();
        const {pathname, searchParams} = new URL(address);
        if (![200, 303, 304].includes(answer.status))
            faults.push(`HTTP ${answer.status}: ${address}, on ${from}`);
        if (answer.status === 303)
            left.push([new URL(answer.headers.get('location'), address).href, address]);
        const type = answer.headers.get('content-type') ?? '';
        if (type.startsWith('text/css'))
            expect(!/url\((?!['"]?(data:|#))/.test(text), `${address} loads more`);
        if (!type.startsWith('text/html'))
            return;
        const kind = `${pathname}?${[...new Set(searchParams.keys())].sort()}`;
        const count = expanded.get(kind) ?? 0;
        expanded.set(kind, count + 1);
        const {names, ids} = await parser.evaluate(namesOf, [text, address]);
        answers.set(address, new Set(ids));
        if (count < EXPANDED_ALIKE)
            left.push(...names.map((name) => [name, address]));
    }

    async function work() {
        for (let next = left.pop(); next; next = left.pop()) {
            const [name, from] = next;
            const [address, place] = name.split('#');
            if (new URL(address).origin !== site.origin) {
                faults.push(`leads to another host: ${address}, on ${from}`);
                continue;
            }
            if (place)
                places.push([address, decodeURIComponent(place), from]);
            if (answers.has(address))
                continue;
            answers.set(address, null);
            await visit(address, from);
        }
    }

    while (left.length > 0)
        await Promise.all(Array.from({length: AT_ONCE}, work));
    for (const [address, place, from] of places)
        if (answers.get(address) && !answers.get(address).has(place))
            faults.push(`no place #${place} in ${address}, on ${from}`);
    expectNone(faults, 'links that lead nowhere');
    return answers.size;
}
