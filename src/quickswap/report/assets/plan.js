"use strict";
// The servers that each job holds, over time. Times are whole ticks; a job is a number, in order of submission.
const Plan = (() => {
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const n = planes.length / 4, out = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      out[i] = planes[i] | (planes[n + i] << 8) | (planes[2 * n + i] << 16) | (planes[3 * n + i] << 24);
    }
    return out;
  }

  async function read(columns) {
    const [submit, size, need, user] = await Promise.all(columns.map(unpacked));
    for (let i = 1; i < submit.length; i++) submit[i] += submit[i - 1];
    return { submit, size, need, user };
  }

  // ---- which servers a job holds: the lowest gap that it fits, else the lowest free servers ----

  function arranged(jobs, waits, servers) {
    const { submit, size, need } = jobs;
    const present = [];
    for (let j = 0; j < waits.length; j++) if (waits[j] > 0) present.push(j);
    const n = present.length;
    const start = new Float64Array(waits.length), end = new Float64Array(waits.length);
    for (const j of present) {
      start[j] = submit[j] + waits[j] - 1;
      end[j] = start[j] + size[j];
    }
    const byStart = Uint32Array.from(present).sort((a, b) => start[a] - start[b] || a - b);
    const byEnd = Uint32Array.from(present).sort((a, b) => end[a] - end[b] || a - b);
    const held = new Array(waits.length); // per job: low, high, low, high, ...
    const free = [0, Infinity]; // likewise, ascending
    let top = servers, gone = 0;
    for (const j of byStart) {
      while (gone < n && end[byEnd[gone]] <= start[j]) {
        const other = held[byEnd[gone]];
        if (other) give(free, other); // a job of size zero holds none
        gone++;
      }
      if (size[j] === 0) continue;
      held[j] = take(free, need[j]);
      top = Math.max(top, held[j][held[j].length - 1]);
    }
    const BLOCK = 64, latest = new Float64Array(Math.ceil(n / BLOCK));
    for (let i = 0; i < n; i++) {
      const b = (i / BLOCK) | 0;
      latest[b] = Math.max(latest[b], end[byStart[i]]);
    }
    const starts = Float64Array.from(byStart, (j) => start[j]);
    const last = n ? end[byEnd[n - 1]] : 1;
    return { start, end, byStart, starts, held, latest, BLOCK, top, waits, n, last,
      busy: area(byStart, start, byEnd, end, (j) => need[j], false),
      queue: area(present, submit, byStart, start, (j) => need[j] * size[j], true) };
  }

  function take(free, count) {
    for (let i = 0; i < free.length; i += 2) {
      if (free[i + 1] - free[i] >= count && free[i + 1] !== Infinity) return cut(free, i, count);
    }
    const got = [];
    while (count > 0) {
      const part = Math.min(count, free[1] - free[0]);
      got.push(...cut(free, 0, part));
      count -= part;
    }
    return got;
  }

  function cut(free, i, count) {
    const low = free[i];
    free[i] += count;
    if (free[i] === free[i + 1]) free.splice(i, 2);
    return [low, low + count];
  }

  function give(free, parts) {
    for (let p = 0; p < parts.length; p += 2) {
      let a = 0, b = free.length / 2;
      while (a < b) {
        const m = (a + b) >> 1;
        if (free[2 * m] < parts[p]) a = m + 1; else b = m;
      }
      const before = a > 0 && free[2 * a - 1] === parts[p], after = free[2 * a] === parts[p + 1];
      if (before && after) free.splice(2 * a - 1, 2);
      else if (before) free[2 * a - 1] = parts[p + 1];
      else if (after) free[2 * a] = parts[p];
      else free.splice(2 * a, 0, parts[p], parts[p + 1]);
    }
  }

  // a sum of weights that rises and falls: its times of change, its values and its integral;
  // at the same instant, rises come first or last
  function area(ups, upTime, downs, downTime, weightOf, risesFirst) {
    const n = ups.length, time = new Float64Array(2 * n + 1), level = new Float64Array(2 * n + 1);
    const sum = new Float64Array(2 * n + 1);
    let i = 0, k = 0;
    for (let at = 1; at <= 2 * n; at++) {
      const up = i < n ? upTime[ups[i]] : Infinity, down = k < n ? downTime[downs[k]] : Infinity;
      const rises = up < down || (risesFirst && up === down);
      const j = rises ? ups[i++] : downs[k++];
      const weight = weightOf(j);
      time[at] = rises ? up : down;
      level[at] = level[at - 1] + (rises ? weight : -weight);
      sum[at] = sum[at - 1] + level[at - 1] * (time[at] - time[at - 1]);
    }
    return { time, level, sum };
  }

  function upTo(path, t) {
    const i = Math.max(below(path.time, t) - 1, 0);
    return path.sum[i] + path.level[i] * (t - path.time[i]);
  }

  // the number of ascending values at or below x
  function below(values, x) {
    let a = 0, b = values.length;
    while (a < b) {
      const m = (a + b) >> 1;
      if (values[m] <= x) a = m + 1; else b = m;
    }
    return a;
  }

  return { arranged, below, read, unpacked, upTo };
})();
