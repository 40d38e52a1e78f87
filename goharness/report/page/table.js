"use strict";
// The table of results: filters, sorting, and a row's details.

const step = 200;
const columns = [
  {key: "machine", title: "machine", show: (r) => page.docs[r.machine].label, only: page.docs.length > 1},
  {key: "status", title: "status"},
  {key: "suite", title: "suite", low: true},
  {key: "op", title: "op"},
  {key: "shape", title: "shape", show: (r) => r.shape.replaceAll(",", " ")},
  {key: "dtype", title: "precision", wide: true},
  {key: "threads", title: "threads", number: true, low: true},
  {key: "mode", title: "mode", low: true},
  {key: "value", title: "performance", number: true, show: (r) => r.unit ? (r.unit === "×" ? ("×" + times(r.value, 3) + " " + r.verdict).trim() : `${digits(r.value)} ${r.unit}`) : "–", sort: (r) => r.unit ? r.value : null},
  {key: "half", title: "±", number: true, wide: true, show: (r) => !r.unit || !(r.low + r.high > 0) ? "–" : r.half > 1 ? "> 100 %" : percent(r.half), sort: (r) => r.unit && r.low + r.high > 0 ? r.half : null},
  {key: "time", title: "time", number: true, low: true, show: (r) => r.arms || (r.ns > 0 ? duration(r.ns) : "–"), sort: (r) => r.ns > 0 ? r.ns : null},
  {key: "fraction", title: "of ceiling", number: true, show: (r) => r.fraction > 0 ? percent(r.fraction) : "–", sort: (r) => r.fraction > 0 ? r.fraction : null},
  {key: "bound", title: "bound", low: true, show: (r) => r.bound},
  {key: "perWatt", title: "efficiency", number: true, low: true, only: rows.some((r) => r.watts > 0), show: (r) => r.perWatt > 0 ? perWatt(r) : "–", sort: (r) => r.perWatt > 0 ? r.perWatt : null},
  {key: "watts", title: "power", number: true, low: true, only: rows.some((r) => r.watts > 0), show: (r) => r.watts > 0 ? digits(r.watts) + " W" : "–", sort: (r) => r.watts > 0 ? r.watts : null},
  {key: "kernel", title: "kernel", low: true},
].filter((c) => c.only !== false);

const state = {sort: null, descending: false, shown: step, list: []};
const field = (id) => document.getElementById(id);

function startTable() {
  const head = element("tr", {});
  for (const c of columns) {
    const b = element("button", {type: "button"}, c.title);
    const th = element("th", {scope: "col", "data-title": c.title, class: [c.number ? "n" : "", c.low ? "low" : "", c.wide ? "wide" : ""].join(" ").trim()}, b);
    b.addEventListener("click", () => {
      if (state.sort === c) state.descending = !state.descending; else { state.sort = c; state.descending = Boolean(c.number); }
      for (const other of head.children) other.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      state.shown = step;
      showTable();
    });
    head.append(th);
  }
  document.querySelector("#table thead").append(head);
  const options = (id, values, name) => {
    field(id).append(element("option", {value: ""}, "all"), ...values.map((v, i) => element("option", {value: String(v)}, name ? name(v) : v)));
    if (values.length < 2) field(id).parentElement.hidden = true;
  };
  const distinct = (key) => [...new Set(rows.map((r) => r[key]))].filter((v) => v !== "").sort();
  options("by-machine", page.docs.map((d, i) => i), (i) => page.docs[i].label);
  options("by-suite", distinct("suite"));
  options("by-dtype", distinct("dtype").sort((a, b) => precisions.indexOf(a) - precisions.indexOf(b)));
  options("by-status", distinct("status"));
  if (!rows.some((r) => r.probe && r.counts)) field("probes").parentElement.hidden = true;
  for (const id of ["search", "by-machine", "by-suite", "by-dtype", "by-status", "probes"]) field(id).addEventListener("input", () => { state.shown = step; showTable(); });
  field("filters").addEventListener("submit", (e) => e.preventDefault());
  field("more").addEventListener("click", () => { state.shown += 5 * step; showTable(); });
  addEventListener("beforeprint", () => { state.before = state.shown; state.shown = Math.max(state.shown, 2000); showTable(); });
  addEventListener("afterprint", () => { state.shown = state.before; showTable(); });
  showTable();
}

const searched = (r) => (r.text = r.text || `${r.id} ${r.kernel} ${r.suite} ${r.use} ${r.verdict} ${r.bound} ${r.remarks} ${page.docs[r.machine].label}`.toLowerCase());

function filtered() {
  const words = field("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const by = {suite: field("by-suite").value, dtype: field("by-dtype").value, status: field("by-status").value};
  const machine = field("by-machine").value, probes = field("probes").checked;
  const list = rows.filter((r) => (probes || !r.probe || !r.counts) && (machine === "" || r.machine === +machine) &&
    Object.entries(by).every(([k, v]) => v === "" || r[k] === v) && words.every((w) => searched(r).includes(w)));
  const c = state.sort;
  if (c) {
    const value = c.sort || ((r) => c.key === "machine" ? r.machine : r[c.key]);
    const sign = state.descending ? -1 : 1;
    const keyed = list.map((r, i) => [value(r), i, r]);
    keyed.sort((a, b) => { // what is not known comes last either way
      if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null) || a[1] - b[1];
      return sign * (typeof a[0] === "string" ? a[0].localeCompare(b[0], "en", {numeric: true}) : a[0] - b[0]) || a[1] - b[1];
    });
    return keyed.map((k) => k[2]);
  }
  return list;
}

