"use strict";
rooflines();
memoryCharts();
gemmCharts();
fusionCharts();
energyCharts();
for (const c of charts) seen.observe(c.box);
startTable();
document.documentElement.dataset.ready = "yes";
