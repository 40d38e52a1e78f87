package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// OutFile is a file that is written beside its place and moved there when all is in it: readers see the old or the new
// content, and after a crash one of them is there. A link keeps pointing where it points, a file that is replaced keeps its
// permissions. What is no regular file (a device, a pipe, an open descriptor such as /dev/stdout) is written to and stays what it is.
type OutFile struct {
	*os.File
	path   string
	beside bool
}

// besideBytes is how much of a file's name the one beside it has: with its dot and number it may not become longer than file systems allow,
// which is 255 bytes, and 143 on some that encrypt names.
const besideBytes = 100

// NewOutFile begins to write the file at path.
func NewOutFile(path string) (*OutFile, error) {
	if f, special, err := OpenSpecial(path); special {
		if err != nil {
			return nil, err
		}
		return &OutFile{File: f, path: path}, nil
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	name := filepath.Base(path)
	name = name[:min(len(name), besideBytes)]
	f, err := os.CreateTemp(filepath.Dir(path), "."+name+".*")
	if err != nil {
		return nil, err
	}
	return &OutFile{f, path, true}, nil
}

// Finish moves the file to its place, or removes it when err, of what was to be written, is set.
func (f *OutFile) Finish(err error) error {
	if !f.beside {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	}
	mode := fs.FileMode(0o644)
	if st, serr := os.Stat(f.path); serr == nil {
		mode = st.Mode().Perm()
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(f.path))
}

// WriteFile writes a whole file as an OutFile is.
func WriteFile(path string, data []byte) error {
	f, err := NewOutFile(path)
	if err == nil {
		_, err = f.Write(data)
		err = f.Finish(err)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// ErrNoReader is a named pipe that nobody reads: an opening that blocks would wait for ever, and no signal would end it.
var ErrNoReader = errors.New("no program reads this pipe")

// OpenSpecial opens for writing what is there and is no regular file; false: it is one, or nothing is there. It waits for
// nothing. Directories, sockets and block devices, whose content is a file system's, are refused.
func OpenSpecial(path string) (f *os.File, special bool, err error) {
	if fd, ok := descriptor(path); ok {
		f, err := duplicate(fd, path)
		return f, true, err
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().IsRegular() {
		return nil, false, nil
	}
	switch mode := st.Mode(); {
	case mode.IsDir():
		return nil, true, errors.New("it is a directory: expected a file name")
	case mode&fs.ModeSocket != 0 || mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return nil, true, errors.New("it is a socket or a block device: expected a file, a pipe or a character device")
	}
	f, err = os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ENXIO) && st.Mode()&fs.ModeNamedPipe != 0 {
		err = ErrNoReader
	}
	return f, true, err
}

// descriptor of this process that a path such as /dev/stdout or /dev/fd/63 stands for. Opening such a path would open the file behind it
// anew: from its start, where other text of this process may be already, and not at all where it is a socket.
func descriptor(path string) (int, bool) {
	for range 10 { // links
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return 0, false
		}
		if dir == "/dev/fd" || dir == fmt.Sprintf("/proc/%d/fd", os.Getpid()) {
			fd, err := strconv.Atoi(filepath.Base(path))
			return fd, err == nil && fd >= 0
		}
		to, err := os.Readlink(path)
		if err != nil {
			return 0, false
		}
		if path = to; !strings.HasPrefix(to, "/") {
			path = filepath.Join(dir, to)
		}
	}
	return 0, false
}

func duplicate(fd int, path string) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
		err = unix.EBADF
	}
	if err == nil {
		if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
	}
	return nil, &os.PathError{Op: "open for writing", Path: path, Err: err}
}
