// Paths that an agent may have prepared: opened without following links, and without ever waiting on what is no file.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const oPath = 0x200000

// within tells whether the clean absolute `path` is `dir` or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// absolute cleans a path that must be absolute and without `..`.
func absolute(path string) (string, error) {
	if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return "", badRequest("%q is not an absolute path", path)
	}
	for _, part := range strings.Split(path, "/") {
		if part == ".." {
			return "", badRequest("%q holds ..", path)
		}
	}
	return filepath.Clean(path), nil
}

// descriptorPath names what an open descriptor stands for, whatever is moved meanwhile.
func descriptorPath(descriptor int) string { return "/proc/self/fd/" + strconv.Itoa(descriptor) }

// folder is an open directory, to lay entries in by name.
type folder struct{ descriptor int }

func (f folder) close() { syscall.Close(f.descriptor) }

func (f folder) join(name string) string { return descriptorPath(f.descriptor) + "/" + name }

var errThroughLink = errors.New("its parent path goes through a symbolic link")

func openRoot(dir string) (folder, error) {
	descriptor, err := syscall.Open(dir, oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return folder{}, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return folder{descriptor}, nil
}

// openBelow walks the parts from `root` without following links; `make` is called for each part that is missing.
func openBelow(root folder, parts []string, missing func(parent folder, name string) error) (folder, error) {
	current, err := syscall.Dup(root.descriptor)
	if err != nil {
		return folder{}, err
	}
	syscall.CloseOnExec(current)
	const flags = oPath | syscall.O_DIRECTORY | syscall.O_NOFOLLOW | syscall.O_CLOEXEC
	for _, part := range parts {
		next, err := syscall.Openat(current, part, flags, 0)
		if err == syscall.ENOENT && missing != nil {
			if err = missing(folder{current}, part); err == nil {
				next, err = syscall.Openat(current, part, flags, 0)
			}
		}
		if err == syscall.ENOTDIR || err == syscall.ELOOP {
			err = notDirectory(folder{current}, part)
		}
		syscall.Close(current)
		if err != nil {
			return folder{}, err
		}
		current = next
	}
	return folder{current}, nil
}

func notDirectory(parent folder, name string) error {
	info, err := os.Lstat(parent.join(name))
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		return errThroughLink
	}
	return syscall.ENOTDIR
}

// openRegular opens a regular file for reading; a FIFO, say, is refused and not waited for.
func openRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// readUpTo fills `into` or reads to the end of the file.
func readUpTo(file *os.File, into []byte) (int, error) {
	n, err := io.ReadFull(file, into)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

// createAnew makes an empty file at an absolute path in place of what stands there; its parents are made.
func createAnew(path string, mode os.FileMode) (*os.File, error) {
	clean, err := absolute(path)
	if err != nil {
		return nil, err
	}
	if clean == "/" || within(clean, toolboxDir) {
		return nil, badRequest("%s cannot be written", clean)
	}
	dir, name := filepath.Split(clean)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	parent, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer parent.close()
	if err := os.RemoveAll(parent.join(name)); err != nil {
		return nil, fmt.Errorf("%s: %w", clean, err)
	}
	return os.OpenFile(parent.join(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
}

// openOutputFile prepares the file that a job's streams go into; none is asked for where the path is null.
// What keeps it from being made (an agent's doing, perhaps) keeps no command from running: it is told on stderr.
func openOutputFile(path *string) *outputFile {
	if path == nil {
		return &outputFile{}
	}
	file, err := createAnew(*path, 0o644)
	if err != nil {
		return &outputFile{problem: fmt.Sprintf("outputFile: %v", err)}
	}
	return &outputFile{file: file, left: maxOutputFileBytes}
}
