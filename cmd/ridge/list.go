package main

import (
	"fmt"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"ridge/docs/benchmarks"
	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/fusion"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list kernels, ops, cases, devices or fusion patterns", ArgsUsage: "kernels|ops|cases|devices|patterns",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quick", Usage: "cases of the quick run"},
			&cli.BoolFlag{Name: "all", Usage: "kernels: those too that only tests use, in a build that has them (go build; make build leaves them out)"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return fmt.Errorf("list: expected one of kernels, ops, cases, devices, patterns")
			}
			switch what := c.Args().First(); what {
			case "kernels":
				return listKernels(c)
			case "ops":
				return listOps(c)
			case "cases":
				return listCases(c)
			case "devices":
				return listDevices(c)
			case "patterns":
				return listPatterns(c)
			default:
				return fmt.Errorf("list %q: expected one of kernels, ops, cases, devices, patterns", what)
			}
		},
	}
}

func listKernels(c *cli.Context) error {
	type entry struct {
		Name       string   `json:"name"`
		Ops        []string `json:"ops"`
		DType      string   `json:"dtype"`
		Acc        string   `json:"accumulate"`
		ISA        []string `json:"isa"`
		Runnable   bool     `json:"runnable"`
		Reason     string   `json:"reason,omitempty"`
		VerifiedOn []string `json:"verified_on"`
	}
	var out []*entry
	at := map[string]*entry{}
	for _, b := range backends() {
		for _, k := range b.Kernels() {
			if !c.Bool("all") && strings.HasSuffix(k.Name, "_model") {
				continue
			}
			e := at[b.Name()+k.Name]
			if e == nil {
				e = &entry{Name: k.Name, DType: string(k.DType), Acc: string(k.Accumulate), ISA: k.ISA, Runnable: k.Available == nil, VerifiedOn: verifiedOn(k)}
				if k.Available != nil {
					e.Reason = k.Available.Error()
				}
				at[b.Name()+k.Name] = e
				out = append(out, e)
			}
			e.Ops = append(e.Ops, k.Op)
		}
	}
	if c.Bool("json") {
		return writeJSON(c, out)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kernel\tops\tdtype\taccumulate\tneeds\there\tverified on")
	for _, e := range out {
		here := "yes"
		if !e.Runnable {
			here = "no: " + e.Reason
		}
		need := runner.ISATag(e.ISA) // the JSON list has every feature
		on := strings.Join(e.VerifiedOn, ", ")
		if on == "" {
			on = "no chip yet"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Name, strings.Join(e.Ops, " "), e.DType, e.Acc, need, here, on)
	}
	return w.Flush()
}

// verifiedOn names the chips whose committed benchmark documents hold a verified result of
// the kernel; empty where nobody measured it.
func verifiedOn(k backend.KernelInfo) []string {
	return append([]string{}, benchmarks.VerifiedOn(k.Name)...)
}

func listOps(c *cli.Context) error {
	if c.Bool("json") {
		type param struct {
			Name    string   `json:"name"`
			Doc     string   `json:"doc"`
			Default string   `json:"default,omitempty"`
			OneOf   []string `json:"one_of,omitempty"`
			Min     int64    `json:"min"`
			Max     int64    `json:"max"`
		}
		type entry struct {
			Name       string         `json:"name"`
			Family     string         `json:"family"`
			Suite      string         `json:"suite"`
			Item       string         `json:"item"`
			Metric     string         `json:"metric"`
			Doc        string         `json:"doc"`
			Params     []param        `json:"params"`
			Precisions []record.DType `json:"precisions"`
		}
		out := []entry{}
		for _, s := range op.Builtin().Specs() {
			e := entry{s.Name, s.Family, s.Suite, s.Item, s.Metric, s.Doc, []param{}, s.DTypes}
			for _, p := range s.Params {
				e.Params = append(e.Params, param{p.Name, p.Doc, p.Default, p.Enum, p.Min, p.Max})
			}
			out = append(out, e)
		}
		return writeJSON(c, out)
	}
	for _, s := range op.Builtin().Specs() {
		var ps, ds []string
		for _, p := range s.Params {
			name := p.Name
			if p.Default != "" {
				name += "=" + p.Default
			}
			ps = append(ps, name)
		}
		for _, d := range s.DTypes {
			ds = append(ds, string(d))
		}
		params := strings.Join(ps, " ")
		if params == "" {
			params = "none"
		}
		if _, err := fmt.Fprintf(c.App.Writer, "%s\n    %s\n    precisions: %s; one item is one %s\n    parameters: %s\n",
			s.Name, s.Doc, strings.Join(ds, " "), s.Item, params); err != nil {
			return err
		}
	}
	return nil
}

func listCases(c *cli.Context) error {
	h := campaign.NewWorkerHost(machine.Source{})
	cpus, err := h.CPUs(0, "scatter")
	if err != nil {
		return err
	}
	host := machine.Read(machine.Source{})
	free, _, _ := h.FreeMemory()
	p, err := plan.Build(plan.Options{Device: "cpu", Quick: c.Bool("quick"), Threads: len(cpus), Ops: op.Builtin(), LLC: h.LLCBytes(), Memory: free,
		Levels: campaign.Levels(host, cpus), Levels1: campaign.Levels(host, cpus[:1]), Peaks: peaks("cpu")})
	if err != nil {
		return err
	}
	var ids []string
	seen := map[string]bool{}
	for _, x := range p.Probes {
		if !seen[x.Case.ID] {
			ids = append(ids, x.Case.ID)
			seen[x.Case.ID] = true
		}
	}
	for _, x := range p.Cases {
		ids = append(ids, x.ID)
	}
	if c.Bool("json") {
		return writeJSON(c, ids)
	}
	for _, id := range ids {
		if _, err := fmt.Fprintln(c.App.Writer, id); err != nil {
			return err
		}
	}
	return nil
}

// listPatterns lists the fusion patterns.
func listPatterns(c *cli.Context) error {
	type entry struct {
		Name       string         `json:"name"`
		Group      string         `json:"group"`
		Doc        string         `json:"doc"`
		Operators  []string       `json:"operators"`
		Precisions []record.DType `json:"precisions"`
		Shapes     int            `json:"shapes"`
	}
	out := []entry{}
	for _, p := range fusion.Builtin() {
		out = append(out, entry{p.Name, p.Group, p.Doc, p.Operators, p.DTypes, len(p.Shapes)})
	}
	if c.Bool("json") {
		return writeJSON(c, out)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "pattern\tgroup\tprecisions\tshapes\toperators\twhat")
	for _, e := range out {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", e.Name, e.Group, joinDTypes(e.Precisions), e.Shapes, strings.Join(e.Operators, "+"), e.Doc)
	}
	return w.Flush()
}

func joinDTypes(ds []record.DType) string {
	var out []string
	for _, d := range ds {
		out = append(out, string(d))
	}
	return strings.Join(out, " ")
}

func listDevices(c *cli.Context) error {
	type entry struct {
		ID       string `json:"id,omitempty"`
		Platform string `json:"platform"`
		Name     string `json:"name,omitempty"`
		Reason   string `json:"unavailable,omitempty"`
	}
	var out []entry
	for _, b := range backends() {
		if err := b.Available(); err != nil {
			out = append(out, entry{Platform: b.Name(), Reason: err.Error()})
			continue
		}
		ds, err := b.Devices()
		if err != nil {
			out = append(out, entry{Platform: b.Name(), Reason: err.Error()})
			continue
		}
		for _, d := range ds {
			if b.Name() == "cpu" {
				d.Name = machine.Read(machine.Source{}).CPU.Model
			}
			out = append(out, entry{ID: d.ID, Platform: b.Name(), Name: d.Name})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Platform < out[j].Platform })
	if c.Bool("json") {
		return writeJSON(c, out)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "device\tplatform\tname")
	for _, e := range out {
		if e.Reason != "" {
			fmt.Fprintf(w, "-\t%s\tunavailable: %s\n", e.Platform, e.Reason)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.ID, e.Platform, e.Name)
	}
	return w.Flush()
}
