"use strict";
// What the other scripts share: the data, number formats, colours, and the life of a chart. All text of a document enters
// the page as text nodes; nothing here makes markup of it.

const page = JSON.parse(document.getElementById("data").textContent);

// rows of all machines as objects.
const rows = [];
{
  const texts = new Set(page.texts);
  page.docs.forEach((doc, machine) => {
    for (const cells of doc.rows) {
      const r = {machine};
      page.columns.forEach((name, i) => { r[name] = texts.has(name) ? page.strings[cells[i]] : cells[i]; });
      r.id = r.id || `${r.device}/${r.op}/${r.dtype}/${r.shape || "-"}/threads=${r.threads}/${r.mode}${r.forced ? "@" + r.forced : ""}`;
      r.reproduce = r.reproduce.replace("\0", () => r.id);
      r.counts = r.status === "ok" || r.status === "noisy";
      rows.push(r);
    }
  });
}

// element makes a node: text is text, never markup.
function element(name, properties, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(properties || {})) {
    if (k === "class") e.className = v; else if (k in e && k !== "list") e[k] = v; else e.setAttribute(k, v);
  }
  for (const c of children) if (c !== null && c !== undefined) e.append(c);
  return e;
}

// digits shows three significant digits without an exponent, more before the point; beyond what anything here measures with one.
function digits(v) {
  const a = Math.abs(v);
  if (a >= 1e12) return v.toExponential(2);
  if (a === 0) return "0";
  if (a >= 100) return v.toFixed(0);
  if (a >= 10) return v.toFixed(1);
  if (a >= 1) return v.toFixed(2);
  return String(Number(v.toPrecision(3)));
}
function duration(ns) {
  if (ns >= 1e9) return digits(ns / 1e9) + " s";
  if (ns >= 1e6) return digits(ns / 1e6) + " ms";
  if (ns >= 1e3) return digits(ns / 1e3) + " µs";
  return digits(ns) + " ns";
}
function size(b) {
  if (b >= 2 ** 30) return digits(b / 2 ** 30) + " GiB";
  if (b >= 2 ** 20) return digits(b / 2 ** 20) + " MiB";
  if (b >= 2 ** 10) return digits(b / 2 ** 10) + " KiB";
  return b + " B";
}
// sizeTick is a size on an axis, where sizes are powers of two: 8 KiB.
const sizeTick = (b) => size(b).replace(/\.0+ /, " ");
// perWatt is a result's efficiency with its unit, that of its performance over watts.
const perWatt = (r) => `${digits(r.perWatt)} ${/OPS/.test(r.unit) ? r.unit : "GFLOPS"}/W`;
const percent = (f) => (100 * f).toFixed(1) + " %";
// plain is a number on an axis: 0.25, 64, 2k, 4M.
function plain(v) {
  if (Number.isInteger(v) && v < 1e5) return String(v);
  if (v >= 1e9) return +(v / 1e9).toPrecision(3) + "G";
  if (v >= 1e6) return +(v / 1e6).toPrecision(3) + "M";
  if (v >= 1e4) return +(v / 1e3).toPrecision(3) + "k";
  return String(+v.toPrecision(3));
}
// times is a ratio. An interval of few quartets ends at a number as large as numbers get.
const times = (v, decimals = 2) => v > 1000 ? "> 1000" : v.toFixed(decimals);
// span of values in words.
function span(values, show, unit) {
  const low = lowest(values, Infinity), high = highest(values, -Infinity);
  return low === high ? `${show(low)}${unit}` : `${show(low)} to ${show(high)}${unit}`;
}
const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;
// shows gives how a result's figures are shown.
const shows = (r) => r.unit === "×" ? times : digits;
const highest = (list, start) => list.reduce((a, b) => Math.max(a, b), start);
const lowest = (list, start) => list.reduce((a, b) => Math.min(a, b), start);
// interval in words; an end of 0 is open.
function interval(low, high, show) {
  if (!(low > 0) && !(high > 0)) return "no interval";
  return `${low > 0 ? show(low) : "0"} to ${high > 0 ? show(high) : "unbounded"}`;
}

