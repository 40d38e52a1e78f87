package objtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `
0000000000000000 <tile>:
   0:	xor    %eax,%eax
   2:	vmovaps (%rsi),%ymm2
   6:	vbroadcastss (%rdi),%ymm3
  10:	vfmadd231ps %ymm2,%ymm3,%ymm0
  14:	vfmadd231ps %ymm2,%ymm3,%ymm1
  18:	add    $0x20,%rsi
  1c:	cmp    %rdx,%rsi
  20:	jne    2 <tile+0x2>
  22:	vzeroupper
  24:	ret

0000000000000030 <next>:
  30:	ret
`

var tile = Loop{Symbol: "tile", Main: map[string]int{"vfmadd231ps": 2},
	Loads: map[string]int{"vmovaps|vmovups/m": 1, "vbroadcastss": 1}, Others: 3}

func TestEveryDepartureFromTheDeclaredLoopIsNamed(t *testing.T) {
	change := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the listing has no %q", old)
		}
		return strings.Replace(good, old, with, 1)
	}
	exact := tile
	exact.Units = 2
	for _, c := range []struct {
		name, listing string
		loop          Loop
		want          string // part of the only problem; "" for none
	}{
		{"as declared", good, tile, ""},
		{"a missing multiply-add", change("vfmadd231ps %ymm2,%ymm3,%ymm1", "vaddps %ymm2,%ymm3,%ymm1"), tile, "1 vfmadd231ps, want 2"},
		{"a load from the stack in place of a register", change("vmovaps (%rsi),%ymm2", "vmovaps 0x20(%rsp),%ymm2"), tile, "touch the stack"},
		{"a frame pointer that the loop does not use", change("xor    %eax,%eax", "mov    %rsp,%rbp"), tile, ""},
		{"a register move in place of a load", change("vmovaps (%rsi),%ymm2", "vmovaps %ymm5,%ymm2"), tile, "0 vmovaps|vmovups/m, want 1"},
		{"one instruction too many", change("  18:	add ", "  16:	mov    %rax,%rbx\n  18:	add "), tile, "other instructions"},
		{"other unrolling", good, exact, "want 2 units"},
		{"no loop", change("jne    2 <tile+0x2>", "jne    22 <tile+0x22>"), tile, "no innermost loop"},
		{"another function", good, Loop{Symbol: "absent"}, "no function absent"},
	} {
		got := strings.Join(c.loop.Problems(c.listing), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	framed := strings.Replace(change("xor    %eax,%eax", "mov    %rsp,%rbp"), "(%rsi),%ymm2", "-0x40(%rbp),%ymm2", 1)
	if got := strings.Join(tile.Problems(framed), "\n"); !strings.Contains(got, "touch the stack") {
		t.Errorf("a spill to the frame: %q", got)
	}
}

// More accumulators than registers: every compiler must spill, and the check must see it.
func TestARealSpillIsFound(t *testing.T) {
	source := filepath.Join(t.TempDir(), "spill.c")
	const text = `typedef float v __attribute__((vector_size(16)));
void spill(long n, const float *a, const v *b, v *c) {
  v s[40];
#pragma GCC unroll 40
  for (int i = 0; i < 40; i++) s[i] = c[i];
  for (long k = 0; k < n; k++, a += 40)
#pragma GCC unroll 40
    for (int i = 0; i < 40; i++) s[i] += a[i] * b[k];
#pragma GCC unroll 40
  for (int i = 0; i < 40; i++) c[i] = s[i];
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range []Toolchain{gccAMD64, clangAMD64, gccARM64} {
		listing, err := c.Disassemble(source, "", t.TempDir())
		if err != nil {
			t.Logf("%s: %v", c.Name, err)
			continue
		}
		ran++
		l := Loop{Symbol: "spill", Main: map[string]int{"addps|fmla": 1}, Others: 1000}
		if got := strings.Join(l.Problems(listing), "\n"); !strings.Contains(got, "touch the stack") {
			t.Errorf("%s: %q", c.Name, got)
		}
	}
	if ran == 0 {
		t.Skip("no compiler of the kernels is installed")
	}
}
