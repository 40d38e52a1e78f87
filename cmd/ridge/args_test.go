package main

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

func testCommands() []*cli.Command {
	out := []*cli.Command{benchCommand(), listCommand()}
	for _, c := range out {
		c.Flags = append(c.Flags, commonFlags()...) // as run does
	}
	return out
}

func TestFlagsMayStandBehindArguments(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"ridge bench gemm --m 512", "ridge bench --m 512 -- gemm"},
		{"ridge bench --m 512 gemm --quick", "ridge bench --m 512 --quick -- gemm"},
		{"ridge bench --quick gemm conv2d", "ridge bench --quick -- gemm conv2d"},
		{"ridge bench --m=512 gemm", "ridge bench --m=512 -- gemm"},
		{"ridge bench gemm -- --quick", "ridge bench -- gemm --quick"},
		{"ridge bench gemm --case", "ridge bench --case"},
		{"ridge bench --quick", "ridge bench --quick"},
		{"ridge bench gemm -h", "ridge bench --help"},
		{"ridge --data-dir list bench gemm --quick", "ridge bench --data-dir list --quick -- gemm"},
		{"ridge --json list kernels --all", "ridge list --json --all -- kernels"},
		{"ridge --quiet --data-dir=d --json bench gemm", "ridge bench --quiet --data-dir=d --json -- gemm"},
		{"ridge --help list", "ridge --help list"},
		{"ridge --frobnicate --json list ops", "ridge --frobnicate list --json -- ops"},
		{"ridge nothing --m 5", "ridge nothing --m 5"},
		{"ridge list -", "ridge list -- -"},
		{"ridge", "ridge"},
	} {
		if got := flagsFirst(commonFlags(), testCommands(), strings.Fields(tc.in)); strings.Join(got, " ") != tc.want {
			t.Errorf("%q: got %q, want %q", tc.in, strings.Join(got, " "), tc.want)
		}
	}
}

// A case that is named by its id is given the time that the suites give it.
func TestACaseByItsIdHasTheBudgetOfThePlan(t *testing.T) {
	cfg := campaign.Config{Plan: plan.Options{Device: "cpu", Threads: 1, Ops: op.Builtin(), Operations: []string{"gemm"}, Precisions: []record.DType{record.FP32}}}
	p, err := plan.Build(cfg.Plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range p.Cases {
		set := flag.NewFlagSet("bench", flag.ContinueOnError)
		for _, f := range benchCommand().Flags {
			if err := f.Apply(set); err != nil {
				t.Fatal(err)
			}
		}
		if err := set.Parse([]string{"--case", want.ID}); err != nil {
			t.Fatal(err)
		}
		got, err := benchCases(cli.NewContext(cli.NewApp(), set, nil), &cfg)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].ID != want.ID || got[0].BudgetNS != want.BudgetNS {
			t.Errorf("%s: %+v, want the budget %d", want.ID, got, want.BudgetNS)
		}
	}
}

// Reordering loses no word, except those beside a flag whose value is missing or a call for
// help, and reordering again changes nothing.
func FuzzFlagsFirst(f *testing.F) {
	for _, s := range []string{"bench gemm --m 512", "bench -- -- --", "--data-dir bench list -", "bench --m", "list - --all -h", "bench --=x ---"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in := append([]string{"ridge"}, strings.Split(s, " ")...)
		out := flagsFirst(commonFlags(), testCommands(), slices.Clone(in))
		if again := flagsFirst(commonFlags(), testCommands(), slices.Clone(out)); !slices.Equal(again, out) {
			t.Fatalf("%q: first %q, then %q", in, out, again)
		}
		if len(out) < len(in) || slices.Contains(out, "--help") {
			return // help (-h and -help become --help), or a value is missing: nothing is run
		}
		count := func(list []string) map[string]int {
			n := map[string]int{}
			for _, w := range list {
				if w != "--" {
					n[w]++
				}
			}
			return n
		}
		want, got := count(in), count(out)
		for w, n := range want {
			if got[w] != n {
				t.Fatalf("%q became %q: %q is there %d times, was %d times", in, out, w, got[w], n)
			}
		}
	})
}

// A case id from the command line never panics, and one that is taken names its case.
func FuzzCaseFromID(f *testing.F) {
	for _, s := range []string{
		"cpu/gemm/fp32/m=64,n=64,k=64/threads=1/hot", "cpu/dispatch/fp64/-/threads=2/hot@dispatch_portable",
		"cuda:0/conv2d/int8/n=1,c=8,h=8,w=8,k=8/threads=0/cold", "cpu/gemm/fp32/m=9223372036854775807,n=2,k=2/threads=1/hot",
		"cpu/chase/int64/bytes=64,steps=0/threads=1/hot", "/////", "cpu/gemm/fp32/m=064,n=64,k=64/threads=1/hot",
	} {
		f.Add(s)
	}
	ops := op.Builtin()
	f.Fuzz(func(t *testing.T, s string) {
		k, err := plan.FromID(ops, s)
		if err != nil {
			if strings.ContainsRune(oneLine(err.Error()), '\n') {
				t.Fatalf("%q: the error has several lines", s)
			}
			return
		}
		id, err := record.ParseCaseID(k.ID)
		if err != nil {
			t.Fatalf("%q became %q: %v", s, k.ID, err)
		}
		again, err := plan.FromID(ops, id.String())
		if err != nil || again.ID != k.ID {
			t.Fatalf("%q became %q and then %q: %v", s, k.ID, again.ID, err)
		}
	})
}
