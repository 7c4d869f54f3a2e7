// tap.mjs - results in the Test Anything Protocol, each check one line.

let count = 0; // of those that have ended: checks may run beside each other
let failures = 0;

const comment = (text) => {
    for (const line of String(text).split('\n'))
        console.log(`# ${line}`);
};

// Runs check(); what it throws is the failure. What it returns is a remark behind the name, and a
// remark {skip: why} leaves the check out.
export async function test(name, check) {
    try {
        const remark = await check();
        const number = ++count;
        const skip = remark?.skip ? ` # SKIP ${remark.skip}` : '';
        console.log(`ok ${number} - ${name}${skip}`);
        if (typeof remark === 'string')
            comment(remark);
    } catch (error) {
        failures++;
        console.log(`not ok ${++count} - ${name}`);
        comment(error.expected ? error.message : error.stack);
    }
}

// A failure that needs no stack: the message says it all.
export function expect(condition, message) {
    if (!condition)
        throw Object.assign(new Error(message), {expected: true});
}

export function expectNone(list, what) {
    expect(list.length === 0, `${what}:\n${list.slice(0, 12).join('\n')}`);
}

export function finish() {
    console.log(`1..${count}`);
    return failures ? 1 : 0;
}
