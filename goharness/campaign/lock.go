package campaign

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockDevice keeps two runs of one data directory from measuring side by side on a device:
// each would be the other's noise. The lock ends with the process. --force goes on without; the documents of both say so.
func (c *campaign) lockDevice() error {
	if c.cfg.DataDir == "" {
		return nil
	}
	device := c.cfg.Plan.Device
	f, err := LockDevice(c.cfg.DataDir, device)
	var busy *BusyError
	if errors.As(err, &busy) && c.cfg.Force {
		w := device + " was measured by another run when this one began (--force): both are disturbed"
		c.cfg.View.Warn("%s", w)
		c.disturbed, c.busy = append(c.disturbed, w), busy
		return nil
	}
	c.lock = f
	return err
}

// lockLater takes the lock of a device that --force went on without once it is free, which keeps others from beginning beside this run.
func (c *campaign) lockLater() {
	if c.busy == nil {
		return
	}
	if f, err := LockDevice(c.cfg.DataDir, c.cfg.Plan.Device); err == nil {
		c.lock, c.busy = f, nil
	}
}

// leaveMark tells the run that has the lock that this one begins.
func (c *campaign) leaveMark() error {
	if c.busy == nil {
		return nil
	}
	return c.busy.Mark(c.cfg.Now())
}

// heedMarks warns of the runs that began beside this one, which holds the lock.
func (c *campaign) heedMarks() {
	if c.lock == nil {
		return
	}
	if since := marks(c.lock); len(since) > 0 {
		w := fmt.Sprintf("%s was measured by another run too, from %s (--force): both are disturbed", c.cfg.Plan.Device, strings.Join(since, ", "))
		c.cfg.View.Warn("%s", w)
		c.disturbed = append(c.disturbed, w)
	}
}

// BusyError is a device that another run measures on.
type BusyError struct{ Device, Path string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another run is measuring %s (%s is locked): wait for it (calibrate and bench: or --force to measure side by side)", e.Device, e.Path)
}

// LockDevice takes the lock of a device in a data directory until the file is closed; a
// *BusyError when another process has it.
func LockDevice(dataDir, device string) (*os.File, error) {
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	path := filepath.Join(dataDir, strings.ReplaceAll(device, ":", "-")+".lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock of device %s: %w", device, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &BusyError{device, path}
		}
		return nil, fmt.Errorf("lock of device %s (%s): %w", device, path, err)
	}
	if err := f.Truncate(0); err != nil { // marks are of runs beside the one before
		_ = f.Close()
		return nil, fmt.Errorf("lock of device %s (%s): %w", device, path, err)
	}
	return f, nil
}

// Mark tells the run that has the lock that another one began beside it.
func (e *BusyError) Mark(began time.Time) error {
	f, err := os.OpenFile(e.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = fmt.Fprintln(f, began.UTC().Format(time.RFC3339))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("tell the run that measures %s that this one measures too: %w", e.Device, err)
	}
	return nil
}

// mostMarks bounds what is read of a lock's file, in bytes.
const mostMarks = 1 << 10

// marks are when other runs began since the lock was taken.
func marks(lock *os.File) []string {
	text, _ := io.ReadAll(io.NewSectionReader(lock, 0, mostMarks)) // an unreadable file is no reason to lose a run at its end
	return strings.Fields(string(text))
}
