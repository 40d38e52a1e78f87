// Package measure times programs: the sampling loop with its warm-up and stop rule, the
// statistics of the samples, the interleaved comparison of two programs, the sustain phase
// for energy, and a self-test against noise whose truth is known.
//
// # Interval of the median
//
// The reported interval is the exact binomial order-statistic interval of the median for
// n_eff = n·(1−ρ₁)/(1+ρ₁) independent samples, ρ₁ being the lag-1 autocorrelation. That
// formula alone misses the truth too often when n is small or the noise is slow, so it is
// corrected in four ways:
//
//   - ρ₁ is corrected for its bias of −(1+3ρ)/n, clipped to [0, 0.99], and one standard error
//     is added.
//   - n_eff is the least of what the values, their ranks, and the ranks averaged over blocks
//     of 2, 4, 8, … samples give (at least 10 blocks).
//   - When n_eff supports no order-statistic interval (below 6 at 95 %), the interval is
//     [min, max] widened to Student's t interval for n_eff samples.
//   - The stop rule looks several times and takes the first narrow interval. Look k = 1, 2, …
//     uses the level 1 − 0.05/k, and the interval reported is the one that was looked at.
//
// Coverage of the process's median in percent, simulated: 2,000 trials of SelfTest, in
// brackets 1,000 of the formula alone. "Quick" and "stop" are where the stop rule ends for ±2 %
// and ±0.5 % on noise of 1 % (0.2 % in the second row).
//
//	noise               n = 10        n = 40        quick         stop
//	iid                 100.0 (98.7)  99.7 (97.3)   100.0 (98.6)  99.9 (95.7)
//	iid, small          100.0 (98.7)  99.7 (97.3)   100.0 (98.6)  100.0 (98.7)
//	AR(1) 0.5           99.6 (92.6)   99.2 (96.4)   99.6 (91.8)   99.7 (92.4)
//	AR(1) 0.9           96.5 (62.8)   98.5 (89.3)   95.2 (72.6)   97.8 (81.7)
//	steps, dwell 8      94.9 (84.4)   94.4 (86.1)   96.1 (82.6)   96.5 (80.7)
//	steal bursts        99.9 (97.5)   99.4 (97.5)   100.0 (98.2)  99.9 (94.6)
//	AR(1) 0.9 + bursts  97.5 (62.2)   98.5 (71.2)   95.2 (58.7)   98.7 (53.1)
//
// The price is that independent noise gets a wider interval than it needs, and so about two
// to three times as many samples.
//
// No rule can see noise slower than the measurement: a level that holds for longer than all
// samples together is taken for the truth (steps of dwell 300: 39 % where the rule stops).
// Compare cancels such levels; Run cannot, and SelfTest shows that row without judging it.
//
// # Interval of a ratio
//
// Quartets cancel what neighbouring samples share: on a shared host the lag-1 autocorrelation of their ratios was 0.03 on
// average over 80 comparisons. SummarizeQuartets counts the quieter half of them and only believes a correlation beyond its
// standard error. Share of intervals at 99.2 %, the level of one of six looks, that miss the true ratio, and their median half
// width, 2,000 trials:
//
//	noise               8 quartets      16              32              64
//	iid 1 %             0.8 %, ±1.6 %   0.7 %, ±1.6 %   0.5 %, ±0.8 %   0.5 %, ±0.5 %
//	AR(1) 0.9           0.4 %, ±0.7 %   0.6 %, ±0.7 %   0.6 %, ±0.4 %   0.7 %, ±0.2 %
//	steps, dwell 8      0.7 %, ±2.0 %   0.4 %, ±1.7 %   0.8 %, ±0.8 %   0.7 %, ±0.6 %
//	steal bursts        0.4 %, ±12 %    0.8 %, ±1.6 %   0.6 %, ±0.8 %   0.5 %, ±0.5 %
//	AR(1) 0.9 + bursts  0.2 %, ±6.6 %   0.5 %, ±0.7 %   0.3 %, ±0.4 %   0.6 %, ±0.2 %
//
// Several visits to a comparison are pooled otherwise (Pool): undisturbed times, the fastest third of either arm's samples, and the
// visits' own ratios for the variance. Share of intervals at 98.8 % that hold the truth, and their mean half width, 2,000 trials:
//
//	noise                       2 visits of 4    2 of 8           3 of 8           4 of 4
//	normal 2 %                  99.2 %, ±3.2 %   99.8 %, ±2.4 %   99.5 %, ±1.8 %   99.2 %, ±2.1 %
//	exponential 8 %             98.9 %, ±4.2 %   99.6 %, ±2.8 %   99.7 %, ±2.2 %   99.2 %, ±2.7 %
//	AR(1) 3 %, 0.6, levels ½ %  98.4 %, ±3.7 %   99.0 %, ±2.8 %   98.3 %, ±2.2 %   99.0 %, ±2.5 %
//	normal 1 %, levels 1.5 %    92.2 %, ±2.7 %   90.7 %, ±2.4 %   92.8 %, ±2.3 %   93.5 %, ±2.3 %
//
// All quartets with the plain median and its order statistics had ±7.5 % at 16 and ±1.3 % at 32 under steal bursts.
package measure
