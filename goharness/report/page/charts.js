"use strict";
// Memory over the working set, GEMM efficiency over size, power.

function memoryCharts() {
  const host = document.querySelector("[data-chart=memory]");
  if (!host) return;
  const devices = page.docs.flatMap((doc, machine) => doc.devices.map((device) => ({machine, device})));
  const sizes = enclose(devices.flatMap(({device: d}) => [...d.read, ...d.latency].map((p) => p[0])), 2);
  const reads = enclose(devices.flatMap(({device: d}) => [...d.read.map((p) => p[1]), ...d.roof.read.map((l) => l.value)]), 10);
  const waits = enclose(devices.flatMap(({device: d}) => d.latency.flatMap((p) => [p[1], 3.5 * p[1]])), 10); // the levels' names stand above
  for (const {machine, device} of devices) {
    const title = machineName(machine, device);
    if (device.read.length) panel(host, `Read bandwidth · ${title}`, () => 340, (t, width) => sweep(t, width, device, device.read, sizes, reads, "GB/s", true), "", sweepText(device.read, " GB/s"));
    if (device.latency.length) panel(host, `Latency · ${title}`, () => 340, (t, width) => sweep(t, width, device, device.latency, sizes, waits, "ns", false), "",
      [sweepText(device.latency, " ns"), ...device.levels.map((l) => `${l.name || "unnamed"} ${digits(l.latency)} ns`)].join("; "));
  }
}

const sweepText = (points, unit) => `${count(points.length, "size", "sizes")}, ${span(points.map((p) => p[0]), size, "")}, ${span(points.map((p) => p[1]), digits, unit)}`;

function sweep(t, width, device, points, x, y, unit, bandwidth) {
  const color = t.precision(bandwidth ? "fp32" : "bf16");
  const series = [...intervals("interval", color, points.map((p) => [p[0], p[2], p[3]]), y[0], y[1]),
    {name: "measured", type: "line", z: 5, lineStyle: {color, width: 2}, itemStyle: {color, borderColor: color, borderWidth: 2}, symbol: "circle", symbolSize: 7, showSymbol: true, animation: false,
      data: points.map((p) => ({value: [p[0], p[1]], point: p, itemStyle: p[5] === "ok" ? {} : {color: t.panel, borderColor: color}}))}];
  if (bandwidth) {
    let last = 0, right = false;
    const lines = [...device.roof.read].sort((a, b) => a.value - b.value).map((l) => {
      right = last > 0 && Math.log(l.value / last) / Math.log(y[1] / y[0]) * 250 < 15 ? !right : false;
      last = l.value;
      return {yAxis: l.value, label: {formatter: () => `${l.name} ${digits(l.value)}`, position: right ? "insideStartTop" : "insideEndTop"}};
    });
    series[2].markLine = {silent: true, symbol: "none", animation: false, lineStyle: {color: t.soft, type: [5, 4], width: 1}, label: {color: t.soft, fontSize: 11}, data: lines};
  } else {
    series[2].markArea = {silent: true, itemStyle: {color: t.band}, label: {color: t.ink, fontSize: 11, position: "insideTop", lineHeight: 14},
      data: device.levels.filter((l) => l.to > l.from).map((l) => [{xAxis: l.from, label: {formatter: () => `${l.name || "unnamed"}\n${digits(l.latency)} ns`}}, {xAxis: l.to}])};
  }
  return {animation: false, grid: {left: 54, right: 16, top: 16, bottom: 48},
    tooltip: tooltip(t, {trigger: "item", formatter: (p) => p.data && p.data.point ? tip(`${size(p.data.point[0])}: ${digits(p.data.point[1])} ${unit}`, `95 % interval ${interval(p.data.point[2], p.data.point[3], digits)}`, `${p.data.point[4]} ${p.data.point[4] === 1 ? "thread" : "threads"}, ${p.data.point[5]}`) : null}),
    xAxis: axis(t, "Size of the buffer", 28, {type: "log", logBase: 2, min: x[0], max: x[1], axisLabel: {formatter: sizeTick}}),
    yAxis: axis(t, bandwidth ? "Read bandwidth (GB/s)" : "Latency of a load (ns)", 38, {type: "log", min: y[0], max: y[1], axisLabel: {formatter: plain}}), series};
}

