// Goes through the page as a person would, and prints what it saw on the way as JSON.
// node browser.mjs NODE_MODULES CHROMIUM PROFILE ADDRESS VOTES TRUTH ALIKE [SCREENSHOTS]
// ALIKE: votes of workers who are all alike and err independently, which have a place on the map
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [modules, executablePath, profile, address, votes, truthFile, alike, screenshots] = process.argv.slice(2);
const require = createRequire(join(modules, "here.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const truth = JSON.parse(readFileSync(truthFile, "utf8"));
const flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const sizes = { desktop: { width: 1200, height: 900 }, phone: { width: 360, height: 740 } };
const seen = { console: [], outside: [], sights: [], faults: [], wide: [], cut: [], focus: [], said: [] };

const context = await chromium.launchPersistentContext(profile, { executablePath, args: flags, headless: true, viewport: sizes.desktop });
const tab = context.pages()[0] ?? (await context.newPage());
tab.setDefaultTimeout(90_000);
tab.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
tab.on("pageerror", (error) => seen.console.push(`error: ${error.message}`));
tab.on("request", (request) => { if (!request.url().startsWith(address)) seen.outside.push(request.url()); });

async function look(name) {
  for (const [size, viewport] of Object.entries(sizes)) for (const colorScheme of ["light", "dark"]) {
    await tab.setViewportSize(viewport);
    await tab.emulateMedia({ colorScheme });
    const sight = `${name}-${size}-${colorScheme}`;
    seen.sights.push(sight);
    if (screenshots) await tab.screenshot({ path: join(screenshots, `${sight}.png`), fullPage: true });
    if (await tab.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)) seen.wide.push(sight);
    seen.cut.push(...await tab.evaluate((sight) => [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => `${sight}: ${one.getAttribute("aria-label")}`), sight));
    if (!process.env.EVERY_SIGHT && (size === "desktop") !== (colorScheme === "light")) continue;  // each size and each scheme once
    await tab.evaluate(axe);
    const found = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    for (const fault of found.violations) if (["serious", "critical"].includes(fault.impact))
      seen.faults.push(`${sight}: ${fault.id}: ${fault.nodes[0].html.slice(0, 160)} ${fault.nodes[0].failureSummary.slice(0, 300)}`);
  }
  await tab.setViewportSize(sizes.desktop);
  await tab.emulateMedia({ colorScheme: "light" });
}

const title = () => tab.locator("h1").innerText();
await tab.goto(address);
await look("empty");
await tab.setInputFiles("#file", votes);
await tab.waitForSelector("[data-columns]");
seen.asked = await title();
seen.preselected = await tab.evaluate(() => ["item", "worker", "label", "gold"].map((id) => document.getElementById(id).selectedOptions[0].textContent));
await look("columns");
await tab.selectOption("#item", "snippet");
await tab.selectOption("#worker", "who");
await tab.selectOption("#label", "stars");
seen.roles = await tab.locator(".preview .role").allInnerTexts();
await tab.click("button.main");
await tab.waitForSelector("li.now");
await look("running");
await tab.waitForSelector("dl.answer");
seen.before = await title();
seen.maps = await tab.locator("[data-majorant-map]").count();
await look("answer");
await tab.click("form[action$='/label/begin'] button");
await tab.waitForSelector("[data-labelling]");
await look("label");
const correct = async () => truth[(await tab.locator(".item .soft bdi").innerText()).trim()];
await tab.keyboard.press((await correct()) === "good" ? "1" : "2");  // the wrong one, and back
await tab.waitForFunction(() => document.querySelector(".far p").textContent.startsWith("1 labelled"));
await tab.keyboard.press("u");
await tab.waitForFunction(() => document.querySelector(".far p").textContent.startsWith("0 labelled"));
let given = 0;
while (given < 300 && (await tab.locator("[data-keys]").count())) {
  const answer = await correct();
  await tab.keyboard.press(answer === "bad" ? "1" : "2");
  given += 1;
  await tab.waitForFunction((n) => !document.querySelector("[data-keys]") || document.querySelector(".far p").textContent.startsWith(`${n} labelled`), given);
  if (await tab.locator("[data-keys]").count()) {
    seen.focus.push(await tab.evaluate(() => document.activeElement.tagName));
    seen.said.push(await tab.locator("[data-labelling]").innerText());
  }
  if (given === 3) await look("labelled");
}
seen.given = given;
await tab.waitForSelector("dl.answer");
seen.after = await title();
await look("decided");
const [download] = await Promise.all([tab.waitForEvent("download"), tab.click("a.button[href$='labels.csv']")]);
seen.labels = readFileSync(await download.path(), "utf8");
const [asked] = await Promise.all([tab.waitForEvent("download"), tab.click(".downloads a[href$='to_label.csv']")]);
seen.asked_labels = readFileSync(await asked.path(), "utf8");
await tab.click("a[href$='/report']");
await tab.waitForSelector("h1");
seen.report = await title();
await tab.goto(address);
await tab.setInputFiles("#file", alike);
await tab.waitForSelector("[data-columns]");
await tab.click("button.main");
await tab.waitForSelector("dl.answer");
await tab.click("details:has([data-majorant-map]) summary");
await tab.waitForSelector("[data-majorant-map][data-margin]");  // drawn
seen.map = await tab.evaluate(() => ({ ...document.querySelector("[data-majorant-map]").dataset }));
await look("theory");
await tab.goto(address);
await look("files");
await context.close();
console.log(JSON.stringify(seen));
