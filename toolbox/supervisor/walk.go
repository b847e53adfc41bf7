// Walking a tree as PID 1: in order of names, links and mounts not entered, in memory of one path's directories.
package main

import (
	"errors"
	"os"
	"sort"
	"strings"
	"syscall"
)

var errTooManyNames = errors.New("more names in a directory than are looked at")

// walker visits everything below a directory but what is skipped, parents first.
type walker struct {
	skipped map[string]bool
	// maxNames of one directory are read, 0: all.
	maxNames int
	visit    func(path string, status *syscall.Stat_t) error
	// refuse is told what stands there and cannot be looked at.
	refuse func(path string, why error)
	buffer []byte
}

func (w *walker) walk(dir string) error {
	names, err := w.names(dir)
	if unseen(err) {
		w.refuse(dir, err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		path := strings.TrimSuffix(dir, "/") + "/" + name
		if w.skipped[path] {
			continue
		}
		var status syscall.Stat_t
		err := uninterrupted(func() error { return syscall.Lstat(path, &status) })
		switch {
		case unseen(err):
			w.refuse(path, err)
			continue
		case absent(err):
			continue
		case err != nil:
			return &os.PathError{Op: "lstat", Path: path, Err: err}
		}
		if err := w.visit(path, &status); err != nil {
			return err
		}
		if isDirectory(&status) {
			if err := w.walk(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) names(dir string) ([]string, error) {
	var descriptor int
	err := uninterrupted(func() (err error) {
		descriptor, err = syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		return err
	})
	if absent(err) && err != syscall.ENAMETOOLONG {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer syscall.Close(descriptor)
	if w.buffer == nil {
		w.buffer = make([]byte, 64<<10)
	}
	var names []string
	for {
		n := 0
		err := uninterrupted(func() (err error) {
			n, err = syscall.ReadDirent(descriptor, w.buffer)
			return err
		})
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: dir, Err: err}
		}
		if n == 0 {
			sort.Strings(names)
			return names, nil
		}
		_, _, names = syscall.ParseDirent(w.buffer[:n], -1, names)
		if w.maxNames > 0 && len(names) > w.maxNames {
			return nil, errTooManyNames
		}
	}
}

// unseen tells what the file system does not let even root look at, by one path, from a tree that cannot be read.
func unseen(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENAMETOOLONG)
}

func uninterrupted(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}

func isDirectory(status *syscall.Stat_t) bool { return status.Mode&syscall.S_IFMT == syscall.S_IFDIR }

// mountPoints are the places of other file systems, of single files too, but not the root's own. Device numbers do
// not tell them: one overlay may show the numbers of several file systems.
func mountPoints(mountinfo string) map[string]bool {
	points := map[string]bool{}
	for _, line := range strings.Split(mountinfo, "\n") {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] != "/" {
			points[unescapeMount(fields[4])] = true
		}
	}
	return points
}

// unescapeMount undoes the octal escapes of white space and backslashes.
func unescapeMount(text string) string {
	var plain strings.Builder
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' || at+3 >= len(text) {
			plain.WriteByte(text[at])
			continue
		}
		var value byte
		for _, digit := range []byte(text[at+1 : at+4]) {
			value = value<<3 | (digit - '0')
		}
		plain.WriteByte(value)
		at += 3
	}
	return plain.String()
}