function gemmSize(r) {
  const p = Object.fromEntries(r.shape.split(",").map((s) => s.split("=")));
  const m = +p.m, n = +p.n, k = +p.k;
  return m > 0 && n > 0 && k > 0 && m * n * k < 1e60 ? {edge: Math.cbrt(m * n * k), square: m === n && n === k} : null;
}

function gemmCharts() {
  const host = document.querySelector("[data-chart=gemm]");
  if (!host) return;
  const all = rows.filter((r) => r.op === "gemm" && r.executed > 0 && r.peak > 0).map((r) => ({r, at: gemmSize(r)})).filter((p) => p.at);
  const x = enclose(all.map((p) => p.at.edge), 2).map((v, i) => i ? v * 1.15 : v / 1.15);
  const top = Math.min(2, highest(all.map((p) => p.r.executed / p.r.peak), 1));
  page.docs.forEach((doc, machine) => doc.devices.forEach((device) => {
    const points = all.filter((p) => p.r.machine === machine && p.r.device === device.id);
    if (points.length) panel(host, machineName(machine, device), () => 360, (t) => gemm(t, points, x, Math.ceil(top * 10) / 10), "",
      `${count(points.length, "case", "cases")}, ${span(points.map((p) => p.r.executed / p.r.peak), percent, "")} of the compute ceiling, sizes ${span(points.map((p) => p.at.edge), plain, "")}`);
  }));
}

function gemm(t, points, x, top) {
  const series = [];
  const dtypes = [...new Set(points.map((p) => p.r.dtype))].sort((a, b) => precisions.indexOf(a) - precisions.indexOf(b));
  for (const [n, d] of dtypes.entries()) {
    const color = t.precision(d), mine = points.filter((p) => p.r.dtype === d).sort((a, b) => a.at.edge - b.at.edge);
    const e = (r) => 100 * r.executed / r.peak;
    // Precisions of one size stand side by side.
    const aside = (edge) => edge * (x[1] / x[0]) ** ((n - (dtypes.length - 1) / 2) * .014);
    series.push(...intervals(d, color, mine.map(({r, at}) => [aside(at.edge), r.highNS > 0 ? e(r) * r.ns / r.highNS : 0, r.lowNS > 0 ? e(r) * r.ns / r.lowNS : 0]), 0, 100 * top));
    const widest = highest(mine.map((p) => p.r.threads), 0), square = mine.filter((p) => p.at.square && p.r.threads === widest && !p.r.forced);
    if (square.length > 1) series.push({name: d, type: "line", data: square.map((p) => [aside(p.at.edge), e(p.r)]), showSymbol: false, silent: true, animation: false, lineStyle: {color, width: 1.5}, itemStyle: {color}, tooltip: {show: false}});
    series.push({name: d, type: "scatter", z: 5, symbolSize: 10, itemStyle: {color}, data: mine.map(({r, at}) => ({value: [aside(at.edge), e(r)], row: r, symbol: at.square ? "circle" : "triangle", itemStyle: r.status === "ok" ? {color} : {color: t.panel, borderColor: color, borderWidth: 1.7}}))});
  }
  return {animation: false, grid: {left: 52, right: 16, top: 36, bottom: 48}, legend: legend(t, dtypes.map((d) => ({name: d, icon: "circle"}))),
    tooltip: tooltip(t, {trigger: "item", formatter: (p) => p.data && p.data.row ? tip(`${p.value[1].toFixed(1)} % of its measured compute ceiling, ${digits(p.data.row.peak)} ${p.data.row.unit || "GFLOPS"}`, ...describe(p.data.row)) : null}),
    xAxis: axis(t, "Size: cube root of M·N·K", 28, {type: "log", logBase: 2, min: x[0], max: x[1], axisLabel: {formatter: plain}}),
    yAxis: axis(t, "Of the measured compute peak (%)", 36, {type: "value", min: 0, max: 100 * top}), series};
}

