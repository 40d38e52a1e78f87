//go:build race

package main

// raceEnabled: the race detector watches this test, and makes it ten times as slow. Tests that compute one thing after the other, with
// no goroutine that ridge starts, show it nothing and are left to the runs without it.
const raceEnabled = true
