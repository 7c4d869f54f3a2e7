// site_served.mjs - `tokgrid serve` in an empty folder of its own, the program beside it, and
// people who visit it in a browser.

import {spawn} from 'node:child_process';
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {expect} from './tap.mjs';

export const DESK = {width: 1280, height: 900};
export const PHONE = {width: 390, height: 844};
const COMMAND_MS = 60_000;

// What a program says on one of its outputs until that matches; what the pattern captures.
export function heard(stream, pattern) {
    return new Promise((resolve, reject) => {
        let text = '';
        stream.setEncoding('utf8');
        stream.on('data', (more) => {
            text += more;
            const found = pattern.exec(text);
            if (found)
                resolve(found.slice(1));
        });
        stream.once('close', () => reject(new Error(`not what ${pattern} wants: ${text}`)));
    });
}

export class Site {
    // A site in `folder`/`name`, which is made empty.
    static async start(tokgrid, browser, folder, name) {
        const site = new Site();
        Object.assign(site, {tokgrid, browser, home: join(folder, name), contexts: []});
        rmSync(site.home, {recursive: true, force: true});
        mkdirSync(site.home, {recursive: true});
        site.server = spawn(tokgrid, ['serve', '--listen', '127.0.0.1:0'],
            {cwd: site.home, stdio: ['ignore', 'pipe', 'inherit']});
        [site.origin] = await heard(site.server.stdout, /^listening on (http:.*)\n/);
        return site;
    }

    async stop() {
        await Promise.all(this.contexts.map((context) => context.close()));
        const ended = new Promise((resolve) => this.server.once('exit', resolve));
        this.server.kill('SIGTERM');
        expect(await ended === 0, 'tokgrid serve does not end as it should');
    }

    // A command of the program on a machine without anything of ours. `given` goes to its input.
    command(words, given = '') {
        const child = spawn(this.tokgrid, words, {
            cwd: this.home,
            env: {PATH: process.env.PATH, HOME: this.home, LC_ALL: 'C.UTF-8'},
            timeout: COMMAND_MS,
        });
        const said = {out: '', err: ''};
        child.stdout.setEncoding('utf8').on('data', (text) => (said.out += text));
        child.stderr.setEncoding('utf8').on('data', (text) => (said.err += text));
        child.stdin.on('error', () => undefined).end(given);
        child.ended = new Promise((resolve) =>
            child.once('close', (code) => resolve({code, ...said})));
        return child;
    }

    async run(words, given) {
        const {code, out, err} = await this.command(words, given).ended;
        expect(code === 0, `tokgrid ${words.join(' ')}: ${code}: ${err}`);
        return out;
    }

    // Somebody with a browser of his own. `log` holds what pages did beside showing themselves.
    async visitor(options = {}) {
        const context = await this.browser.newContext({
            viewport: DESK, locale: 'en-US', reducedMotion: 'reduce',
            javaScriptEnabled: options.scripts ?? true, storageState: options.state,
        });
        context.setDefaultTimeout(COMMAND_MS);
        this.contexts.push(context);
        const visitor = {context, page: await context.newPage(), log: []};
        const {page, log} = visitor;
        page.on('request', (request) => {
            if (!request.url().startsWith(this.origin) && !request.url().startsWith('blob:'))
                log.push(`request: ${request.url()}`);
        });
        page.on('response', (answer) => {
            if (answer.status() >= 400 && !answer.request().isNavigationRequest())
                log.push(`HTTP ${answer.status()}: ${answer.url()}`);
        });
        page.on('console', (message) => {
            // a status of the page itself; that of everything else is above
            if (!message.text().startsWith('Failed to load resource'))
                log.push(`console: ${message.text()}`);
        });
        page.on('pageerror', (error) => log.push(`script: ${error.message}`));
        return visitor;
    }

    async cookies(visitor) {
        return (await visitor.context.cookies()).map((c) => `${c.name}=${c.value}`).join('; ');
    }
}

// A GET without a browser. The site may end an idle connection just when it is used again, which
// browsers answer with another try; so does this.
export const ask = (url, options) => fetch(url, options).catch(() => fetch(url, options));

// Clicks what leads to another page and waits for it. Returns the answer.
export async function follow(page, target) {
    const place = typeof target === 'string' ? page.locator(target) : target;
    const [answer] = await Promise.all([page.waitForNavigation(), place.click()]);
    return answer;
}

const within = (role) => (page, name) =>
    page.getByRole('main').getByRole(role, {name, exact: true});
export const button = within('button');
export const link = within('link');
