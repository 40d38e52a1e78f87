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
