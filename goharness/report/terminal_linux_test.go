package report

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal of 72 columns.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 72, Row: 24}); err != nil {
		t.Fatal(err)
	}
	return tty
}

func TestTerminalGetsItsWidthAndColourUnlessRefused(t *testing.T) {
	tty := terminal(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if o, want := Detect(tty), (Options{Terminal: true, Width: 72, Color: true}); o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
	t.Setenv("NO_COLOR", "1")
	if o := Detect(tty); o.Color || o.Width != 72 {
		t.Errorf("with NO_COLOR: %+v", o)
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if o := Detect(tty); o.Color {
		t.Errorf("on a dumb terminal: %+v", o)
	}
}
