// Works out the models on standard input with the live map's own functions: node live_map.mjs map.js
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const map = createRequire(import.meta.url)(process.argv[2]);
const models = JSON.parse(readFileSync(0, "utf8"));
const found = models.map(({ prior, confusion, votes }) => ({
  margin: map.margin(prior, confusion, votes).margin,
  ...map.accuracy(prior, confusion, votes),
  handicap: prior.length === 2 ? map.handicap(prior, confusion, votes) : null,
}));
console.log(JSON.stringify(found));
