"use strict";
// The live map: where majority vote is optimal, what it loses, what the best rule gets, as sliders move.
// Two or three classes, one confusion matrix for all voters, votes independent given the class; a tie is a fair draw.
// The numbers are those of majorant.theory: margin (ties left out), majority_accuracy, map_accuracy, gap, handicap.
const majorantMap = (() => {
  const cache = new Map();

  // All counts of votes by label, with the logarithm of the number of ways to get each.
  function ballots(classes, votes) {
    const key = `${classes} ${votes}`;
    if (cache.has(key)) return cache.get(key);
    const logFactorial = [0];
    for (let n = 1; n <= votes; n++) logFactorial.push(logFactorial[n - 1] + Math.log(n));
    const found = [];
    const fill = (counts, left) => {
      if (counts.length === classes - 1) {
        const all = [...counts, left];
        const top = Math.max(...all);
        const leaders = all.flatMap((n, label) => (n === top ? [label] : []));
        found.push({ counts: all, leaders, ways: all.reduce((sum, n) => sum - logFactorial[n], logFactorial[votes]) });
        return;
      }
      for (let n = 0; n <= left; n++) fill([...counts, n], left - n);
    };
    fill([], votes);
    if (cache.size > 200) cache.clear();
    cache.set(key, found);
    return found;
  }

  // The smallest lead of the majority label in log-odds over all untied votes, and the votes that attain it.
  function margin(prior, confusion, votes) {
    return prior.length === 2 ? marginOfTwo(prior, confusion, votes) : marginOfMore(prior, confusion, votes);
  }

  // Log-odds are linear in the votes for class 0: the least lead is that of the narrowest majorities or of the unanimous votes.
  function marginOfTwo(prior, confusion, votes) {
    const perHit = Math.log(confusion[0][0] / confusion[1][0]), perMiss = Math.log(confusion[0][1] / confusion[1][1]);
    const start = Math.log(prior[0] / prior[1]), most = Math.floor(votes / 2) + 1;
    let least = Infinity, witness = null;
    for (const hits of [most, votes - most, votes, 0]) {
      const odds = start + hits * perHit + (votes - hits) * perMiss, majority = hits < most ? 1 : 0;
      const lead = majority ? -odds : odds;
      if (lead < least) { least = lead; witness = { counts: [hits, votes - hits], majority, best: 1 - majority }; }
    }
    return { margin: least, witness };
  }

  function marginOfMore(prior, confusion, votes) {
    const logPrior = prior.map(Math.log), logVote = confusion.map((row) => row.map(Math.log));
    let least = Infinity, witness = null;
    for (const { counts, leaders } of ballots(prior.length, votes)) {
      if (leaders.length > 1) continue;
      const score = logPrior.map((start, k) => counts.reduce((sum, n, l) => (n ? sum + n * logVote[k][l] : sum), start));
      let rival = -Infinity, other = 0;
      for (let k = 0; k < score.length; k++) if (k !== leaders[0] && score[k] > rival) { rival = score[k]; other = k; }
      const lead = score[leaders[0]] - rival;
      if (lead < least) { least = lead; witness = { counts, majority: leaders[0], best: other }; }
    }
    return { margin: least, witness };
  }

  // How often majority vote and the best rule are right, and the difference, added up where they differ.
  function accuracy(prior, confusion, votes) {
    const logPrior = prior.map(Math.log), logVote = confusion.map((row) => row.map(Math.log));
    let majority = 0, best = 0, loss = 0, ties = 0;
    for (const { counts, leaders, ways } of ballots(prior.length, votes)) {
      let most = 0, drawn = 0;
      for (let k = 0; k < prior.length; k++) {
        let log = logPrior[k] + ways;
        for (let l = 0; l < counts.length; l++) log += counts[l] * logVote[k][l];
        const joint = Math.exp(log);
        if (joint > most) most = joint;
        if (leaders.includes(k)) drawn += joint / leaders.length;
      }
      majority += drawn;
      best += most;
      loss += most - drawn;
      if (leaders.length > 1) ties += most - drawn;
    }
    return { majority, best, loss, ties };
  }

  // How many votes class 0 starts behind; two classes.
  function handicap(prior, confusion, votes) {
    const [[a, wrong0], [wrong1, b]] = confusion;
    const step = Math.log(a * b / (wrong0 * wrong1));
    const lead = Math.log(prior[0] / prior[1]) + (votes / 2) * Math.log(a * wrong0 / (b * wrong1));
    return step ? -lead / step : lead > 0 ? -Infinity : lead < 0 ? Infinity : 0;
  }

  // From what the sliders hold to prior and confusion matrix: errors on a class divide over the wrong labels as `split` says.
  const matrix = (right, split) => right.map((hit, k) => right.map((_, l) => (k === l ? hit : (1 - hit) * split[k][l])));
  const evenly = (classes) => Array.from({ length: classes }, (_, k) => Array.from({ length: classes }, (_, l) => (k === l ? 0 : 1 / (classes - 1))));

  function settings(config) {
    const point = config.point, prior = point?.prior ?? config.prior ?? [0.7, 0.3];
    const classes = prior.length;
    const right = point ? point.confusion.map((row, k) => row[k]) : config.accuracy ?? prior.map(() => 0.8);
    const even = evenly(classes);
    const split = point ? point.confusion.map((row, k) => row.map((share, l) => (k === l ? 0 : row[k] < 1 ? share / (1 - row[k]) : even[k][l]))) : even;
    return { prior, right, split, votes: point?.votes ?? config.votes ?? 3 };
  }

  // The model at a place of a plane; null where there is none.
  function modelAt(state, plane, x, y) {
    const { prior, right, split } = state, classes = prior.length;
    if (plane === "accuracies") return { prior, confusion: matrix([x, y, ...right.slice(2)], split) };
    const wrong = right.map((hit) => 1 - hit), total = wrong.reduce((sum, share) => sum + share, 0);
    const scaled = wrong.map((share) => classes * y * (total > 0 ? share / total : 1 / classes));
    if (scaled.some((share) => share >= 1)) return null;
    const rest = 1 - prior[0];
    return { prior: [x, ...prior.slice(1).map((share) => (1 - x) * (rest > 0 ? share / rest : 1 / (classes - 1)))], confusion: matrix(scaled.map((share) => 1 - share), split) };
  }

  const inner = (share) => Math.min(Math.max(share, 1e-6), 1 - 1e-6);
  const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}%`;
  const points = (share) => (share > 0 && share < 0.0005 ? "less than 0.1" : (100 * share).toFixed(1));

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function mount(root) {
    const config = JSON.parse(root.dataset.majorantMap || "{}");
    let state = settings(config), plane = config.plane ?? "accuracies", names = config.labels ?? ["class 1", "class 2"];
    const own = config.point ? settings(config) : null;
    root.classList.add("mj-map");
    const canvas = element("canvas", { role: "img", tabindex: "-1" });
    const spoken = element("p", { class: "mj-said", role: "status", "aria-live": "polite" });
    const numbers = element("dl", { class: "mj-numbers" });
    const sliders = element("div", { class: "mj-sliders" });
    const planes = element("div", { class: "mj-planes", role: "group", "aria-label": "What the axes show" });
    const buttons = { accuracies: element("button", { type: "button" }, "Accuracies"), balance: element("button", { type: "button" }, "Balance and noise") };
    for (const [key, button] of Object.entries(buttons)) {
      button.addEventListener("click", () => { plane = key; draw(); });
      planes.append(button);
    }
    const legend = element("p", { class: "mj-legend" });
    legend.append(element("span", { class: "mj-key mj-optimal" }), "majority is optimal ", element("span", { class: "mj-key mj-loses" }), "another rule is better (stronger: by more)");
    const picture = element("div", { class: "mj-picture" }, planes, canvas, legend);
    const side = element("div", { class: "mj-side" }, spoken, numbers, sliders);
    const back = element("button", { type: "button", class: "mj-back" }, "Back to your votes");
    back.addEventListener("click", () => { state = settings(config); build(); });
    const classes = element("button", { type: "button", class: "mj-back" });
    classes.addEventListener("click", () => {
      const three = state.prior.length === 2;
      state = { prior: three ? [0.5, 0.3, 0.2] : [0.7, 0.3], right: Array(three ? 3 : 2).fill(0.8), split: evenly(three ? 3 : 2), votes: state.votes > 25 ? 25 : state.votes };
      names = three ? ["class 1", "class 2", "class 3"] : ["class 1", "class 2"];
      build();
    });
    root.replaceChildren(picture, side);

    function slider(label, low, high, step, read, write, show) {
      const value = element("output");
      const input = element("input", { type: "range", min: low, max: high, step, "aria-label": label });
      const refresh = () => { input.value = read(); value.textContent = show(read()); input.setAttribute("aria-valuetext", show(read())); };
      input.addEventListener("input", () => { write(Number(input.value)); draw(); });
      sliders.append(element("label", {}, element("span", {}, label), input, value));
      return refresh;
    }

    let refreshers = [];
    function build() {
      sliders.replaceChildren();
      const last = state.prior.length - 1, whole = (share) => percent(share, share > 0.995 || share < 0.005 ? 1 : 0);
      refreshers = [
        slider("votes per item", 1, Math.max(state.prior.length === 2 ? 51 : 25, own?.votes ?? 0), 1, () => state.votes, (n) => { state = { ...state, votes: n }; }, (n) => `${n}`),
        slider(`share of ${names[0]}`, 0.01, 0.99, 0.005, () => state.prior[0], (share) => { state = { ...state, prior: modelAt(state, "balance", share, 0.1)?.prior ?? rescale(share) }; }, whole),
        ...(last === 2 ? [slider(`${names[1]}, of what is not ${names[0]}`, 0.01, 0.99, 0.005, () => state.prior[1] / (1 - state.prior[0]),
          (share) => { const rest = 1 - state.prior[0]; state = { ...state, prior: [state.prior[0], rest * share, rest * (1 - share)] }; }, whole)] : []),
        ...state.right.map((_, k) => slider(`accuracy on ${names[k]}`, 0.01, 0.99, 0.005, () => state.right[k],
          (hit) => { state = { ...state, right: state.right.map((old, other) => (other === k ? hit : old)) }; }, whole)),
      ];
      if (own) sliders.append(back);
      else {
        classes.textContent = last === 2 ? "Two classes" : "Three classes";
        sliders.append(classes);
      }
      draw();
    }
    const rescale = (share) => { const rest = 1 - state.prior[0]; return [share, ...state.prior.slice(1).map((other) => (1 - share) * other / rest)]; };

    function here() {
      const model = { prior: state.prior, confusion: matrix(state.right.map(inner), state.split) };
      return { ...model, ...margin(model.prior, model.confusion, state.votes), ...accuracy(model.prior, model.confusion, state.votes) };
    }

    function sentence(now) {
      const even = now.ties > 0, apart = now.margin > 0 && even ? " apart from ties" : "";
      const start = `${state.votes} ${state.votes === 1 ? "vote" : "votes"} per item, if votes are independent: `;
      if (now.margin > 0) return `${start}majority vote is the best rule that ignores who voted${apart}${even ? `; drawing lots on ties costs ${points(now.ties)} points` : ""}.`;
      const { counts, majority, best } = now.witness;
      const votes = counts.map((n, l) => [n, names[l]]).filter(([n]) => n).map(([n, name]) => `${n} for ${name}`).join(", ");
      return `${start}majority vote loses ${points(now.loss)} points to the best rule that ignores who voted. With ${votes}, ${names[best]} is likelier than ${names[majority]}.`;
    }

    let waiting = false, later = 0;
    function draw() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; paint(); });
    }

    function paint() {
      const now = here(), text = sentence(now);
      for (const refresh of refreshers) refresh();
      for (const [key, button] of Object.entries(buttons)) button.setAttribute("aria-pressed", String(key === plane));
      Object.assign(root.dataset, { margin: now.margin, majority: now.majority, best: now.best, loss: now.loss });
      root.classList.toggle("mj-other", now.margin <= 0);
      const right = [["majority vote would be right on", percent(now.majority), "majority"], ["the best rule would be on", percent(now.best), "best"]];
      const rows = [...(own ? [] : right), ["majority vote would lose", `${points(now.loss)} points`, "loss"]];  // a report has one accuracy
      numbers.replaceChildren(...rows.map(([term, shown, kind]) => element("div", { class: `mj-${kind}` }, element("dt", {}, term), element("dd", {}, ...shown.split(/ (?=points)/).map((part, n) => (n ? element("small", {}, ` ${part}`) : part))))));
      back.hidden = Boolean(own) && own.votes === state.votes && own.prior.every((share, k) => share === state.prior[k]) && own.right.every((hit, k) => hit === state.right[k]);
      canvas.setAttribute("aria-label", `Map. ${axis("x")} across, ${axis("y")} up. ${text}`);
      if (!spoken.textContent) spoken.textContent = text;
      clearTimeout(later);
      later = setTimeout(() => { if (spoken.textContent !== text) spoken.textContent = text; }, 250);
      picturePaint(now);
    }

    const axis = (side) => plane === "accuracies" ? `accuracy on ${names[side === "x" ? 0 : 1]}` : side === "x" ? `share of ${names[0]}` : "noise: mean error rate";
    const place = (from) => plane === "accuracies" ? [from.right[0], from.right[1]] : [from.prior[0], 1 - from.right.reduce((sum, hit) => sum + hit, 0) / from.right.length];
    function span() {
      const seen = [place(state), ...(own ? [place(own)] : [])];
      if (plane === "balance") return { x: [0, 1], y: [0, Math.max(1 - 1 / state.prior.length, ...seen.map((at) => at[1])) ] };
      const low = Math.min(...seen.flat()) < 0.45 ? 0 : 0.4;
      return { x: [low, 1], y: [low, 1] };
    }

    function picturePaint(now) {
      const size = canvas.clientWidth, scale = devicePixelRatio || 1;
      if (!size) return;
      canvas.width = canvas.height = Math.round(size * scale);
      const ink = canvas.getContext("2d"), look = getComputedStyle(root), colour = (name) => look.getPropertyValue(`--mj-${name}`).trim();
      const pad = { left: 64, right: 12, top: 10, bottom: 44 }, wide = size - pad.left - pad.right, high = size - pad.top - pad.bottom;
      const { x, y } = span();
      const px = (value) => pad.left + wide * (value - x[0]) / (x[1] - x[0]), py = (value) => pad.top + high * (1 - (value - y[0]) / (y[1] - y[0]));
      ink.scale(scale, scale);
      ink.clearRect(0, 0, size, size);
      ink.save();
      ink.beginPath();
      ink.rect(pad.left, pad.top, wide, high);
      ink.clip();
      const cost = ballots(state.prior.length, state.votes).length, cells = cost > 400 ? 28 : cost > 120 ? 48 : 84;
      const at = (i, n, [low, top]) => Math.min(Math.max(low + (top - low) * i / n, 0.002), 0.998);
      const shade = Math.min(cells, 42), heat = document.createElement("canvas"), pen = heat.getContext("2d");
      heat.width = heat.height = shade;
      pen.fillStyle = colour("orange");
      for (let i = 0; i < shade; i++) for (let j = 0; j < shade; j++) {
        const model = modelAt(state, plane, at(i + 0.5, shade, x), at(j + 0.5, shade, y));
        if (!model) continue;
        pen.globalAlpha = 0.06 + 0.6 * Math.min(1, Math.sqrt(accuracy(model.prior, model.confusion, state.votes).loss / 0.3));
        pen.fillRect(i, shade - 1 - j, 1, 1);
      }
      ink.drawImage(heat, pad.left, pad.top, wide, high);
      const field = Array.from({ length: cells + 1 }, (_, i) => Array.from({ length: cells + 1 }, (_, j) => {
        const model = modelAt(state, plane, at(i, cells, x), at(j, cells, y));
        return model ? Math.max(-1, Math.min(1, margin(model.prior, model.confusion, state.votes).margin)) : -1;
      }));
      const edges = new Path2D(), inside = new Path2D();
      for (let i = 0; i < cells; i++) for (let j = 0; j < cells; j++) {
        const corner = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(([p, q]) => ({ v: field[p][q], x: px(x[0] + (x[1] - x[0]) * p / cells), y: py(y[0] + (y[1] - y[0]) * q / cells) }));
        if (corner.every((one) => one.v <= 0)) continue;
        const ring = [], cut = [];
        corner.forEach((one, n) => {
          const next = corner[(n + 1) % 4];
          if (one.v > 0) ring.push(one);
          if (one.v > 0 !== next.v > 0) {
            const t = one.v / (one.v - next.v), between = { x: one.x + t * (next.x - one.x), y: one.y + t * (next.y - one.y) };
            ring.push(between);
            cut.push(between);
          }
        });
        ring.forEach((one, n) => (n ? inside.lineTo(one.x, one.y) : inside.moveTo(one.x, one.y)));
        inside.closePath();
        for (let n = 0; n + 1 < cut.length; n += 2) { edges.moveTo(cut[n].x, cut[n].y); edges.lineTo(cut[n + 1].x, cut[n + 1].y); }
      }
      ink.fillStyle = colour("zone");
      ink.fill(inside);
      ink.strokeStyle = colour("zone");
      ink.lineWidth = 0.6;
      ink.stroke(inside);
      ink.strokeStyle = colour("blue");
      ink.lineWidth = 1.6;
      ink.stroke(edges);
      const outline = config.regions?.[plane];
      if (own && outline) {
        ink.beginPath();
        outline.x.forEach((value, n) => (n ? ink.lineTo(px(value), py(outline.y[n])) : ink.moveTo(px(value), py(outline.y[n]))));
        ink.closePath();
        ink.fillStyle = ink.strokeStyle = colour("orange");
        ink.globalAlpha = 0.3;
        ink.fill();
        ink.globalAlpha = 1;
        ink.stroke();
      }
      ink.restore();
      ink.strokeStyle = ink.fillStyle = colour("soft");
      ink.lineWidth = 1;
      ink.strokeRect(pad.left, pad.top, wide, high);
      ink.font = `12px ${look.fontFamily}`;
      ink.textAlign = "center";
      for (let n = 0; n <= 4; n++) {
        const vx = x[0] + (x[1] - x[0]) * n / 4, vy = y[0] + (y[1] - y[0]) * n / 4;
        ink.textAlign = n === 4 ? "right" : "center";
        ink.fillText(percent(vx, 0), n === 4 ? px(vx) + 6 : px(vx), size - pad.bottom + 17);
        ink.textAlign = "right";
        ink.fillText(percent(vy, 0), pad.left - 6, py(vy) + 4);
      }
      ink.textAlign = "center";
      ink.fillText(clip(ink, axis("x"), wide), pad.left + wide / 2, size - 6);
      ink.save();
      ink.translate(12, pad.top + high / 2);
      ink.rotate(-Math.PI / 2);
      ink.fillText(clip(ink, axis("y"), high), 0, 0);
      ink.restore();
      if (own) dot(ink, ...place(own).map((value, side) => (side ? py(value) : px(value))), colour("orange"), colour("card"), "your votes", size);
      const [cx, cy] = [px(place(state)[0]), py(place(state)[1])];
      ink.beginPath();
      ink.arc(cx, cy, own ? 10 : 7, 0, 7);
      ink.strokeStyle = colour("ink");
      ink.lineWidth = 2;
      if (!own) { ink.fillStyle = colour("card"); ink.fill(); }
      ink.stroke();
      chart = { x, y, pad, wide, high };
    }

    function clip(ink, text, room) {
      let shown = text;
      while (shown.length > 4 && ink.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`.replace("……", "…");
      return shown;
    }

    function dot(ink, cx, cy, fill, rim, name, size) {
      ink.beginPath();
      ink.arc(cx, cy, 6, 0, 7);
      ink.fillStyle = fill;
      ink.strokeStyle = rim;
      ink.lineWidth = 1.5;
      ink.fill();
      ink.stroke();
      ink.font = `600 12px ${getComputedStyle(root).fontFamily}`;
      ink.textAlign = cx > size - 70 ? "right" : cx < 110 ? "left" : "center";
      ink.lineWidth = 3;
      const up = cy < 50 ? 26 : -16;
      ink.strokeText(name, cx, cy + up);
      ink.fillText(name, cx, cy + up);
    }

    // The point may also be dragged; the sliders do the same for the keyboard.
    let chart = null;
    function drag(event) {
      if (!chart || !(event.buttons & 1)) return;
      const box = canvas.getBoundingClientRect(), { x, y, pad, wide, high } = chart;
      const within = (share) => Math.min(Math.max(share, 0), 1);
      const vx = x[0] + (x[1] - x[0]) * within((event.clientX - box.left - pad.left) / wide);
      const vy = y[0] + (y[1] - y[0]) * within(1 - (event.clientY - box.top - pad.top) / high);
      const bound = (share) => Math.min(Math.max(share, 0.01), 0.99);
      const model = modelAt(state, plane, bound(vx), plane === "balance" ? Math.max(vy, 0.005) : bound(vy));
      if (!model) return;
      state = { ...state, prior: model.prior, right: model.confusion.map((row, k) => row[k]) };
      draw();
    }
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); drag(event); });
    canvas.addEventListener("pointermove", drag);
    new ResizeObserver(draw).observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, subtree: false });
    if (document.body) new MutationObserver(draw).observe(document.body, { attributes: true });
    root.addEventListener("majorant-map", (event) => { state = { ...state, ...event.detail }; draw(); });
    build();
  }

  return { ballots, margin, accuracy, handicap, matrix, modelAt, mount };
})();
if (typeof module !== "undefined") module.exports = majorantMap;
else for (const root of document.querySelectorAll("[data-majorant-map]")) majorantMap.mount(root);
