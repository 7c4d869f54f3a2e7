// golden.mjs - screenshots against golden images.
//
// The fonts are two families that every Debian has, found through a fontconfig of our own, so that
// pictures are alike on all machines. Pixels that differ by antialiasing do not count.

import {copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync,
    writeFileSync} from 'node:fs';
import {join} from 'node:path';
import pixelmatch from 'pixelmatch';
import {PNG} from 'pngjs';
import {expect} from './tap.mjs';

const COLOUR_TOLERANCE = 0.1; // of the distance between black and white
const SHARE_TOLERANCE = 0.001; // of the pixels

// Without transparency and filter: flat areas pack better so.
const SMALL = {deflateLevel: 9, deflateStrategy: 0, colorType: 2, filterType: 0};

const FONTS = {
    'DejaVuSans.ttf': 'fonts-dejavu-core',
    'DejaVuSans-Bold.ttf': 'fonts-dejavu-core',
    'DejaVuSansMono.ttf': 'fonts-dejavu-core',
    'DejaVuSansMono-Bold.ttf': 'fonts-dejavu-core',
    'wqy-microhei.ttc': 'fonts-wqy-microhei',
};
const FONT_FOLDERS = ['/usr/share/fonts', '/usr/local/share/fonts'];

const FONT_SETTINGS = (folder) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}</dir>
  <cachedir>${folder}/cache</cachedir>
  <match target="pattern">
    <edit name="family" mode="append">
      <string>DejaVu Sans</string><string>WenQuanYi Micro Hei</string>
    </edit>
  </match>
  <alias binding="same">
    <family>monospace</family>
    <prefer><family>DejaVu Sans Mono</family><family>WenQuanYi Micro Hei Mono</family></prefer>
  </alias>
  <alias binding="same">
    <family>sans-serif</family>
    <prefer><family>DejaVu Sans</family><family>WenQuanYi Micro Hei</family></prefer>
  </alias>
  <match target="font">
    <edit name="antialias"><bool>true</bool></edit>
    <edit name="hinting"><bool>false</bool></edit>
    <edit name="rgba"><const>none</const></edit>
  </match>
</fontconfig>
`;

function filesBelow(folder) {
    if (!existsSync(folder))
        return [];
    return readdirSync(folder, {recursive: true}).map((name) => join(folder, name));
}

// Lays out the fonts in `folder`. Returns the path of the fontconfig file and, when one of the
// fonts is not installed, its package.
export function layFonts(folder) {
    const installed = FONT_FOLDERS.flatMap(filesBelow);
    let missing = null;
    mkdirSync(folder, {recursive: true});
    for (const [name, owner] of Object.entries(FONTS)) {
        const file = installed.find((path) => path.endsWith(`/${name}`));
        if (file)
            copyFileSync(file, join(folder, name));
        else
            missing = owner;
    }
    writeFileSync(join(folder, 'fonts.conf'), FONT_SETTINGS(folder));
    return {settings: join(folder, 'fonts.conf'), missing};
}

export class Golden {
    #seen = new Set();

    constructor(folder, failedFolder, update) {
        this.folder = folder;
        this.failedFolder = failedFolder;
        this.update = update;
        mkdirSync(folder, {recursive: true});
        rmSync(failedFolder, {recursive: true, force: true});
    }

    // A picture within the tolerance leaves its golden image as it is, in an update too.
    compare(name, bytes) {
        const path = join(this.folder, `${name}.png`);
        this.#seen.add(`${name}.png`);
        const problem = existsSync(path) ? this.#difference(name, path, bytes) : 'no golden image';
        if (!problem)
            return;
        if (this.update)
            writeFileSync(path, PNG.sync.write(PNG.sync.read(bytes), SMALL));
        else
            expect(false, `${problem}; ${this.#keep(name, 'now', bytes)}`);
    }

    // Golden images that no test looks at; an update removes them.
    unused() {
        const left = readdirSync(this.folder).filter((name) => !this.#seen.has(name));
        if (this.update)
            left.forEach((name) => rmSync(join(this.folder, name)));
        return this.update ? [] : left;
    }

    #difference(name, path, bytes) {
        const then = PNG.sync.read(readFileSync(path));
        const now = PNG.sync.read(bytes);
        const {width, height} = then;
        if (now.width !== width || now.height !== height)
            return `${width}x${height} before, ${now.width}x${now.height} now`;
        const picture = new PNG({width, height});
        const pixels = pixelmatch(then.data, now.data, picture.data, width, height,
            {threshold: COLOUR_TOLERANCE});
        if (pixels <= SHARE_TOLERANCE * width * height)
            return null;
        this.#keep(name, 'difference', PNG.sync.write(picture));
        return `${pixels} of ${width * height} pixels differ`;
    }

    #keep(name, what, bytes) {
        const path = join(this.failedFolder, `${name}.${what}.png`);
        mkdirSync(this.failedFolder, {recursive: true});
        writeFileSync(path, bytes);
        return path;
    }
}
