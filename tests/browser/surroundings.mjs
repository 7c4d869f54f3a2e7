// surroundings.mjs - the documents, the browser, and a page that tells what it does.

import {execFileSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {chromium} from 'playwright-core';

export const LANGUAGES = ['en', 'zh'];
export const SCHEMES = ['light', 'dark'];
export const WIDTHS = [390, 820, 1440];
export const HEIGHT = 900;
export const CHARTS = ['decode', 'context', 'prefill', 'share'];

const RESULTS = [
    'published/qwen3-coder-30b.json',
    'published/qwen3.5-27b.json',
    'measured/example.json',
];

// Every result as a page in every language, and as pictures, written into `folder`.
export function render(tokgrid, tests, folder) {
    const show = (path, ...options) =>
        execFileSync(tokgrid, ['show', path, ...options], {encoding: 'utf8'});
    return RESULTS.flatMap((result) => {
        const path = join(tests, 'data', result);
        const json = JSON.parse(readFileSync(path, 'utf8'));
        const document = show(path, '--format', 'json');
        return LANGUAGES.map((lang) => {
            const name = `${basename(result, '.json')}.${lang}`;
            const write = (suffix, text) => {
                writeFileSync(join(folder, name + suffix), text);
                return {text, url: pathToFileURL(join(folder, name + suffix)).href};
            };
            return {
                name,
                lang,
                json,
                document,
                page: write('.html', show(path, '--format', 'html', '--lang', lang)),
                pictures: ['none', ...CHARTS].map((chart) => ({
                    name: `${name}.${chart === 'none' ? 'card' : chart}`,
                    card: chart === 'none',
                    ...write(`.${chart}.svg`,
                        show(path, '--format', 'svg', '--chart', chart, '--lang', lang)),
                })),
            };
        });
    });
}

export function launch(executablePath, fontSettings) {
    const root = process.getuid?.() === 0;
    return chromium.launch({
        executablePath,
        chromiumSandbox: !root,
        args: [
            '--disable-gpu',
            '--disable-lcd-text',
            '--font-render-hinting=none',
            '--force-color-profile=srgb',
        ],
        env: fontSettings ? {...process.env, FONTCONFIG_FILE: fontSettings} : process.env,
    });
}

// Opens `url` for the time of use(page, log). Every request, complaint and violation of the page's
// policy goes to `log`; loading the page itself is not one.
export async function open(browser, url, options, use) {
    const {
        width = 1440, height = HEIGHT, scheme = 'light', scripts = true, permissions = [],
    } = options;
    const context = await browser.newContext({
        acceptDownloads: true,
        colorScheme: scheme,
        javaScriptEnabled: scripts,
        permissions,
        reducedMotion: 'reduce',
        viewport: {width, height},
    });
    const log = [];
    try {
        const page = await context.newPage();
        const own = url.split('#')[0];
        page.on('request', (request) => {
            const asked = request.url();
            if (asked.split('#')[0] !== own && !asked.startsWith('blob:'))
                log.push(`request: ${asked}`);
        });
        page.on('console', (message) => log.push(`console: ${message.text()}`));
        page.on('pageerror', (error) => log.push(`script: ${error.message}`));
        await page.goto(url, {waitUntil: 'load'});
        await page.evaluate(() => document.fonts.ready.then(() => undefined));
        return await use(page, log);
    } finally {
        await context.close();
    }
}
