//go:build cgo && linux

package badconv_test

import (
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/internal/badconv"
	"ridge/native/kerneltest"
)

func TestPlantedFaultsAreCaught(t *testing.T) {
	dev, err := native.New(badconv.Family()).Open("cpu", backend.OpenOptions{CPUs: []int{-1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}()
	padded := map[string]string{"n": "2", "c": "3", "h": "7", "w": "9", "k": "4", "pad": "1"}
	plain := map[string]string{"n": "2", "c": "3", "h": "7", "w": "9", "k": "4"}
	for _, c := range []struct {
		kernel string
		params map[string]string
		want   string // part of the mismatch; empty: the kernel is right for these
	}{
		{"badconv_padding", padded, "Phase:integer"},
		{"badconv_padding", plain, ""},
		{"badconv_last_channel", padded, "Got:NaN"},
		{"badconv_last_channel", plain, "Got:NaN"},
	} {
		err := kerneltest.One(dev, kerneltest.Op(t, "conv2d", record.FP32, c.params), c.kernel, 0)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s without padding: %v", c.kernel, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want a mismatch with %q", c.kernel, err, c.want)
		}
	}
}

// Small integers times 1/2, 1/4 or 1/8 are often halves: the integer phase sees every way to round them.
func TestWrongRequantisationIsCaught(t *testing.T) {
	dev, err := native.New(badconv.Family()).Open("cpu", backend.OpenOptions{CPUs: []int{-1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct{ kernel, act, want string }{
		{"badconv_requant", "none", ""}, {"badconv_requant", "relu", ""},
		{"badconv_requant_away", "none", "Phase:integer"}, {"badconv_requant_away", "relu", "Phase:integer"},
		{"badconv_requant_wraps", "none", "Phase:random"}, {"badconv_requant_down", "none", "Phase:integer"},
		{"badconv_requant_no_relu", "none", ""}, {"badconv_requant_no_relu", "relu", "Phase:integer"},
	} {
		params := map[string]string{"n": "1", "c": "32", "h": "9", "w": "9", "k": "40", "r": "1", "requant": "1", "act": c.act}
		err := kerneltest.One(dev, kerneltest.Op(t, "conv2d", record.INT8, params), c.kernel, 0)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s, act %s: %v", c.kernel, c.act, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s, act %s: got %v, want a mismatch with %q", c.kernel, c.act, err, c.want)
		}
	}
}
