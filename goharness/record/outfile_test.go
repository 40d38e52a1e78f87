package record_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ridge/goharness/record"
)

// An opening that blocks would wait for ever, and no signal would end it.
func TestAPipeThatNobodyReadsIsNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	done := make(chan error, 1)
	go func() { done <- record.WriteFile(pipe, []byte("text")) }()
	select {
	case err := <-done:
		if !errors.Is(err, record.ErrNoReader) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits")
	}
}

// "ridge report … --output /dev/stdout >> log" adds to the log. Opened anew, the file behind the descriptor would be replaced.
func TestAnOpenDescriptorIsWrittenWhereItStands(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc here")
	}
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fmt.Sprintf("/dev/fd/%d", f.Fd()), fmt.Sprintf("/proc/self/fd/%d", f.Fd()), link} {
		if err := record.WriteFile(path, []byte("text\n")); err != nil {
			t.Error(path, err)
		}
	}
	fmt.Fprintln(f, "after")
	if got, err := os.ReadFile(log); string(got) != "before\ntext\ntext\ntext\nafter\n" {
		t.Errorf("%q %v", got, err)
	}
	read, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	for _, path := range []string{fmt.Sprintf("/dev/fd/%d", read.Fd()), "/dev/fd/987654"} {
		if err := record.WriteFile(path, nil); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

func TestAFileThatIsReplacedKeepsItsPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := record.WriteFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
}

func TestASocketIsNoPlaceForADocument(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	if f, special, err := record.OpenSpecial(socket); f != nil || !special || err == nil {
		t.Errorf("%v %v", special, err)
	}
}

// The file beside it has a name of its own, which is longer by a dot and a number.
func TestANameMayBeAsLongAsTheFileSystemAllows(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{1, 100, 101, 243, 244, 250, 255} {
		name := filepath.Join(dir, strings.Repeat("n", n))
		for _, text := range []string{"old", "new"} {
			if err := record.WriteFile(name, []byte(text)); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			} else if got, err := os.ReadFile(name); err != nil || string(got) != text {
				t.Errorf("%d bytes: it holds %q (%v), want %q", n, got, err, text)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