// Colours of the precisions: told apart with any colour vision on both backgrounds.
const precisions = ["fp64", "fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "u8s8", "int4", "int64"];
const dark = ["#b79cf0", "#5fb0f5", "#58d0c9", "#f5c04a", "#f78b4d", "#f06a9b", "#d98ac7", "#6fd08c", "#a9c94c", "#c9b08a", "#a0acb8"];
const light = ["#6f42c1", "#0969c8", "#0b8f8a", "#b98900", "#d1570a", "#cc2460", "#9a3f8c", "#1c8a47", "#6c8c00", "#8a6a3a", "#65707c"];

let printing = false;
const darkMedia = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => darkMedia.matches && !printing && !matchMedia("print").matches;
function theme() {
  const css = getComputedStyle(document.documentElement);
  const c = {};
  const paper = {page: "#fff", panel: "#fff", ink: "#000", soft: "#444", line: "#bbb", grid: "#ddd", accent: "#0b62b5", ok: "#1a7f4b", noisy: "#8a5d00", bad: "#b01e25", idle: "#555", band: "rgba(90,110,140,.1)"};
  for (const name of Object.keys(paper)) c[name] = printing ? paper[name] : css.getPropertyValue("--" + name).trim();
  c.precision = (d) => {
    const i = precisions.indexOf(d);
    return (isDark() ? dark : light)[i < 0 ? precisions.length - 1 : i];
  };
  c.verdict = {strong: isDark() ? "#4fc184" : "#1a7f4b", moderate: isDark() ? "#5fb0f5" : "#0969c8", minimal: isDark() ? "#a0acb8" : "#65707c", slower: isDark() ? "#ff7b7f" : "#c0262d", inconclusive: isDark() ? "#dcaa3c" : "#b98900"};
  return c;
}

// charts by the element that holds them. option(theme, width) gives what echarts shows.
const charts = [];
const small = () => innerWidth <= 640;

// text says in a sentence what the chart shows, for who cannot see it; the numbers are in the table of results.
function panel(host, title, height, option, say, text) {
  const box = element("div", {class: "chart", role: "img", "aria-label": `${title}: ${text}`});
  const p = element("div", {class: "panel"}, element("h3", {}, title), box, say ? element("p", {class: "say"}, say) : null);
  host.append(p);
  const c = {title, box, option, height, instance: null, panel: p};
  box.style.height = height() + "px";
  charts.push(c);
  return c;
}
function draw(c) {
  c.box.style.height = c.height() + "px";
  if (!c.instance) {
    c.instance = echarts.init(c.box, null, {renderer: "canvas", devicePixelRatio: Math.max(2, devicePixelRatio || 1)});
    c.instance.on("click", (p) => { if (p.data && p.data.row) showResult(p.data.row); });
  } else c.instance.resize();
  c.instance.setOption(c.option(theme(), c.box.clientWidth), {notMerge: true});
}
const seen = new IntersectionObserver((list) => {
  for (const e of list) {
    const c = charts.find((c) => c.box === e.target);
    if (e.isIntersecting && c && !c.instance) draw(c);
  }
}, {rootMargin: "800px"});
function drawAll() { for (const c of charts) draw(c); }
function redraw() { for (const c of charts) if (c.instance) draw(c); }

let wait = 0;
addEventListener("resize", () => { clearTimeout(wait); wait = setTimeout(redraw, 120); });
darkMedia.addEventListener("change", redraw);
// Paper: light colours, a width that fits between the margins that browsers leave on A4 (676 px at the least) and Letter with a panel's
// frame, all charts, all rows that the filter lets through.
const paperWidth = 650;
addEventListener("beforeprint", () => {
  printing = true;
  for (const c of charts) c.box.style.width = paperWidth + "px";
  drawAll();
});
addEventListener("afterprint", () => {
  printing = false;
  for (const c of charts) c.box.style.width = "";
  redraw();
});

// tip is a tooltip: a title and lines, as text.
function tip(title, ...lines) {
  return element("div", {class: "tip"}, element("b", {}, title), ...lines.filter(Boolean).map((l) => element("div", {}, l)));
}
function tooltip(t, more) {
  return {confine: true, transitionDuration: 0, backgroundColor: t.panel, borderColor: t.line, textStyle: {color: t.ink}, extraCssText: "box-shadow:0 2px 10px rgba(0,0,0,.25);", ...more};
}
// steps of a base around a range, the last below and the first above included: powers, of ten also their twofold and fivefold.
function steps(low, high, base) {
  const out = [], l = Math.log(base);
  for (let e = Math.floor(Math.log(low) / l + 1e-9); ; e++) {
    for (const m of base === 10 ? [1, 2, 5] : [1]) {
      const v = m * base ** e;
      if (out.length === 1 && v <= low * (1 + 1e-9)) out.pop();
      out.push(+v.toPrecision(12));
      if (v >= high * (1 - 1e-9)) return out.length > 1 ? out : [...out, v * base];
    }
  }
}
// ticks inside a range: its steps where they are few, else powers of its base, thinned out to at most eight labels.
function ticks(low, high, base) {
  const few = steps(low, high, base).filter((v) => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9));
  if (few.length <= (small() ? 6 : 9)) return few;
  const l = Math.log(base), from = Math.ceil(Math.log(low) / l - 1e-9), to = Math.floor(Math.log(high) / l + 1e-9);
  const step = Math.max(1, Math.ceil((to - from) / (small() ? 5 : 8))), out = [];
  for (let e = from; e <= to; e += step) out.push(base ** e);
  return out;
}
// axis with the page's colours. Names stand in the middle of their axis.
function axis(t, name, gap, more) {
  if (more && more.type === "log") {
    const customValues = more.customValues || ticks(more.min, more.max, more.logBase || 10);
    more = {...more, axisLabel: {...more.axisLabel, customValues}, axisTick: {customValues}};
  }
  return {name, nameLocation: "middle", nameGap: gap, nameTextStyle: {color: t.soft, fontSize: 12}, axisLine: {show: true, onZero: false, lineStyle: {color: t.soft}}, 
    axisLabel: {color: t.soft, fontSize: 11, hideOverlap: true, ...(more && more.axisLabel)}, splitLine: {lineStyle: {color: t.grid}}, minorSplitLine: {show: false},
    ...more, ...(more && more.axisLabel ? {axisLabel: {color: t.soft, fontSize: 11, hideOverlap: true, ...more.axisLabel}} : {}), axisTick: {lineStyle: {color: t.soft}, ...(more && more.axisTick)}};
}
function legend(t, data, more) {
  return {data, top: 0, left: 0, right: 0, type: "scroll", itemWidth: 14, itemHeight: 9, itemGap: 12, textStyle: {color: t.ink, fontSize: 12}, inactiveColor: t.line, pageTextStyle: {color: t.soft}, pageIconColor: t.accent, ...more};
}
// whiskers are intervals as one line series with gaps; [x, low, high] each.
function whiskers(name, color, list, more) {
  const data = [];
  for (const [x, low, high] of list) data.push([x, low], [x, high], [x, null]);
  return {name, type: "line", data, showSymbol: false, symbol: "none", silent: true, lineStyle: {color, width: 1.3, opacity: .65}, itemStyle: {color}, z: 3, connectNulls: false, animation: false, tooltip: {show: false}, ...more};
}
// intervals are whiskers of [x, low, high], dotted where an end is open (0), which then is that of the frame. Without either end
// there is no interval.
function intervals(name, color, all, floor, ceiling, more) {
  const list = all.filter(([, low, high]) => low > 0 || high > 0);
  const end = ([x, low, high]) => [x, Math.min(ceiling, Math.max(floor, low)), Math.max(floor, Math.min(ceiling, high || ceiling))];
  const open = ([, low, high]) => !(low > 0) || !(high > 0);
  return [whiskers(name, color, list.filter((p) => !open(p)).map(end), more),
    whiskers(name, color, list.filter(open).map(end), {...more, lineStyle: {color, width: 1, opacity: .4, type: [2, 4]}})];
}
// enclose gives the steps of a log axis that enclose values, of which a document may hold any.
function enclose(values, base) {
  let low = Infinity, high = 0;
  for (const v of values) if (v > 1e-15 && v < 1e20) { low = Math.min(low, v); high = Math.max(high, v); }
  if (!high) return [1, base];
  const all = steps(low, high, base);
  return [all[0], all[all.length - 1]];
}
const machineName = (machine, device) => {
  const doc = page.docs[machine];
  return doc.devices.length > 1 ? `${doc.label} · ${device.id}` : doc.label;
};
