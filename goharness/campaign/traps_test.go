package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// traps ties the traps that others fell into and that a CPU run can fall into to the tests
// that hold them. Paths are relative to the module's root.
var traps = []struct {
	trap  string
	tests map[string][]string // directory → tests
}{
	{"1: a transpose that is only a view, results above their limit", map[string][]string{
		"goharness/campaign": {"TestATransposeThatIsOnlyAViewIsWrongAndNeverTimed", "TestResultsAboveTheirLimitAreInvalidAfterTheProbeWasRepeated"},
		"goharness/ceiling":  {"TestTheGateRefusesOnlyTheImpossible", "TestRejectedResultsAreNeverCounted"}}},
	{"2: cached sizes reported as DRAM", map[string][]string{
		"goharness/ceiling":  {"TestDRAMStartsAtFourTimesTheLastLevelCache", "TestTheFractionStaysBelowOneThroughTheTransition"},
		"goharness/campaign": {"TestALastCacheOfUnknownSizeLeavesNoLevelKnown"},
		"goharness/plan":     {"TestDRAMIsProbedFromFourTimesTheLastLevelCache"}}},
	{"3: fused and unfused run the same code, trivial batch norm", map[string][]string{
		"goharness/campaign": {"TestAWrongFoldOfBatchNormIsFound"},
		"goharness/op":       {"TestFoldBatchNormGivesTheSameAsNormalizingAfterTheConvolution"}}},
	{"4: unfused always before fused", map[string][]string{
		"goharness/measure": {"TestQuartetsRunABBAEachSampleAfterALaunchOfItsArm"},
		"goharness/runner":  {"TestTwoArmsAreComparedInQuartets"}}},
	{"5: a second size under the same key", map[string][]string{
		"goharness/plan":   {"TestTwoSizesAreTwoCases", "TestIdsAreUniqueCanonicalAndGiveTheirCaseBack", "TestOneCaseHasOneId"},
		"goharness/record": {"TestJournalHoldsOneResultPerCaseUnlessMeasuredAgain"}}},
	{"6: energy with the warm-up, of one package, without wraps, zeros as data", map[string][]string{
		"goharness/campaign": {"TestEnergyGoesFromTheMeterIntoTheDocument", "TestAMeterThatFailsNeverStopsARunNorGivesANumber"},
		"goharness/power":    {"TestAWindowAddsTheDomainsOfADeviceAcrossWraps", "TestAPackageWhoseCounterFailsIsNotLeftOutOfTheTotal", "TestASensorThatNeverChangesGivesNoEnergy"}}},
	{"7: the worker's start counted in the deadline", map[string][]string{
		"goharness/campaign": {"TestTheStartOfTheWorkerIsNotInTheDeadline"}}},
	{"8: kHz read as MHz, base clock as denominator, typed-in peaks", map[string][]string{
		"goharness/machine": {"TestFrequencyUnits", "TestEveryTableFigureHasASource", "TestEveryClassOfCoresHasItsPublishedFigures"},
		"goharness/ceiling": {"TestTheoryUsesTheClockUnderLoad", "TestEveryGapHasItsDiagnosis", "TestPeaksOfTheUserAndTheoryNeverJudge", "TestRowsOfGPUsGiveTheirPublishedPeaks"}}},
	{"9: configurations side by side on one device", map[string][]string{
		"goharness/campaign": {"TestASecondRunOnTheSameDeviceIsRefused", "TestCasesNeverOverlapInTime"}}},
	{"10: folded accumulators, dead chains", map[string][]string{
		"goharness/campaign": {"TestAPeakThatRunsAQuarterOfItsInstructionsIsNoCeiling"},
		"goharness/ceiling":  {"TestOddRatiosBetweenPrecisionsAreNamed"},
		"native/probe":       {"TestPeaksExecuteExactlyTheDeclaredInstructions", "TestPeaksThatLeaveInstructionsOutAreRefused"}}},
	{"11: single-core boost, misaligned buffers, first touch", map[string][]string{
		"goharness/campaign": {"TestTimedWindowsHaveAlignedBuffersAndNoPageFaults"},
		"goharness/plan":     {"TestProbesLoadEveryThread"}}},
	{"12: a mean without its spread, verdicts inside the noise", map[string][]string{
		"goharness/campaign": {"TestConditionsAreNeverBlank"},
		"goharness/measure":  {"TestVerdictNeedsTheWholeIntervalBetweenItsCuts", "TestQuartetsRunABBAEachSampleAfterALaunchOfItsArm"}}},
	{"14: RAPL's zones counted twice, wraps, files of root", map[string][]string{
		"goharness/power": {"TestPowercapFindsEveryPackageOnceAndKeepsTheBoardApart", "TestWrapsAreUndoneWhateverTheCounter"}}},
	{"16: host cores in a container with a quota", map[string][]string{
		"goharness/campaign": {"TestThreadsAreAsManyAsTheLimitsLeave"},
		"goharness/machine":  {"TestThreadsAreTheLeastOfAllLimits", "TestNestedV1QuotaInsideAContainer", "TestQuotasOfTheUnifiedHierarchy"}}},
	{"18: the clock read before the load", map[string][]string{
		"goharness/campaign": {"TestConditionsAreNeverBlank", "TestATinyCampaignOnThisMachine"},
		"goharness/ceiling":  {"TestTheoryUsesTheClockUnderLoad"}}},
	{"19: a masked CPU identity", map[string][]string{
		"goharness/campaign": {"TestTheFormulasKnowSharedCoresQuotaAndMaskedIdentity"},
		"goharness/machine":  {"TestFeaturesOverruleTheModelNumber", "TestMaskedFeaturesAreNamed", "TestAVX512UnderTheNumberOfAnAtomIsContradictory"},
		"goharness/ceiling":  {"TestEveryGapHasItsDiagnosis"}}},
	{"20: background work in the same scheduling group", map[string][]string{
		"cmd/ridge": {"TestTheWorkerHasASessionOfItsOwnAndSaysItsPriority"}}},
	{"21: neighbours take arithmetic slots and cache", map[string][]string{
		"goharness/campaign": {"TestResultsAboveTheirLimitAreInvalidAfterTheProbeWasRepeated", "TestMainProbesAreRepeatedNextToTheCasesTheyJudge"},
		"goharness/ceiling":  {"TestTheBestProbeIsTheCeilingAndEveryProbeIsKept", "TestNeighboursShowInTheSpreadOfTheProbes"}}},
	{"22: page faults of fresh buffers", map[string][]string{
		"goharness/campaign": {"TestTimedWindowsHaveAlignedBuffersAndNoPageFaults"}}},
	{"23: a clock chain that folds at rename", map[string][]string{
		"goharness/op": {"TestClockResultIsWhereTheChainOfEachArchitectureEnds"},
		"native/probe": {"TestClockAndDispatchProveThatTheyRan"}}},
}

func TestEveryTrapIsHeldByTestsThatExist(t *testing.T) {
	for _, x := range traps {
		for dir, names := range x.tests {
			files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: tests in %s: %v %v", x.trap, dir, files, err)
			}
			var source strings.Builder
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				source.Write(b)
			}
			for _, name := range names {
				if !strings.Contains(source.String(), "func "+name+"(t *testing.T)") {
					t.Errorf("trap %s: %s has no %s", x.trap, dir, name)
				}
			}
		}
	}
}
