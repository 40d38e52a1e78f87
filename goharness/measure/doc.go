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
// Coverage of the process's median, measured with the simulated noise of this package
// (SelfTest prints the same table; 1 % noise, ±0.5 % or quick ±2 % asked for): see the
// package's README-free table in TestIntervalCoversTheTruth's limits; every kind is at or
// above 90 % at fixed n = 10, 20, 40, 160 and where the rule stops.
//
// No rule can see noise slower than the measurement: a level that holds for longer than all
// samples together is taken for the truth. Compare cancels such levels; Run cannot, and
// SelfTest shows that row without judging it.
package measure
