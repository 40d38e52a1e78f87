package report

import (
	"bytes"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// A precision computed by several operations of another one for each that counts (3×TF32) has that ceiling's part as its limit, and its results stand below it.
func TestSeveralOperationsForOneShareTheCeiling(t *testing.T) {
	doc := sample(t)
	const tensor = 3 * 1e5
	like := -1
	for i := range doc.Results {
		if r := &doc.Results[i]; r.Op == "gemm" && r.DType == record.FP32 && r.Status == record.OK && r.Threads == 2 {
			like = i
		}
	}
	if like < 0 {
		t.Fatal("the sample has no such result")
	}
	doc.Ceilings = append(doc.Ceilings, record.Ceiling{Kind: record.CeilingCompute, Device: "cpu", Threads: 2, ISA: "wgmma", DType: record.TF32, Unit: "GFLOPS",
		Measured: record.Measured{Value: tensor}, Theoretical: record.Theoretical{Value: 1.5 * tensor}, Ratio: 1 / 1.5})
	r := doc.Results[like]
	c := *r.Ceiling
	c.ComputeGFLOPS, r.Ceiling, r.ExecutedFLOPs = tensor, &c, 3*r.FLOPs
	doc.Results = append(doc.Results, r)
	var fp32 limit
	for _, l := range roofOf(&doc, "cpu").Compute {
		if l.Name == "fp32" {
			fp32 = l
		}
	}
	if fp32.Value != tensor/3 || fp32.Theoretical != tensor/2 || fp32.Shared || fp32.Detail != "3 operations of tf32 for one, wgmma, 2 threads" {
		t.Errorf("the limit of fp32: %+v", fp32)
	}
	if intensity, gflops, ok := onRoofline(&r); !ok || gflops != float64(r.FLOPs)/r.Time.MedianNS || intensity != float64(r.FLOPs)/float64(r.Bytes) {
		t.Errorf("its result stands at %g operations per byte, %g GFLOPS", intensity, gflops)
	}
	var b bytes.Buffer
	if err := writeInsights(&b, []record.Calibration{doc}); err != nil || !strings.Contains(b.String(), "fp32: 100000 GFLOPS measured by 3 operations of tf32 for one, wgmma, 2 threads, 66.7 % of the theoretical 150000") {
		t.Errorf("insights, error %v:\n%s", err, b.String())
	}
}

func TestChartsOfADeviceAloneHaveItsName(t *testing.T) {
	doc := sample(t)
	doc.Host.Name = ""
	doc.Devices = []record.Device{{ID: "cuda:0", Platform: "cuda", Name: "NVIDIA H200"}}
	if got := labels([]record.Calibration{doc}); got[0] != "NVIDIA H200" {
		t.Errorf("%q", got)
	}
	doc.Host.Name = "rack 7"
	if got := labels([]record.Calibration{doc}); got[0] != "rack 7" {
		t.Errorf("a machine that its user named: %q", got)
	}
}
