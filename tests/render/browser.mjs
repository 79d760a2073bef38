// Opens a page in Chromium at two widths and in two schemes, and prints what it saw as JSON.
// node browser.mjs NODE_MODULES CHROMIUM PAGE MODELS [SCREENSHOTS]
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, executablePath, page, models, screenshots] = process.argv.slice(2);
const require = createRequire(join(modules, "here.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } };

const browser = await chromium.launch({ executablePath, args: flags, headless: true });

async function look(size, colorScheme) {
  const context = await browser.newContext({ viewport: sizes[size], colorScheme });
  const seen = { size, scheme: colorScheme, console: [], requests: [], faults: [] };
  const tab = await context.newPage();
  tab.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  tab.on("pageerror", (error) => seen.console.push(`error: ${error.message}`));
  tab.on("request", (request) => seen.requests.push(request.url()));
  const address = pathToFileURL(page).href;
  await tab.goto(address);
  seen.maps = await tab.locator("[data-majorant-map]").count();
  seen.unfolded = await tab.locator("#theory > details").evaluate((one) => one.open);
  seen.words = await tab.evaluate(words);
  seen.copy = await tab.locator(".next .copy").count();
  if (seen.maps) {
    await tab.locator("#theory summary").first().click();
    await tab.waitForSelector("[data-majorant-map][data-margin]");
    seen.map = await tab.evaluate(() => ({ ...document.querySelector("[data-majorant-map]").dataset }));
    await tab.waitForFunction(() => document.querySelector(".mj-map canvas").width > 0 && document.querySelector(".mj-said").textContent);
    const said = await tab.locator(".mj-said").innerText();
    await tab.locator("[data-majorant-map] input").first().press("ArrowRight");
    await tab.waitForFunction((old) => document.querySelector(".mj-said").innerText !== old, said);
    seen.moved = await tab.evaluate(() => ({
      ...document.querySelector("[data-majorant-map]").dataset,
      spoken: document.querySelector(".mj-said").textContent,
      numbers: document.querySelector(".mj-numbers").textContent,
      inked: document.querySelector(".mj-map canvas").getContext("2d").getImageData(0, 0, 400, 400).data.some((value) => value > 0),
    }));
    await tab.locator("#theory summary").first().click();
  }
  if (size === "desktop" && colorScheme === "light") {  // one script, one arithmetic
    seen.grid = await tab.evaluate((models) => models.map(({ prior, confusion, votes }) => ({
      margin: majorantMap.margin(prior, confusion, votes).margin, ...majorantMap.accuracy(prior, confusion, votes),
    })), JSON.parse(readFileSync(models, "utf8")));
  }
  Object.assign(seen, await tab.evaluate(measure));
  seen.outside = seen.requests.filter((url) => url !== address);
  if (process.env.EVERY_SIGHT || (size === "desktop") === (colorScheme === "light")) {  // each size and each scheme once
    await tab.evaluate(axe);
    const faults = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    seen.faults = faults.violations
      .filter((fault) => ["serious", "critical"].includes(fault.impact))
      .map((fault) => `${fault.id}: ${fault.nodes[0].html.slice(0, 160)} ${fault.nodes[0].failureSummary.slice(0, 300)}`);
  }
  if (screenshots) await tab.screenshot({ path: join(screenshots, `${size}-${colorScheme}.png`), fullPage: true });
  await context.close();
  return seen;
}

// How many words are in sight before anything is unfolded.
function words() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("script, style") || !node.parentElement.checkVisibility()) continue;
    count += node.textContent.split(/\s+/).filter(Boolean).length;
  }
  return count;
}

function measure() {
  const root = document.documentElement;
  const figures = () => [...document.querySelectorAll("figure")].map((figure) => ({
    title: figure.querySelector("h3").textContent,
    width: figure.getBoundingClientRect().width,
    height: figure.getBoundingClientRect().height,
    smallest: Math.min(...[...figure.querySelectorAll("svg text")].map((text) => text.getBoundingClientRect().height), 99),
  }));
  const bottom = (query) => Math.max(...[...document.querySelectorAll(query)].map((one) => one.getBoundingClientRect().bottom));
  const first = { answer: bottom("h1"), sentence: bottom(".lede"), next: bottom("dl.answer"), numbers: bottom("dl.numbers") };
  const height = root.scrollHeight;
  const cut = [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.getAttribute("aria-label"));
  const folds = [...document.querySelectorAll("details")];
  const folded = folds.filter((one) => !one.open);
  const marked = () => document.querySelector("nav [aria-current]")?.hash;
  const link = document.querySelector("nav a[href='#input']");
  const opened = [document.querySelector("#input details").open];
  link.click();
  return new Promise((resolve) => setTimeout(resolve, 250)).then(() => {
    opened.push(document.querySelector("#input details").open);
    const nav = document.querySelector("nav").getBoundingClientRect();
    const index = { top: nav.top, marked: marked() };
    dispatchEvent(new Event("beforeprint"));
    const printed = folds.every((one) => one.open);
    dispatchEvent(new Event("afterprint"));
    const column = document.querySelector("#workers table.sortable");
    let order = null;
    if (column) {
      const at = [...column.tHead.rows[0].cells].findIndex((cell) => cell.textContent.includes("accuracy"));
      if (at >= 0) column.tHead.rows[0].cells[at].querySelector("button").click();
      if (at >= 0) order = [...column.tBodies[0].rows].map((row) => Number(row.cells[at].querySelector("data")?.value ?? NaN));
    }
    for (const one of folds) one.open = true;
    return { first, height, cut, folded: folded.length, opened, index, printed, order };
  }).then((seen) => ({
    ...seen,
    wide: root.scrollWidth > root.clientWidth,
    background: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
    hacked: window.hacked ?? null,
    figures: figures(),
  }));
}

const found = [];
for (const size of Object.keys(sizes)) for (const scheme of ["light", "dark"]) found.push(await look(size, scheme));
await browser.close();
console.log(JSON.stringify(found));
