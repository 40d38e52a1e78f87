package op

// Traffic splits an op's bytes into reads and writes, to choose the bandwidth ceiling that fits.
type Traffic struct {
	Inputs     int   `json:"inputs"` // large input streams
	ReadBytes  int64 `json:"read_bytes"`
	WriteBytes int64 `json:"write_bytes"`
}

// TrafficOf counts each input once read and each output once written, of inputs that an op reads a part of (a causal
// mask's) what Bytes leaves for them; inputs of at least an eighth of the largest one are streams.
func TrafficOf(o Op) Traffic {
	var t Traffic
	var largest int64
	for _, x := range o.Tensors() {
		if x.Role.Input() {
			largest = max(largest, x.Bytes())
		}
	}
	for _, x := range o.Tensors() {
		b := x.Bytes()
		switch {
		case x.Role.Input():
			t.ReadBytes += b
			if b*8 >= largest {
				t.Inputs++
			}
		case x.Role == Out:
			t.WriteBytes += b
		}
	}
	if all := o.Bytes(); all < t.ReadBytes+t.WriteBytes {
		t.ReadBytes = max(0, all-t.WriteBytes)
	}
	return t
}

// ProgramTraffic is that of a program's steps one after another.
func ProgramTraffic(p Program) Traffic {
	var t Traffic
	for _, s := range p.Steps {
		x := TrafficOf(s.Op)
		t.ReadBytes, t.WriteBytes, t.Inputs = t.ReadBytes+x.ReadBytes, t.WriteBytes+x.WriteBytes, max(t.Inputs, x.Inputs)
	}
	return t
}
