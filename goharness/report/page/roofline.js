"use strict";
// Rooflines: one for each device, all with the same axes, so that machines can be set side by side.

function describe(r) {
  const lines = [`${r.op} ${r.dtype} · ${(r.shape || "no parameters").replaceAll(",", " ")}`, r.kernel ? `kernel ${r.kernel}` : null];
  if (r.unit) lines.push(`${r.unit === "×" ? "speed-up " + times(r.value) : `${digits(r.value)} ${r.unit}`}, 95 % interval ${interval(r.low, r.high, shows(r))}`);
  if (r.fraction > 0) lines.push(`${percent(r.fraction)} of its ceiling (${r.bound || "unknown"}${r.bound === "compute" && r.peak > 0 ? ` ${digits(r.peak)} ${r.unit}` : ""})`);
  lines.push(`${r.arms || duration(r.ns)}, ${r.threads} ${r.threads === 1 ? "thread" : "threads"}, ${r.mode}`);
  lines.push(r.status === "ok" ? "ok" : r.remarks || r.status);
  return lines;
}

// limits gives the common axes of all rooflines.
function rooflineAxes(points) {
  const limits = page.docs.flatMap((d) => d.devices.flatMap((v) => [...v.roof.compute, ...v.roof.memory].map((l) => l)));
  const x = enclose(points.map((r) => r.intensity), 2);
  const computes = page.docs.flatMap((d) => d.devices.flatMap((v) => v.roof.compute.flatMap((l) => [l.value, l.theoretical || 0])));
  // The lowest line of memory should be met by the highest of compute inside the picture.
  for (const d of page.docs) for (const v of d.devices) {
    const top = Math.max(0, ...v.roof.compute.map((l) => l.value)), low = Math.min(...v.roof.memory.map((l) => l.value));
    if (top > 0 && isFinite(low)) x[1] = Math.max(x[1], 2 ** Math.ceil(Math.log2(2 * top / low)));
  }
  const y = enclose([...points.map((r) => r.executed), ...computes.map((v) => 1.15 * v)], 10);
  return {x, y, limits};
}

function rooflines() {
  const host = document.querySelector("[data-chart=roofline]");
  if (!host) return;
  const all = rows.filter((r) => r.intensity > 0 && r.executed > 0);
  const axes = rooflineAxes(all);
  page.docs.forEach((doc, machine) => doc.devices.forEach((device) => {
    const points = all.filter((r) => r.machine === machine && r.device === device.id);
    if (!points.length && !device.roof.compute.length) return;
    const none = rows.filter((r) => r.machine === machine && r.device === device.id && r.counts && !r.probe && !r.intensity && r.unit !== "×").length;
    panel(host, machineName(machine, device), () => small() ? 420 : 520, (t, width) => roofline(t, width, device, points, axes),
      none ? `${points.length} kernels; ${none} results without arithmetic are in the table.` : `${points.length} kernels.`,
      [points.length ? `${count(points.length, "kernel", "kernels")}, ${span(points.map((r) => r.executed), digits, " GFLOPS")} at ${span(points.map((r) => r.intensity), digits, " FLOP per byte")}` : "0 kernels",
        ...device.roof.compute.map((l) => `ceiling of ${l.name} ${digits(l.value)} ${l.unit}`), ...device.roof.memory.map((l) => `ceiling of ${l.name} ${digits(l.value)} ${l.unit}`)].join("; "));
  }));
}

// sameHeight joins ceilings of the same value into one line, lowest first.
function sameHeight(list) {
  const out = [];
  for (const l of [...list].sort((a, b) => a.value - b.value)) {
    const last = out[out.length - 1];
    if (last && last.value === l.value) { last.names.push(l.name); last.list.push(l); } else out.push({...l, names: [l.name], list: [l]});
  }
  return out;
}

