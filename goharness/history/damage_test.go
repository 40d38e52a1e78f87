package history

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ridge/goharness/history/compare"
)

// Wherever a file is cut or bytes of it are turned, reading it ends with what is stored or with a word about the damage; the file stays as
// it is, and no document comes back changed.
func TestADamagedFileIsReadOrSaidToBe(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := opened(t, dir)
	texts := map[string][]byte{}
	for _, id := range []string{"r0", "r1", "r2"} {
		must[Added](t)(s.Add(ctx, sample(id, "2026-03-01T00:00:00Z", 1), FromRun))
		texts[id] = must[[]byte](t)(s.Text(ctx, id))
	}
	name := must[[]string](t)(s.Cases(ctx, "gemm", 1))[0]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	trials := 300
	if testing.Short() {
		trials = 60
	}
	for n := range trials {
		data := bytes.Clone(whole)
		switch at := rng.IntN(len(data)); n % 5 {
		case 0:
			data = data[:at]
		case 1:
			data = data[:at/4096*4096]
		case 2:
			clear(data[at:min(len(data), at+1+rng.IntN(8192))])
		case 3:
			data[rng.IntN(100)] ^= byte(1 + rng.IntN(255))
		default:
			for range 1 + n%20 {
				data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
			}
		}
		damaged := filepath.Join(t.TempDir(), "d")
		if err := os.Mkdir(damaged, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(Path(damaged), data, 0o644); err != nil {
			t.Fatal(err)
		}
		read(ctx, t, damaged, name, texts)
		if after, err := os.ReadFile(Path(damaged)); err != nil || !bytes.Equal(after, data) {
			t.Fatalf("trial %d: reading changed the file: %v", n, err)
		}
	}
}

func read(ctx context.Context, t *testing.T, dir, name string, texts map[string][]byte) {
	t.Helper()
	told := func(err error) {
		if err != nil && !strings.Contains(err.Error(), "no history yet") && !strings.Contains(err.Error(), "move it away") &&
			!strings.Contains(err.Error(), "use that ridge") && !strings.Contains(err.Error(), "is not in the history") {
			t.Errorf("it does not say what to do: %v", err)
		}
	}
	s, err := OpenReadOnly(ctx, dir)
	if err != nil {
		told(err)
		return
	}
	defer s.Close()
	_, err = s.List(ctx, Filter{})
	told(err)
	_, err = s.TrendOf(ctx, name, "", compare.Time)
	told(err)
	_, err = s.Export(ctx, io.Discard)
	told(err)
	for id, want := range texts {
		text, err := s.Text(ctx, id)
		if told(err); err == nil && !bytes.Equal(text, want) {
			t.Errorf("the document of %s came back changed", id)
		}
	}
}
