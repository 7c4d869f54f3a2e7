// inspect.mjs - what an eye would find wrong with a page, as functions that run inside it. Each
// returns a list of faults in words.

// Text that is cut off, leaves its cell or is squeezed into a column, and what makes the page
// itself scroll sideways.
export function layoutFaults() {
    const faults = [];
    const name = (e) =>
        `${[e.localName, ...e.classList].join('.')} "${e.textContent.trim().slice(0, 40)}"`;
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth)
        faults.push(`the page scrolls sideways by ${root.scrollWidth - root.clientWidth}px`);
    for (const e of document.querySelectorAll('body *')) {
        if (!e.checkVisibility() || e.closest('svg') || e.matches('.skip, .hide'))
            continue;
        const style = getComputedStyle(e);
        const box = e.getBoundingClientRect();
        const scrolls = style.overflowX === 'auto' || style.overflowX === 'scroll';
        if (!e.closest('.scroll') && (box.right > root.clientWidth + 1 || box.left < -1))
            faults.push(`leaves the page: ${name(e)}`);
        const over = e.clientWidth ? e.scrollWidth - e.clientWidth : 0;
        if (!scrolls && style.display !== 'inline' && over > 1)
            faults.push(`is wider than its box by ${over}px: ${name(e)}`);
        if (style.overflowY === 'hidden' && e.scrollHeight > e.clientHeight + 1)
            faults.push(`is cut off below: ${name(e)}`);
        if (style.textOverflow === 'ellipsis' && !e.matches('input[type="file"]'))
            faults.push(`may be cut off: ${name(e)}`);
    }
    for (const e of document.querySelectorAll('td, th, dt, dd, button, .badge, figcaption')) {
        if (!e.checkVisibility())
            continue;
        const range = document.createRange();
        range.selectNodeContents(e);
        const text = range.getBoundingClientRect();
        const box = e.getBoundingClientRect();
        if (text.left < box.left - 1 || text.right > box.right + 1 ||
            text.top < box.top - 1 || text.bottom > box.bottom + 1)
            faults.push(`text leaves its box: ${name(e)}`);
        const letter = parseFloat(getComputedStyle(e).fontSize);
        const narrow = e.matches('th, dt, button') ? 2 : e.matches('dd') ? 3 : 0;
        if (text.height > 3 * letter && text.width < narrow * letter)
            faults.push(`is written downwards, letter by letter: ${name(e)}`);
    }
    return faults;
}

// Lines of text that lie on each other.
export function overlapFaults() {
    const faults = [];
    const lines = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (!node.data.trim() || !node.parentElement.checkVisibility() ||
            node.parentElement.closest('svg, script, style, .skip, .hide'))
            continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects())
            lines.push({box, text: node.data.trim().slice(0, 30), node});
    }
    lines.sort((a, b) => a.box.top - b.box.top);
    // a line box is taller than its letters: a fifth at each side is air
    const air = (box) => box.height / 5;
    lines.forEach((a, i) => {
        for (let k = i + 1; k < lines.length && lines[k].box.top < a.box.bottom; k++) {
            const b = lines[k];
            const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
            const down = Math.min(a.box.bottom - air(a.box), b.box.bottom - air(b.box)) -
                Math.max(a.box.top + air(a.box), b.box.top + air(b.box));
            if (a.node !== b.node && across > 1 && down > 1)
                faults.push(`"${a.text}" lies on "${b.text}"`);
        }
    });
    return faults;
}

// Labels of a picture that lie on each other or leave it.
export function pictureFaults() {
    const faults = [];
    const pictures = document.documentElement.matches('svg')
        ? [document.documentElement] : [...document.querySelectorAll('svg.chart')];
    for (const svg of pictures) {
        const frame = svg.getBoundingClientRect();
        const texts = [...svg.querySelectorAll('text')].map((e) => ({
            text: e.textContent,
            box: e.getBoundingClientRect(),
        }));
        texts.forEach((a, i) => {
            const {box} = a;
            if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
                box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
                faults.push(`"${a.text}" leaves the picture`);
            for (const b of texts.slice(i + 1)) {
                const across = Math.min(box.right, b.box.right) - Math.max(box.left, b.box.left);
                const down = Math.min(box.bottom, b.box.bottom) - Math.max(box.top, b.box.top);
                if (across > 0 && down > Math.min(box.height, b.box.height) * 0.4)
                    faults.push(`"${a.text}" lies on "${b.text}"`);
            }
        });
    }
    return faults;
}

// Everything that is not shown, but for what only a script can use.
export function hiddenFaults() {
    const without = 'head, head *, script, .switch, .switch *, button.copy, button.download, ' +
        'details:not([open]) > :not(summary), details:not([open]) > :not(summary) *';
    return [...document.querySelectorAll('body *')]
        .filter((e) => !e.matches(without) && !e.closest('svg') && !e.checkVisibility())
        .map((e) => `is hidden: ${e.tagName.toLowerCase()} "${e.textContent.trim().slice(0, 40)}"`);
}