function roofline(t, width, device, points, axes) {
  const narrow = width < 520;
  const grid = {left: narrow ? 46 : 58, right: narrow ? 12 : 18, top: narrow ? 62 : 44, bottom: 48};
  const height = (small() ? 420 : 520) - grid.top - grid.bottom, wide = Math.max(100, width - grid.left - grid.right);
  const [xLow, xHigh] = axes.x, [yLow, yHigh] = axes.y;
  const series = [];
  const dtypes = [...new Set(points.map((r) => r.dtype))].sort((a, b) => precisions.indexOf(a) - precisions.indexOf(b));
  for (const d of dtypes) {
    const color = t.precision(d), mine = points.filter((r) => r.dtype === d);
    series.push(...intervals(d, color, mine.filter((r) => r.ns > 0).map((r) => [r.intensity, r.highNS > 0 ? r.executed * r.ns / r.highNS : 0, r.lowNS > 0 ? r.executed * r.ns / r.lowNS : 0]), yLow, yHigh, {lineStyle: {color, width: 1.2, opacity: .45}}));
    series.push({name: d, type: "scatter", symbolSize: 9, z: 5, itemStyle: {color, borderColor: color, borderWidth: 1.5}, emphasis: {scale: 1.4},
      data: mine.map((r) => ({value: [r.intensity, r.executed], row: r, symbol: r.threads < device.roof.threads ? "diamond" : "circle", itemStyle: r.status === "ok" ? {color} : {color: t.panel, borderColor: color, borderWidth: 1.7}}))});
  }
  const top = Math.max(yLow, ...device.roof.compute.map((l) => l.value));
  const bandwidth = Math.max(0, ...device.roof.memory.map((l) => l.value));
  const line = (data, color, dashed, label) => ({type: "line", name: "ceilings", data, symbol: "none", showSymbol: false, silent: !label, z: dashed ? 1 : 2, animation: false, lineStyle: {color, width: dashed ? 1 : 1.7, type: dashed ? [4, 4] : "solid", opacity: dashed ? .6 : .9}, itemStyle: {color}});
  const labels = [];
  const label = (x, y, text, color, rotate, align, lines) => labels.push({value: [x, y], lines, label: {show: true, formatter: () => text, color, fontSize: 11, fontWeight: 600, rotate, position: "inside", align, verticalAlign: "bottom", backgroundColor: t.panel, padding: [1, 3], borderRadius: 3, offset: [0, rotate ? -1 : -3], opacity: 1}});
  // Memory: slopes up to the highest compute ceiling. Their labels stand at different places along the lines, each at the first where it
  // covers none before it: lines may be closer than a label is high.
  const angle = Math.atan2(height / Math.log(yHigh / yLow), wide / Math.log(xHigh / xLow)) * 180 / Math.PI;
  const places = [.62, .34, .12, .3, .5, .8], across = wide / Math.log(xHigh / xLow), up = height / Math.log(yHigh / yLow), taken = [];
  const turn = [Math.cos(angle * Math.PI / 180), Math.sin(angle * Math.PI / 180)];
  device.roof.memory.forEach((l, i) => {
    const end = Math.min(xHigh, top / l.value), start = Math.max(xLow, yLow / l.value);
    if (end <= start) return;
    series.push(line([[start, start * l.value], [end, end * l.value]], t.soft, false));
    const text = narrow ? l.name : `${l.name} ${digits(l.value)} GB/s`;
    // Boxes in pixels along the lines and across them.
    const boxes = places.map((_, n) => places[(i + n) % places.length]).map((p) => {
      const at = start * (end / start) ** p, x = Math.log(at) * across, y = Math.log(at * l.value) * up;
      return {at, along: x * turn[0] + y * turn[1], beside: y * turn[0] - x * turn[1], half: text.length * 3.5 + 4};
    });
    const box = boxes.find((b) => taken.every((o) => Math.abs(b.along - o.along) > b.half + o.half || Math.abs(b.beside - o.beside) > 17)) || boxes[0], at = box.at;
    taken.push(box);
    label(at, at * l.value, text, t.ink, angle, "center", [`${l.name}: ${digits(l.value)} ${l.unit} measured (${l.detail})`, l.theoretical ? `theoretical ${digits(l.theoretical)} ${l.unit}` : "no theoretical value"]);
    if (l.theoretical && l.theoretical < 4 * l.value) {
      const e = Math.min(xHigh, top / l.theoretical), s = Math.max(xLow, yLow / l.theoretical);
      if (e > s) series.push(line([[s, s * l.theoretical], [e, e * l.theoretical]], t.soft, true));
    }
  });
  // Compute: from where the fastest memory meets it to the right. Close ones share the row: their labels stand side by side.
  let lastY = 0, right = xHigh;
  sameHeight(device.roof.compute).forEach((l) => {
    const start = bandwidth > 0 ? Math.max(xLow, l.value / bandwidth) : xLow, color = t.precision(l.name);
    series.push(line([[start, l.value], [xHigh, l.value]], color, false));
    if (l.theoretical && l.theoretical < 4 * l.value && l.theoretical > l.value / 1.02) series.push(line([[start, l.theoretical], [xHigh, l.theoretical]], color, true));
    const text = `${l.names.join(", ")} ${digits(l.value)}`, near = lastY > 0 && Math.log(l.value / lastY) / Math.log(yHigh / yLow) * height < 17;
    right = near ? right / Math.exp((text.length * 7 + 14) / wide * Math.log(xHigh / xLow)) : xHigh;
    lastY = near ? lastY : l.value;
    label(right, l.value, text, color, 0, "right", [...l.list.map((m) => `${m.name}: ${digits(m.value)} ${m.unit} measured (${m.detail})`), l.theoretical ? `theoretical ${digits(l.theoretical)} ${l.unit}` : "no theoretical value"]);
  });
  series.push({type: "scatter", name: "ceilings", symbolSize: 8, itemStyle: {opacity: 0}, data: labels, z: 4, animation: false, cursor: "default"});
  return {animation: false, grid, legend: legend(t, dtypes.map((d) => ({name: d, icon: "circle"}))),
    tooltip: tooltip(t, {trigger: "item", formatter: (p) => p.data.row ? tip(p.data.row.use || p.data.row.op, ...describe(p.data.row), `${digits(p.data.value[0])} FLOP/byte${p.data.row.unit && Math.abs(p.data.row.value / p.data.value[1] - 1) > .01 && /OPS/.test(p.data.row.unit) ? `; executes ${digits(p.data.value[1])} ${p.data.row.unit}: its algorithm needs fewer operations than are counted` : ""}`) : p.data.lines ? tip("Ceiling", ...p.data.lines) : null}),
    xAxis: axis(t, "Arithmetic intensity (FLOP/byte)", 28, {type: "log", logBase: 2, min: xLow, max: xHigh, axisLabel: {formatter: plain}}),
    yAxis: axis(t, "Performance (GFLOPS; GOPS for integers)", narrow ? 32 : 42, {type: "log", min: yLow, max: yHigh, axisLabel: {formatter: plain}}), series};
}
