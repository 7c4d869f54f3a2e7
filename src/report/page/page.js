/* The only script of a page: which figure the matrix shows, copying, and the download. What it
   works on is hidden until it runs. */
(() => {
    const all = (selector, from = document) => [...from.querySelectorAll(selector)];

    const buttons = all('.switch button');
    const views = all('.view');
    const show = (id) => {
        for (const button of buttons)
            button.setAttribute('aria-pressed', String(button.dataset.view === id));
        for (const view of views)
            view.hidden = view.id !== id;
    };
    const follow = () => {
        const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
        const view = target && target.closest('.view');
        if (view) {
            show(view.id);
            target.scrollIntoView({block: 'center'});
        }
    };
    if (buttons.length > 1) {
        all('.switch').forEach((group) => (group.hidden = false));
        for (const button of buttons)
            button.addEventListener('click', () => show(button.dataset.view));
        show(buttons[0].dataset.view);
        addEventListener('hashchange', follow);
        follow();
        let open = null;
        addEventListener('beforeprint', () => {
            open = views.find((view) => !view.hidden);
            views.forEach((view) => (view.hidden = false));
        });
        addEventListener('afterprint', () => open && show(open.id));
    }

    for (const button of all('.copy')) {
        const label = button.textContent;
        const text = button.parentElement.querySelector('code');
        button.hidden = false;
        button.addEventListener('click', async () => {
            try {
                await navigator.clipboard.writeText(text.textContent);
            } catch {
                getSelection().selectAllChildren(text);
                document.execCommand('copy');
            }
            button.textContent = button.dataset.done;
            setTimeout(() => (button.textContent = label), 1500);
        });
    }

    for (const button of all('.download')) {
        button.hidden = false;
        button.addEventListener('click', () => {
            const text = document.getElementById('document').textContent;
            const link = document.createElement('a');
            link.href = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
            link.download = button.dataset.file;
            link.click();
            setTimeout(() => URL.revokeObjectURL(link.href), 1000);
        });
    }
})();
