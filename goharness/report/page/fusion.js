"use strict";
// Fusion: an overview with a row for each pattern, and one pattern over size with its crossover.

const verdicts = ["strong", "moderate", "minimal", "slower", "inconclusive"];
const most = 150; // patterns of one chart
const advice = {fuse: "fuse", do_not_fuse: "do not fuse", depends_on_size: "depends on size", inconclusive: "inconclusive"};

function fusionCharts() {
  const host = document.querySelector("[data-chart=fusion]");
  if (!host) return;
  const every = page.docs.flatMap((d) => d.devices.flatMap((v) => v.fusion.flatMap((p) => p.shapes)));
  // The frame holds every speed-up; intervals may leave it.
  const range = [Math.max(.1, lowest(every.map((s) => s.speedup), .8) / 1.2), Math.min(50, highest(every.map((s) => s.speedup), 1.7) * 1.3)];
  page.docs.forEach((doc, machine) => doc.devices.forEach((device) => {
    const measured = device.fusion.filter((p) => p.shapes.length), patterns = measured.slice(0, most);
    if (!device.fusion.length) return;
    const title = machineName(machine, device), left = device.fusion.length - measured.length;
    if (!patterns.length) {
      host.append(element("div", {class: "panel"}, element("h3", {}, title), element("p", {class: "say"}, "No pattern was measured.")));
      return;
    }
    panel(host, `All patterns · ${title}`, () => 96 + 22 * patterns.length, (t, width) => overview(t, width, patterns, range), [measured.length > most ? `The first ${most} of ${measured.length} patterns.` : "", left ? `${left} more patterns were not measured.` : ""].join(" ").trim(),
      `${count(patterns.length, "pattern", "patterns")}, speed-ups ${span(patterns.flatMap((p) => p.shapes.map((s) => s.speedup)), times, "")}; ` +
      verdicts.map((v) => [patterns.flatMap((p) => p.shapes).filter((s) => s.verdict === v).length, v]).filter(([n]) => n).map(([n, v]) => `${count(n, "shape", "shapes")} ${v}`).join(", "));
    const pick = element("select", {"aria-label": "pattern"});
    patterns.forEach((p, i) => pick.append(element("option", {value: String(i)}, `${p.name}: ${advice[p.verdict] || p.verdict}`)));
    const say = element("p", {class: "say"});
    const chosen = () => patterns[+pick.value];
    const first = patterns.findIndex((p) => p.crossover);
    pick.value = String(first < 0 ? patterns.reduce((best, p, i) => p.shapes.length > patterns[best].shapes.length ? i : best, 0) : first);
    const c = panel(host, `Over size · ${title}`, () => 380, (t) => overSize(t, chosen(), range), "", "");
    c.panel.insertBefore(element("label", {class: "pick"}, "pattern ", pick), c.box);
    c.panel.append(say);
    const tell = () => {
      const p = chosen(), x = p.crossover;
      say.textContent = `${p.name}: ` + (x ? `fuse ${x.fuse_above ? `from ${x.parameter} = ${x.between[1]}` : `up to ${x.parameter} = ${x.between[0]}`}; ` : "") + p.reason;
      c.box.setAttribute("aria-label", `${c.title}: ${say.textContent} ${p.shapes.slice(0, 40).map((s) => `${s.shape}: ${times(s.speedup)}, ${s.verdict}`).join("; ")}`);
    };
    pick.addEventListener("change", () => { tell(); draw(c); });
    tell();
  }));
}

function shapeTip(p, s) {
  return tip(`${p.name} · ${s.shape}`, `speed-up ${times(s.speedup)}, ${s.high > 0 ? `95 % interval ${times(s.low)} to ${times(s.high)}` : "no interval"}`,
    s.verdict + (s.atLeast && s.atLeast !== s.verdict ? `, at least ${s.atLeast}` : ""), `${digits(s.unfused)} ms unfused (${s.baseline || "baseline"}), ${digits(s.fused)} ms fused`, s.note || null);
}

// shortened keeps the precision at the end of a pattern's name.
function shortened(name, limit) {
  const at = name.lastIndexOf(" ");
  return name.length <= limit || at < 0 ? clipped(name, limit) : clipped(name.slice(0, at), limit - (name.length - at)) + name.slice(at);
}

