// Opens a page in Chromium at two widths and in two schemes, and prints what it saw as JSON.
// node browser.mjs NODE_MODULES CHROMIUM PROFILE PAGE [SCREENSHOTS]
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, executablePath, profile, page, screenshots] = process.argv.slice(2);
const require = createRequire(join(modules, "here.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const sizes = { desktop: { width: 1200, height: 900 }, phone: { width: 360, height: 740 } };

async function look(size, colorScheme) {
  const context = await chromium.launchPersistentContext(join(profile, `${size}-${colorScheme}`), {
    executablePath, args: flags, headless: true, viewport: sizes[size], colorScheme,
  });
  const seen = { size, scheme: colorScheme, console: [], requests: [] };
  const tab = context.pages()[0] ?? (await context.newPage());
  tab.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  tab.on("pageerror", (error) => seen.console.push(`error: ${error.message}`));
  tab.on("request", (request) => seen.requests.push(request.url()));
  const address = pathToFileURL(page).href;
  await tab.goto(address);
  Object.assign(seen, await tab.evaluate(measure));
  seen.outside = seen.requests.filter((url) => url !== address);
  await tab.evaluate(axe);
  const faults = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  seen.faults = faults.violations
    .filter((fault) => ["serious", "critical"].includes(fault.impact))
    .map((fault) => `${fault.id}: ${fault.nodes[0].html.slice(0, 160)} ${fault.nodes[0].failureSummary.slice(0, 300)}`);
  if (screenshots) await tab.screenshot({ path: join(screenshots, `${size}-${colorScheme}.png`), fullPage: true });
  await context.close();
  return seen;
}

function measure() {
  const root = document.documentElement;
  const figures = [...document.querySelectorAll("figure svg")].map((svg) => ({
    key: svg.getAttribute("aria-labelledby").split("-")[0],
    title: svg.querySelector("title").textContent,
    description: svg.querySelector("desc").textContent,
    width: svg.getBoundingClientRect().width,
    height: svg.getBoundingClientRect().height,
    smallest: Math.min(...[...svg.querySelectorAll("text")].map((text) => text.getBoundingClientRect().height), 99),
  }));
  const column = document.querySelector("#workers table.sortable");
  let order = null;
  if (column) {
    column.tHead.rows[0].cells[2].querySelector("button").click();
    order = [...column.tBodies[0].rows].map((row) => Number(row.cells[2].querySelector("data")?.value ?? NaN));
  }
  return {
    wide: root.scrollWidth > root.clientWidth,
    background: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
    hacked: window.hacked ?? null,
    figures,
    order,
  };
}

const found = [];
for (const size of Object.keys(sizes)) for (const scheme of ["light", "dark"]) found.push(await look(size, scheme));
console.log(JSON.stringify(found));
