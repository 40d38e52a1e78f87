package runner_test

import (
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// copied is an executable whose memory is copied to be read. Its kernel writes behind input a where spoils says so.
type copied struct {
	backend.Executable
	spoils bool
	ran    bool
	whole  map[string]int // times that a tensor's storage was read
	guards map[string]int // times that its guards alone were
}

func (c *copied) Run(n int) error {
	c.ran = true
	return c.Executable.Run(n)
}

func (c *copied) ReadRaw(name string) (storage, before, after []byte, err error) {
	c.whole[name]++
	return c.Executable.ReadRaw(name)
}

func (c *copied) ReadGuards(name string) (before, after []byte, err error) {
	c.guards[name]++
	_, before, after, err = c.Executable.ReadRaw(name)
	if c.spoils && c.ran && err == nil {
		after = append([]byte{after[0] ^ 1}, after[1:]...)
	}
	return before, after, err
}

func TestOfALargeInputTheGuardsAloneAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: ten times as long under the race detector, which other tests of the same code meet")
	}
	b := &fakebackend.Backend{}
	d, err := b.Open("toy", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, tc := range []struct {
		name          string
		n             string
		spoils        bool
		passed        bool
		whole, guards bool
	}{
		{"a small one is hashed", "1000", false, true, true, false},
		{"of 64 MiB and more the guards are", "16777217", false, true, false, true},
		{"a kernel that writes behind a large one is found", "16777217", true, false, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := op.Builtin().New("stream_copy", map[string]string{"n": tc.n}, record.FP32)
			if err != nil {
				t.Fatal(err)
			}
			p := op.Single(o)
			in := p.Tensors[0]
			if !in.Role.Input() {
				t.Fatalf("%s is no input", in.Name)
			}
			inner, err := d.Prepare(p, backend.PrepareOptions{Seed: runner.Seed})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = inner.Release() }()
			e := &copied{Executable: inner, spoils: tc.spoils, whole: map[string]int{}, guards: map[string]int{}}
			v, err := runner.Verify(t.Context(), e, p, runner.Seed, runner.DefaultEffort)
			if err != nil {
				t.Fatal(err)
			}
			if v.Passed != tc.passed || !tc.passed && (v.Mismatch == nil || v.Mismatch.Tensor != in.Name || v.Mismatch.Phase != "padding") {
				t.Errorf("passed %v, %+v", v.Passed, v.Mismatch)
			}
			if got := e.whole[in.Name] > 0; got != tc.whole {
				t.Errorf("its storage was read %d times", e.whole[in.Name])
			}
			if got := e.guards[in.Name] > 0; got != tc.guards {
				t.Errorf("its guards alone were read %d times", e.guards[in.Name])
			}
		})
	}
}
