package history

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
)

// Who opens a history while another lays it out sees nothing or all of it, never a foreign database.
func TestManyMayOpenAHistoryThatIsBeingMade(t *testing.T) {
	for range 40 {
		dir := t.TempDir()
		var wg sync.WaitGroup
		for range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				s, err := Open(context.Background(), dir)
				if err != nil {
					t.Error(err)
					return
				}
				s.Close()
			}()
		}
		wg.Wait()
	}
}

// A writer that was killed in the middle of a transaction leaves its journal: readers come to what was before.
func TestAKilledWriterCostsReadersNothing(t *testing.T) {
	ctx, dir, crashed := t.Context(), t.TempDir(), t.TempDir()
	s := opened(t, dir)
	must[Added](t)(s.Add(ctx, sample("r0", "2026-03-01T00:00:00Z", 1), FromRun))
	err := s.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.Exec("PRAGMA cache_size = 1"); err != nil { // pages go to the file before the end
			return err
		}
		if _, err := tx.Exec("UPDATE documents SET gzip = zeroblob(200000)"); err != nil {
			return err
		}
		for _, end := range []string{"", "-journal"} {
			data, err := os.ReadFile(Path(dir) + end)
			if err != nil {
				return err
			}
			if err := os.WriteFile(Path(crashed)+end, data, 0o644); err != nil {
				return err
			}
		}
		return errors.New("enough")
	})
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Fatal(err)
	}
	r, err := OpenReadOnly(ctx, crashed)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if d, err := r.Document(ctx, "r0"); err != nil || d.RunID != "r0" {
		t.Error(d.RunID, err)
	}
}