function showTable() {
  state.list = filtered();
  const body = document.querySelector("#table tbody");
  body.replaceChildren(...state.list.slice(0, state.shown).map(rowOf));
  const all = rows.filter((r) => field("probes").checked || !r.probe || !r.counts).length;
  field("count").textContent = state.list.length === all ? `${all} results` : `${state.list.length} of ${all} results`;
  const left = state.list.length - state.shown;
  field("more").hidden = left <= 0;
  field("more").textContent = `Show ${Math.min(left, 5 * step)} more of ${left}`;
}

function rowOf(r) {
  const tr = element("tr", {class: "row" + (r.status === "noisy" ? " is-noisy" : "")});
  for (const c of columns) {
    const text = c.show ? c.show(r) : String(r[c.key]);
    const td = element("td", {class: [c.key, c.number ? "n" : "", c.low ? "low" : "", c.wide ? "wide" : "", c.key === "status" && /^[a-z_]+$/.test(r.status) ? r.status : ""].filter(Boolean).join(" ")});
    if (c.key === "status") td.append(element("button", {type: "button", title: r.remarks || "details", "aria-expanded": "false"}, text));
    else td.append(text);
    if (c.key === "op") td.append(element("small", {class: "phone"}, r.dtype)); // its own column leaves on a phone
    if (c.key === "fraction" && r.fraction > 0) td.append(element("i", {style: `width:${Math.min(100, 100 * r.fraction)}%`}));
    if (c.key === "value" && r.low + r.high > 0) td.title = `95 % interval ${interval(r.low, r.high, shows(r))} ${r.unit}`;
    tr.append(td);
  }
  // What is not plain ok says why without a click.
  if (!r.counts && r.remarks) tr.querySelector("td.shape").append(element("div", {class: "remark"}, r.remarks));
  tr.addEventListener("click", () => { if (!String(getSelection())) toggle(tr, r); });
  return tr;
}

function toggle(tr, r) {
  const open = tr.classList.toggle("open");
  tr.querySelector("button").setAttribute("aria-expanded", String(open));
  if (!open) { tr.nextSibling.remove(); return; }
  const list = element("dl", {});
  const add = (name, text) => { if (text) list.append(element("dt", {}, name), element("dd", {}, text)); };
  add("case", element("code", {}, r.id));
  if (r.reproduce) {
    const copy = element("button", {type: "button"}, "copy");
    copy.addEventListener("click", (e) => {
      e.stopPropagation();
      const done = () => { copy.textContent = "copied"; }, failed = () => { copy.textContent = "select and copy by hand"; };
      if (navigator.clipboard) navigator.clipboard.writeText(r.reproduce).then(done, failed); else failed();
    });
    add("reproduce", element("span", {}, element("code", {class: "reproduce"}, r.reproduce), " ", copy));
  }
  add("remarks", r.remarks ? element("span", {class: "remark"}, r.remarks) : "");
  add("use case", r.use);
  add("kernel", r.kernel);
  if (r.unit) add(r.unit === "×" ? "speed-up" : "performance", `${shows(r)(r.value)} ${r.unit}, 95 % interval ${interval(r.low, r.high, shows(r))}`);
  if (r.ns > 0) add("time", `median ${duration(r.ns)}, 95 % interval ${interval(r.lowNS, r.highNS, duration)}; ${r.spread}`);
  if (r.arms) add("time", r.arms);
  if (r.bytes > 0) add("bytes", `${size(r.bytes)} a launch (modelled)`);
  if (r.intensity > 0) add("intensity", `${digits(r.intensity)} FLOP/byte`);
  if (r.fraction > 0) add("ceiling", `${percent(r.fraction)} of the ${r.bound} limit`);
  if (r.watts > 0) add("energy", `${digits(r.watts)} W, ${digits(r.joules)} J a launch` + (r.perWatt > 0 ? `, ${perWatt(r)}` : "") + within(r));
  add("verified", r.checked);
  add("clocks", r.clocks);
  add("conditions", r.conditions);
  tr.after(element("tr", {class: "more"}, element("td", {colSpan: columns.length}, list)));
}

// showResult opens a result in the table, alone.
function showResult(r) {
  field("search").value = r.id;
  for (const id of ["by-suite", "by-dtype", "by-status"]) field(id).value = "";
  field("by-machine").value = page.docs.length > 1 ? String(r.machine) : "";
  field("probes").checked = Boolean(r.probe);
  state.shown = step;
  showTable();
  const at = state.list.indexOf(r), tr = document.querySelectorAll("#table tbody tr.row")[at];
  if (tr) toggle(tr, r);
  document.getElementById("results").scrollIntoView();
}
