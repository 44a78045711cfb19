/* probe.js: check a page in the browser and send problems to the surrounding page. browser_test.sh inserts this script into a
   copy of each page. Checks: overflow, missing pictures, contrast of texts (WCAG 2.1: 4.5 to 1, large texts 3 to 1), errors
   and warnings. */
"use strict";

const complaints = [];
addEventListener("error", e => complaints.push("error: " + (e.message || e.target.outerHTML.slice(0, 80))), true);
for (const kind of ["error", "warn"])
    console[kind] = (...words) => complaints.push(kind + ": " + words.join(" "));

function channels(color)
{
    const parts = color.match(/[\d.]+/g);
    return parts ? parts.map(Number) : [0, 0, 0, 0];
}

function luminance(color)
{
    const [r, g, b] = channels(color).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other)
{
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
}

function background(element)
{
    for (; element; element = element.parentElement) {
        const color = getComputedStyle(element).backgroundColor, parts = channels(color);
        if (parts.length < 4 || parts[3] > 0)
            return color;
    }
    return "rgb(255, 255, 255)";
}

function name(element)
{
    return `<${element.tagName.toLowerCase()}> "${element.textContent.trim().slice(0, 40)}"`;
}

function checkText(element)
{
    const style = getComputedStyle(element), isDrawn = element instanceof SVGElement;
    const color = isDrawn ? style.fill : style.color, size = parseFloat(style.fontSize);
    /* Nearly black or nearly white text is on a coloured bar (plots/style.gp). */
    if (isDrawn && /\((1, 1, 1|254, 254, 254)\)/.test(color))
        return;
    const isLarge = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 600);
    const ratio = contrast(color, background(isDrawn ? element.ownerSVGElement.parentElement : element));
    if (!(ratio >= (isLarge ? 3 : 4.5)))
        complaints.push(`contrast ${ratio.toFixed(2)}: ${name(element)}`);
}

function check()
{
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) {
        complaints.push(`overflows: ${root.scrollWidth} of ${root.clientWidth} px`);
        for (const element of document.body.querySelectorAll("*"))
            if (element.getBoundingClientRect().right > root.clientWidth + 1 && !element.closest(".scroll, .chart, pre")) {
                complaints.push("  by " + name(element));
                break;
            }
    }
    for (const image of document.images)
        if (!image.complete || image.naturalWidth === 0)
            complaints.push("picture not shown: " + image.alt);
    for (const chart of document.querySelectorAll("svg[role=img]"))
        if (!(chart.getBoundingClientRect().height > 50) || chart.querySelectorAll("text").length < 3)
            complaints.push("chart not shown: " + chart.getAttribute("aria-label"));
    for (const element of document.querySelectorAll("body, body *"))
        if ([...element.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim()) &&
            element.getClientRects().length > 0 && !element.closest(".skip"))
            checkText(element);
    parent.postMessage({ page: location.pathname.split("/").pop(), width: innerWidth, charts: document.querySelectorAll("svg").length,
                         dark: matchMedia("(prefers-color-scheme: dark)").matches, complaints: complaints.slice(0, 12) }, "*");
}

/* Open collapsed details, so that they are checked, too. */
addEventListener("load", () => {
    for (const details of document.querySelectorAll("details"))
        details.open = true;
    setTimeout(check, 0); /* no requestAnimationFrame: invisible frames are not drawn */
});
