//go:build cgo && linux

package campaign_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"slices"

	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/machine"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
	"ridge/goharness/runner"
	"ridge/native"
)

// silent is a View that shows nothing.
type silent struct{}

func (silent) Plan(probes, cases int) {}
func (silent) Round(n, cases int)     {}
func (silent) Started(record.Case)    {}
func (silent) Result(record.Result)   {}
func (silent) Warn(string, ...any)    {}

// server is the measured side. A program that must survive a crashing kernel starts it as a
// process of its own (runner.Process); here it runs in this one.
func server(ops *op.Registry) *runner.Server {
	return &runner.Server{Backends: []backend.Backend{native.New()}, Ops: ops, Host: campaign.NewWorkerHost(machine.Source{})}
}

// A campaign goes from cases to a document. Here it has two cases of its own and measures
// no ceilings; without Cases and NoProbes it would probe the machine and run the suites.
func Example_calibration() {
	ops := op.Builtin()
	var cases []record.Case
	for _, id := range []string{
		"cpu/gemm/fp32/m=32,n=32,k=32/threads=1/hot",
		"cpu/copy/fp32/rows=64,cols=64/threads=1/hot",
	} {
		k, err := plan.FromID(ops, id)
		if err != nil {
			log.Fatal(err)
		}
		k.Warmup, k.Trials = 1, 5 // fixed counts in place of the stop rule
		cases = append(cases, k)
	}
	doc, err := campaign.Run(context.Background(), campaign.Config{
		Plan:  plan.Options{Device: "cpu", Ops: ops, Threads: 1, ProbesOnly: true},
		Cases: cases, NoProbes: true, SkipPreflight: true,
		Launch: runner.InProcess(server(ops)), View: silent{},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range doc.Results {
		fmt.Println(r.ID, r.Status, "verified:", r.Verification.Passed)
	}
	fmt.Println("complete:", doc.Summary.Complete)
	// Output:
	// cpu/gemm/fp32/m=32,n=32,k=32/threads=1/hot ok verified: true
	// cpu/copy/fp32/rows=64,cols=64/threads=1/hot ok verified: true
	// complete: true
}

// One component is timed by asking the runner one case: here the portable kernel of gemm.
func Example_oneKernel() {
	ops := op.Builtin()
	r := &runner.Runner{Launch: runner.InProcess(server(ops))}
	defer r.Close()
	k, err := plan.FromID(ops, "cpu/gemm/fp32/m=32,n=32,k=32/threads=1/hot@gemm_fp32_portable")
	if err != nil {
		log.Fatal(err)
	}
	k.Warmup, k.Trials = 1, 5
	res, err := r.Run(context.Background(), k)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Kernel, res.Status, res.Verification.Passed)
	fmt.Println(len(res.Time.SamplesNS), "samples, median above zero:", res.Time.MedianNS > 0)
	// Output:
	// gemm_fp32_portable ok true
	// 5 samples, median above zero: true
}

// Two kernels are compared in quartets A B B A: one ratio per quartet, so that drift of the
// machine cancels. The verdict is given only when the ratio's interval clears a cut-off.
func Example_compareTwoKernels() {
	ops := op.Builtin()
	r := &runner.Runner{Launch: runner.InProcess(server(ops))}
	defer r.Close()
	k, err := plan.FromID(ops, "cpu/gemm/fp32/m=32,n=32,k=32/threads=1/hot")
	if err != nil {
		log.Fatal(err)
	}
	portable, best := k.Program, k.Program
	portable.Name, portable.Kernel = "portable", "gemm_fp32_portable"
	best.Name = "preferred" // no kernel is forced: the platform's choice
	k.Arms, k.Quick, k.BudgetNS = []record.ProgramRef{portable, best}, true, 50e6
	res, err := r.Run(context.Background(), k)
	if err != nil {
		log.Fatal(err)
	}
	verdict := measure.Decide(*res.Ratio, []measure.Cut{{From: 1.1, Class: "faster"}, {From: 0.95, Class: "about equal"}}, "slower")
	// With fewer than measure.MinQuartets quartets, as on a machine too busy for the budget,
	// the verdict is inconclusive.
	fmt.Println(res.Arms[0].Name, res.Arms[1].Name, "were compared:", len(res.Ratio.Quartets) > 0)
	known := []string{"faster", "about equal", "slower", measure.Inconclusive}
	fmt.Println("the verdict is a class or inconclusive:", slices.Contains(known, verdict.Class))
	// Output:
	// portable preferred were compared: true
	// the verdict is a class or inconclusive: true
}

// Results are read from a document. ReadCalibration validates it against the schema; only
// results whose status counts carry figures that may be compared.
func Example_readADocument() {
	file, err := record.EncodeCalibration(recordtest.Sample())
	if err != nil {
		log.Fatal(err)
	}
	doc, err := record.ReadCalibration(bytes.NewReader(file))
	if err != nil {
		log.Fatal(err)
	}
	for _, status := range []record.Status{record.OK, record.Wrong, record.Unsupported} {
		for _, r := range doc.Results {
			if r.Status == status {
				fmt.Println(status, "counts:", status.Counts(), "timed:", r.Time != nil, "reason given:", r.Reason != "")
				break
			}
		}
	}
	// Output:
	// ok counts: true timed: true reason given: false
	// wrong counts: false timed: false reason given: true
	// unsupported counts: false timed: false reason given: true
}