function overview(t, width, patterns, range) {
  const left = Math.min(230, Math.max(120, width * .42)), limit = Math.floor((left - 10) / 7);
  const series = [], of = Object.fromEntries(verdicts.map((v) => [v, []])), lines = Object.fromEntries(verdicts.map((v) => [v, []]));
  patterns.forEach((p, row) => p.shapes.forEach((s, i) => {
    const y = row + (p.shapes.length > 1 ? (i / (p.shapes.length - 1) - .5) * .56 : 0), v = of[s.verdict] ? s.verdict : "inconclusive";
    of[v].push({value: [Math.min(range[1], Math.max(range[0], s.speedup)), y], p, s});
    if (s.high > 0) lines[v].push([Math.max(range[0], s.low), y], [Math.min(range[1], s.high), y], [null, null]);
  }));
  for (const v of verdicts) {
    if (!of[v].length) continue;
    const color = t.verdict[v];
    series.push({name: v, type: "line", data: lines[v], showSymbol: false, silent: true, animation: false, connectNulls: false, lineStyle: {color, width: 1.6, opacity: .7}, itemStyle: {color}, tooltip: {show: false}});
    series.push({name: v, type: "scatter", data: of[v], symbolSize: 8, z: 5, itemStyle: {color}});
  }
  // On a phone the first two cut-offs are closer than their labels are wide.
  const near = (width - left - 18) * Math.log(1.1 / .95) / Math.log(range[1] / range[0]) < 26;
  const cutAlign = (x) => !near || x === 1.5 ? "center" : x < 1 ? "right" : "left";
  if (series.length) series[0].markLine = {silent: true, symbol: "none", animation: false, label: {show: true, position: "start", distance: 3, rotate: 0, color: t.soft, fontSize: 10, formatter: (p) => String(p.value)},
    data: [.95, 1.1, 1.5].map((x) => ({xAxis: x, lineStyle: {color: t.soft, type: [4, 4], width: 1}, label: {align: cutAlign(x)}}))};
  return {animation: false, grid: {left, right: 18, top: 48, bottom: 44}, legend: legend(t, verdicts.filter((v) => of[v].length).map((name) => ({name, icon: "circle"}))),
    tooltip: tooltip(t, {trigger: "item", formatter: (p) => p.data && p.data.s ? shapeTip(p.data.p, p.data.s) : null}),
    xAxis: axis(t, "Speed-up (unfused time / fused time)", 26, {type: "log", logBase: 2, min: range[0], max: range[1], customValues: [.1, .2, .33, .5, .7, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48].filter((v) => v >= range[0] && v <= range[1]), axisLabel: {formatter: (v) => "×" + plain(v)}}),
    yAxis: axis(t, "", 0, {type: "value", min: -.6, max: patterns.length - .4, inverse: true, interval: 1, axisTick: {show: false}, splitLine: {show: false}, axisLabel: {show: false}}),
    graphic: patterns.map((p, i) => ({type: "text", silent: true, left: 4, top: 48 + (i + .6) / (patterns.length + .2) * (22 * patterns.length + 4) - 7, style: {text: shortened(p.name, limit), fill: t.ink, font: "11.5px system-ui, sans-serif", width: left - 8}})),
    series};
}
const clipped = (s, n) => s.length > n ? s.slice(0, n - 1) + "…" : s;

function overSize(t, p, range) {
  const named = Boolean(p.crossover), list = p.shapes.filter((s) => s.size > 0);
  const x = enclose(list.map((s) => s.size), named ? 2 : 10).map((v, i) => i ? v * 1.08 : v / 1.08);
  const color = (s) => t.verdict[s.verdict] || t.verdict.inconclusive;
  const middle = list.map((s) => s.speedup), values = [...middle, ...list.flatMap((s) => s.high > 0 ? [Math.max(s.low, lowest(middle, Infinity) * .6), Math.min(s.high, highest(middle, 0) * 1.6)] : [])];
  // The frame: wide intervals end there, and so do speed-ups beyond any machine's.
  const y = [Math.max(0, Math.floor(5 * lowest(values, .9) - .2) / 5), Math.min(20, Math.ceil(5 * highest(values, 1.6) - .2) / 5)];
  const inFrame = (s) => [s.size, Math.min(y[1], s.speedup)];
  const lines = [{name: "shapes", type: "line", data: list.map(inFrame), showSymbol: false, silent: true, animation: false, lineStyle: {color: t.soft, width: 1, opacity: .6}, tooltip: {show: false}}];
  for (const s of list) if (s.high > 0) lines.push({type: "line", data: [[s.size, Math.max(y[0], s.low)], [s.size, Math.min(y[1], s.high)]], showSymbol: false, silent: true, animation: false, lineStyle: {color: color(s), width: 2}, tooltip: {show: false}});
  const cuts = [.95, 1.1, 1.5].map((v) => ({yAxis: v, lineStyle: {color: t.soft, type: [4, 4], width: 1}, label: {formatter: () => ({.95: "slower below 0.95", 1.1: "moderate from 1.1", 1.5: "strong from 1.5"})[v], position: "insideStartTop", color: t.soft, fontSize: 10}}));
  lines[0].markLine = {silent: true, symbol: "none", animation: false, data: cuts};
  if (named) {
    const [a, b] = p.crossover.between, middle = Math.sqrt(a * b);
    lines[0].markArea = {silent: true, itemStyle: {color: t.band}, data: [[{xAxis: Math.min(a, b)}, {xAxis: Math.max(a, b)}]]};
    lines[0].markLine.data.push({xAxis: middle, lineStyle: {color: t.accent, type: "solid", width: 1.6}, label: {formatter: () => `crossover between ${a} and ${b}`, position: "insideEndTop", rotate: 0, color: t.accent, fontSize: 11, align: "center"}});
  }
  lines.push({name: "shapes", type: "scatter", z: 6, symbolSize: 11, data: list.map((s) => ({value: inFrame(s), s, itemStyle: {color: color(s)}}))});
  return {animation: false, grid: {left: 52, right: 18, top: 22, bottom: 46},
    tooltip: tooltip(t, {trigger: "item", formatter: (q) => q.data && q.data.s ? shapeTip(p, q.data.s) : null}),
    xAxis: axis(t, named ? p.crossover.parameter : "Work of one call (FLOP)", 28, {type: "log", logBase: named ? 2 : 10, min: x[0], max: x[1], axisLabel: {formatter: plain}}),
    yAxis: axis(t, "Speed-up", 34, {type: "value", min: y[0], max: y[1]}), series: lines};
}
