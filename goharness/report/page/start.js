"use strict";
rooflines();
memoryCharts();
gemmCharts();
fusionCharts();
energyCharts();
for (const c of charts) seen.observe(c.box);
startTable();
document.documentElement.dataset.ready = "yes";
// The rest is drawn when the browser has nothing else to do: who photographs a whole page gets its charts without scrolling. Those of many
// machines wait, for phones have little memory for canvases.
const idle = window.requestIdleCallback || ((then) => setTimeout(then, 50));
idle(function next() {
  const c = charts.length <= 40 && charts.find((c) => !c.instance);
  if (c) {
    draw(c);
    idle(next);
  }
});