function energyCharts() {
  const host = document.querySelector("[data-chart=energy]");
  if (!host) return;
  page.docs.forEach((doc, machine) => doc.devices.forEach((device) => {
    const mine = rows.filter((r) => r.machine === machine && r.device === device.id && r.watts > 0);
    if (!mine.length) return;
    const shown = [...mine].sort((a, b) => b.watts - a.watts).slice(0, 25);
    const title = machineName(machine, device);
    panel(host, `Mean power · ${title}`, () => 90 + 20 * shown.length, (t, width) => bars(t, width, shown, (r) => r.watts, "Mean power (W)"),
      mine.length > shown.length ? `The ${shown.length} highest of ${mine.length}; all are in the table.` : "",
      `${count(mine.length, "result", "results")}, ${span(mine.map((r) => r.watts), digits, " W")}`);
    const efficient = mine.filter((r) => r.perWatt > 0 && r.value > 0 && /OPS/.test(r.unit));
    if (efficient.length) panel(host, `Efficiency · ${title}`, () => 400, (t) => efficiency(t, efficient), "",
      `${count(efficient.length, "result", "results")}, ${span(efficient.map((r) => r.perWatt), digits, " GFLOPS or GOPS per watt")}`);
  }));
  fusionEnergy(host);
}

// fusionEnergy shows what the fused programs save: joules of a launch, unfused over fused.
function fusionEnergy(host) {
  page.docs.forEach((doc, machine) => doc.devices.forEach((device) => {
    const mine = device.fusion.flatMap((p) => p.shapes.filter((s) => s.energyRatio > 0).map((s) => ({...s, name: p.name})));
    if (!mine.length) return;
    const shown = mine.sort((a, b) => b.energyRatio - a.energyRatio).slice(0, 40);
    panel(host, `Energy saved by fusion · ${machineName(machine, device)}`, () => 96 + 22 * shown.length, (t, width) => saved(t, width, shown),
      mine.length > shown.length ? `The ${shown.length} highest of ${mine.length}.` : "",
      `${count(mine.length, "shape", "shapes")}, ${span(mine.map((s) => s.energyRatio), times, " times the energy when unfused")}`);
  }));
}

function saved(t, width, list) {
  const left = Math.min(260, Math.max(130, width * .45));
  const range = [Math.max(.1, lowest(list.map((s) => s.energyRatio), .8) / 1.15), Math.min(20, highest(list.map((s) => s.energyRatio), 1.3) * 1.15)];
  const clip = (v) => Math.min(range[1], Math.max(range[0], v)), color = (s) => t.verdict[s.verdict] || t.verdict.inconclusive;
  const series = list.filter((s) => s.energyHigh > 0).map((s) => ({type: "line", data: [[clip(s.energyLow), String(list.indexOf(s))], [clip(s.energyHigh), String(list.indexOf(s))]], showSymbol: false, silent: true, animation: false, lineStyle: {color: color(s), width: 1.6, opacity: .7}, tooltip: {show: false}}));
  series.push({type: "scatter", z: 5, symbolSize: 9, data: list.map((s, i) => ({value: [clip(s.energyRatio), String(i)], s, itemStyle: {color: color(s)}})),
    markLine: {silent: true, symbol: "none", animation: false, label: {show: false}, lineStyle: {color: t.soft, type: [4, 4], width: 1}, data: [{xAxis: 1}]}});
  return {animation: false, grid: {left, right: 18, top: 8, bottom: 46},
    tooltip: tooltip(t, {trigger: "item", formatter: (p) => { const s = p.data && p.data.s; return s ? tip(`${s.name} · ${s.shape}`, `${times(s.energyRatio)} times the energy when unfused, 95 % interval ${interval(s.energyLow, s.energyHigh, times)}`, `${digits(s.joules)} J a launch unfused, ${digits(s.fusedJoules)} J fused`, `speed-up ${times(s.speedup)}: ${s.verdict}`) : null; }}),
    xAxis: axis(t, "Energy of a launch (unfused / fused)", 28, {type: "value", min: range[0], max: range[1], axisLabel: {formatter: (v) => "×" + plain(v)}}),
    yAxis: axis(t, "", 0, {type: "category", inverse: true, data: list.map((s, i) => String(i)), axisTick: {show: false}, axisLabel: {interval: 0, hideOverlap: false, width: left - 12, overflow: "truncate", formatter: (i) => `${list[+i].name} ${list[+i].shape}`}}), series};
}

