"use strict";
// Draws the schedule. Times are whole ticks since `begin`; a job is a number, in order of submission.
(() => {
  const element = document.getElementById("gantt-data");
  if (!element) return;
  const canvas = document.getElementById("gantt-canvas");
  const status = document.getElementById("gantt-status");
  const choice = document.getElementById("gantt-policy");
  const context = canvas.getContext("2d");
  const data = JSON.parse(element.textContent);
  const LEFT = 46, BOTTOM = 34, TOP = 8, RIGHT = 8;
  const MANY = 12000; // bars that are drawn at most; more of them are less than a pixel wide
  const WAITS = [["< 1 min", 60, "#c6dbef"], ["< 1 h", 3600, "#7fb2d9"], ["< 6 h", 21600, "#2b7bba"],
    ["< 1 day", 86400, "#08508f"], ["1 day or more", Infinity, "#d55e00"]];

  // ---- data ----

  let jobs, plan = null;
  const plans = [];

  async function planned(number) {
    if (!plans[number]) {
      plans[number] = Plan.arranged(jobs, await Plan.unpacked(data.waits[number]), data.servers);
    }
    return plans[number];
  }

  // ---- the window: from t0 to t1, in ticks ----

  let t0 = 0, t1 = 1, wide = 300, high = 300;
  const pixel = () => (t1 - t0) / (wide - LEFT - RIGHT);
  const xOf = (t) => LEFT + (t - t0) / pixel();
  const timeAt = (x) => t0 + (x - LEFT) * pixel();
  const yOf = (server) => high - BOTTOM - (server / plan.top) * (high - BOTTOM - TOP);

  function show(from, to) {
    const whole = plan.last * 1.001 || 1, least = Math.min(whole, Math.max(30 / data.tick, 1));
    const span = Math.min(Math.max(to - from, least), whole);
    const middle = (from + to) / 2;
    t0 = Math.min(Math.max(middle - span / 2, 0), whole - span);
    t1 = t0 + span;
    picked = -1;
    request();
  }

  const zoom = (factor, x = (LEFT + wide) / 2) => {
    const t = timeAt(x);
    show(t - (t - t0) * factor, t + (t1 - t) * factor);
  };
  const move = (share) => show(t0 + share * (t1 - t0), t1 + share * (t1 - t0));

  function busiest() {
    const path = plan.queue;
    let at = 0;
    for (let i = 1; i < path.time.length; i++) if (path.level[i] > path.level[at]) at = i;
    const day = 86400 / data.tick;
    show(path.time[at] - 2 * day, path.time[at] + 2 * day);
  }

  let asked = false, picked = -1, shown = [];
  function request() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  }

  // ---- drawing ----

  function visible() {
    const until = Plan.below(plan.starts, t1), found = [];
    for (let b = 0; b * plan.BLOCK < until; b++) {
      if (plan.latest[b] <= t0) continue;
      const stop = Math.min((b + 1) * plan.BLOCK, until);
      for (let i = b * plan.BLOCK; i < stop; i++) {
        const j = plan.byStart[i];
        if (plan.end[j] > t0 && plan.held[j]) found.push(j);
      }
    }
    return found;
  }

  function draw() {
    if (!plan) return;
    const startedAt = performance.now();
    const density = window.devicePixelRatio || 1;
    wide = canvas.clientWidth;
    high = canvas.clientHeight;
    canvas.width = Math.round(wide * density);
    canvas.height = Math.round(high * density);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, wide, high);
    context.font = "12px system-ui, sans-serif";
    axes();
    shown = visible();
    const thin = shown.filter((j) => plan.end[j] - plan.start[j] < pixel()).length;
    const far = shown.length > MANY || thin > 0.5 * shown.length && shown.length > 400;
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, wide - LEFT - RIGHT, high - BOTTOM + 1);
    context.clip();
    if (far) strip(); else bars();
    context.restore();
    legend(far);
    if (far) shown = [];
    describe();
    canvas.dataset.ms = (performance.now() - startedAt).toFixed(2);
    canvas.dataset.far = far;
  }

  const waitOf = (j) => (plan.waits[j] - 1) * data.tick;
  const colourOf = (j) => WAITS.findIndex((each) => waitOf(j) < each[1]);

  function bars() {
    const groups = WAITS.map(() => []);
    for (const j of shown) groups[colourOf(j)].push(j);
    groups.forEach((jobs, colour) => {
      context.fillStyle = WAITS[colour][2];
      for (const j of jobs) box(j, (x, y, w, h) => context.fillRect(x, y, w, h));
    });
    context.strokeStyle = "#ffffff";
    context.lineWidth = 0.7;
    for (const j of shown) {
      box(j, (x, y, w, h) => { if (w > 4 && h > 3) context.strokeRect(x, y, w, h); });
    }
    if (picked >= 0) {
      context.strokeStyle = "#000000";
      context.lineWidth = 2;
      box(picked, (x, y, w, h) => context.strokeRect(x, y, w, h));
    }
  }

  function box(j, use) {
    const x = Math.max(xOf(plan.start[j]), LEFT - 5), to = Math.min(xOf(plan.end[j]), wide + 5);
    const parts = plan.held[j];
    for (let p = 0; p < parts.length; p += 2) {
      const y = yOf(parts[p + 1]);
      use(x, y, Math.max(to - x, 0.5), Math.max(yOf(parts[p]) - y, 0.5));
    }
  }

  // zoomed out: the mean share of the servers in use in each column of pixels
  function strip() {
    context.fillStyle = "#7fb2d9";
    let before = Plan.upTo(plan.busy, t0);
    for (let x = LEFT; x < wide - RIGHT; x++) {
      const after = Plan.upTo(plan.busy, timeAt(x + 1));
      const y = yOf((after - before) / pixel());
      context.fillRect(x, y, 1, high - BOTTOM - y);
      before = after;
    }
  }

  const STEPS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800,
    1209600, 2592000, 7776000, 15552000, 31536000, 157680000, 315360000];

  function axes() {
    context.strokeStyle = "#d5dae0";
    context.fillStyle = "#1b1f24";
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const step = roundStep(plan.top / 5);
    for (let s = 0; s <= plan.top; s += step) {
      const y = Math.round(yOf(s)) + 0.5;
      rule(LEFT, y, wide - RIGHT, y);
      context.fillText(s.toLocaleString("en"), LEFT - 5, y);
    }
    if (plan.top > data.servers) {
      context.strokeStyle = "#d55e00";
      rule(LEFT, yOf(data.servers), wide - RIGHT, yOf(data.servers));
      context.strokeStyle = "#d5dae0";
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    const seconds = (t1 - t0) * data.tick, room = Math.max(2, Math.floor((wide - LEFT) / 110));
    const gap = STEPS.find((each) => seconds / each <= room) || seconds / room;
    const shift = offset();
    const from = t0 * data.tick + data.begin + shift;
    for (let at = Math.ceil(from / gap) * gap; at <= from + seconds; at += gap) {
      const x = xOf((at - shift - data.begin) / data.tick);
      rule(x, TOP, x, high - BOTTOM + 4);
      if (x > LEFT + 15 && x < wide - 35) label(at - shift, gap, x);
    }
  }

  function label(seconds, gap, x) {
    if (data.origin === null) {
      const days = seconds / 86400;
      context.fillText(`day ${days.toFixed(gap < 864 ? 4 : gap < 86400 ? 2 : 0)}`, x, high - BOTTOM + 6);
      return;
    }
    const when = new Date(1000 * (data.origin + seconds));
    if (gap < 86400) context.fillText(clock(when, gap < 60), x, high - BOTTOM + 6);
    context.fillText(date(when), x, high - BOTTOM + (gap < 86400 ? 20 : 6));
  }

  function rule(x, y, toX, toY) {
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(toX, toY);
    context.stroke();
  }

  function roundStep(x) {
    const power = 10 ** Math.floor(Math.log10(Math.max(x, 1)));
    return power * [1, 2, 5, 10].find((each) => each * power >= x);
  }

  function legend(far) {
    const entries = far ? [["servers in use", 0, "#7fb2d9"]] : WAITS;
    key.replaceChildren(far ? "Zoomed out: " : "Waited: ", ...entries.flatMap(([name, , colour]) => {
      const item = document.createElement("span"), mark = document.createElement("span");
      mark.style.cssText = `display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .8em;background:${colour}`;
      item.style.whiteSpace = "nowrap";
      item.append(mark, name);
      return [item, " "]; // lines may break between entries
    }));
  }
  const key = document.createElement("p");
  key.className = "note";
  canvas.before(key);

  // ---- text ----

  let zone = data.zone;
  try { new Intl.DateTimeFormat("en", { timeZone: zone }); } catch { zone = "UTC"; }
  const format = (options) => {
    const made = new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
    return (when) => made.format(when);
  };
  const days = new Intl.DateTimeFormat("en-US",
    { timeZone: zone, day: "numeric", month: "short", year: "numeric" });
  function date(when) {
    const p = Object.fromEntries(days.formatToParts(when).map((x) => [x.type, x.value]));
    return `${p.day} ${p.month} ${p.year}`;
  }
  const minutes = format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const exact = format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  const clock = (when, fine) => (fine ? exact : minutes)(when);
  const parts = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric",
    month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });

  // seconds to add so that midnights of the zone are whole days
  function offset() {
    if (data.origin === null) return 0;
    const at = Math.floor(data.origin + data.begin + t0 * data.tick);
    const p = Object.fromEntries(parts.formatToParts(new Date(1000 * at)).map((x) => [x.type, +x.value]));
    const local = Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) / 1000;
    return data.origin + (local - at);
  }

  function timeText(t) {
    const seconds = data.begin + t * data.tick;
    if (data.origin === null) return `day ${(seconds / 86400).toFixed(3)}`;
    const when = new Date(1000 * (data.origin + seconds));
    return `${date(when)}, ${clock(when)}`;
  }

  function duration(seconds) {
    const [length, name] = seconds < 120 ? [1, "s"] : seconds < 7200 ? [60, "min"]
      : seconds < 360000 ? [3600, "h"] : [86400, "days"];
    return `${+(seconds / length).toPrecision(3)} ${name}`;
  }

  function describe() {
    const use = (Plan.upTo(plan.busy, t1) - Plan.upTo(plan.busy, t0)) / ((t1 - t0) * data.servers);
    let text = `${timeText(t0)} to ${timeText(t1)}: ${(100 * use).toFixed(0)} % of the servers in use.`;
    if (picked >= 0) {
      const who = jobs.user[picked] ? ` of ${data.users[jobs.user[picked] - 1]}` : "";
      text += ` Job${who}: ${jobs.need[picked].toLocaleString("en")} server${jobs.need[picked] > 1 ? "s" : ""}, ` +
        `submitted ${timeText(jobs.submit[picked])}, waited ${duration(waitOf(picked))}, ` +
        `ran ${duration(jobs.size[picked] * data.tick)} from ${timeText(plan.start[picked])}.`;
    } else if (!shown.length) {
      text += " Zoom in to see single jobs.";
    }
    status.textContent = text;
  }

  function pick(x, y) {
    const t = timeAt(x), server = ((high - BOTTOM - y) / (high - BOTTOM - TOP)) * plan.top;
    let found = -1;
    for (const j of shown) {
      if (plan.start[j] > t + pixel() || plan.end[j] < t - pixel()) continue;
      const own = plan.held[j];
      for (let p = 0; p < own.length; p += 2) if (own[p] <= server && server < own[p + 1]) found = j;
    }
    if (found !== picked) {
      picked = found;
      request();
    }
  }

  // ---- pointer and keyboard ----

  const fingers = new Map();
  const place = (event) => {
    const frame = canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add("held");
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!plan) return;
    const at = place(event), before = fingers.get(event.pointerId);
    if (!before) {
      pick(...at);
      return;
    }
    moved += Math.abs(at[0] - before[0]);
    const others = [...fingers].filter(([id]) => id !== event.pointerId);
    if (others.length === 1) {
      const still = others[0][1][0];
      const from = Math.max(Math.abs(before[0] - still), 10), to = Math.max(Math.abs(at[0] - still), 10);
      zoom(from / to, still);
    } else if (others.length === 0) {
      const by = (before[0] - at[0]) * pixel();
      show(t0 + by, t1 + by);
    }
    fingers.set(event.pointerId, at);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, (event) => {
      fingers.delete(event.pointerId);
      if (!fingers.size) canvas.classList.remove("held");
      if (end === "pointerup" && moved < 4 && plan) pick(...place(event));
    });
  }
  canvas.addEventListener("wheel", (event) => {
    if (!plan || !(document.activeElement === canvas || event.ctrlKey)) return; // else the page scrolls
    event.preventDefault();
    zoom(Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 300))), place(event)[0]);
  }, { passive: false });
  const KEYS = { ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.6),
    "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), Home: () => show(0, plan.last),
    PageUp: () => move(-1), PageDown: () => move(1) };
  canvas.addEventListener("keydown", (event) => {
    if (!plan || !KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  const ACTIONS = { in: () => zoom(0.5), out: () => zoom(2), back: () => move(-0.5), on: () => move(0.5),
    all: () => show(0, plan.last), busy: busiest };
  for (const button of document.querySelectorAll("[data-do]")) {
    button.addEventListener("click", () => { if (plan) ACTIONS[button.dataset.do](); });
  }
  choice.addEventListener("change", async () => {
    plan = await planned(+choice.value);
    picked = -1;
    request();
  });
  new ResizeObserver(request).observe(canvas);

  // ---- begin ----

  (async () => {
    if (!("DecompressionStream" in window)) {
      status.textContent = "This browser is too old for this figure: use one from 2023 or later.";
      return;
    }
    const startedAt = performance.now();
    jobs = await Plan.read(data.columns);
    plan = await planned(+choice.value);
    show(0, plan.last);
    busiest();
    requestAnimationFrame(() => { canvas.dataset.ready = (performance.now() - startedAt).toFixed(1); });
  })();
})();