function bars(t, width, list, value, name) {
  const left = Math.min(240, Math.max(110, width * .42));
  const names = list.map((r) => `${r.op} ${r.dtype} ${r.shape.replaceAll(",", " ")}`);
  const top = highest(list.map((r) => r.watts * (1 + meterHalf(r))), 0) * 1.02 || 1;
  const beyond = (r) => value(r) * meterHalf(r) / top * Math.max(50, width - left - 50); // pixels of the whisker outside of its bar
  return {animation: false, grid: {left, right: 50, top: 6, bottom: 46}, tooltip: tooltip(t, {trigger: "item", formatter: (p) => p.data && p.data.row ? tip(`${digits(p.data.row.watts)} W${within(p.data.row)}`, ...describe(p.data.row), `${digits(p.data.row.joules)} J a launch`, p.data.row.perWatt > 0 ? perWatt(p.data.row) : null) : null}),
    xAxis: axis(t, name, 28, {type: "value", min: 0, max: top, axisLabel: {showMaxLabel: false, formatter: plain}}),
    yAxis: axis(t, "", 0, {type: "category", inverse: true, data: names.map((n, i) => String(i)), axisTick: {show: false}, axisLabel: {interval: 0, hideOverlap: false, width: left - 12, overflow: "truncate", formatter: (i) => names[+i]}}),
    series: [whiskers("meter", t.ink, [], {data: list.flatMap((r, i) => meterHalf(r) > 0 ? [[r.watts * (1 - r.energyHalf), String(i)], [r.watts * (1 + r.energyHalf), String(i)], [null, null]] : [])}), {type: "bar", barWidth: 11, data: list.map((r) => ({value: value(r), row: r, itemStyle: {color: t.precision(r.dtype)}, label: {distance: 5 + beyond(r)}})), label: {show: true, position: "right", color: t.soft, fontSize: 11, formatter: (p) => digits(p.value)}}]};
}

// meterHalf is a meter's relative uncertainty; 0 where a whisker cannot show it.
const meterHalf = (r) => r.energyHalf > 0 && r.energyHalf < 1 ? r.energyHalf : 0;
// within is a meter's uncertainty in words.
const within = (r) => r.energyHalf > 0 ? `, ± ${percent(r.energyHalf)} by the meter` : "";

function efficiency(t, list) {
  const dtypes = [...new Set(list.map((r) => r.dtype))].sort((a, b) => precisions.indexOf(a) - precisions.indexOf(b));
  const x = enclose(list.map((r) => r.value), 10), y = enclose(list.map((r) => r.perWatt), 10);
  return {animation: false, grid: {left: 54, right: 16, top: 36, bottom: 48}, legend: legend(t, dtypes.map((d) => ({name: d, icon: "circle"}))),
    tooltip: tooltip(t, {trigger: "item", formatter: (p) => p.data && p.data.row ? tip(perWatt(p.data.row) + within(p.data.row), ...describe(p.data.row), `${digits(p.data.row.watts)} W`) : null}),
    xAxis: axis(t, "Performance (GFLOPS; GOPS for integers)", 28, {type: "log", min: x[0], max: x[1], axisLabel: {formatter: plain}}),
    yAxis: axis(t, "Efficiency (GFLOPS/W; GOPS/W for integers)", 38, {type: "log", min: y[0], max: y[1], axisLabel: {formatter: plain}}),
    series: dtypes.flatMap((d) => [...intervals(d, t.precision(d), list.filter((r) => r.dtype === d && r.energyHalf > 0 && r.energyHalf < 1).map((r) => [r.value, r.perWatt / (1 + r.energyHalf), r.perWatt / (1 - r.energyHalf)]), y[0], y[1]), {name: d, type: "scatter", symbolSize: 9, itemStyle: {color: t.precision(d)}, data: list.filter((r) => r.dtype === d).map((r) => ({value: [r.value, r.perWatt], row: r, itemStyle: r.status === "ok" ? {} : {color: t.panel, borderColor: t.precision(d), borderWidth: 1.7}}))}])};
}
