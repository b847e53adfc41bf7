// A new volume begins with what an image has at its place: `copy FROM TO`, run in that image before anything else.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// runCopy fills TO, unless something is there already, with what lies in FROM; TO gets FROM's owner and mode.
func runCopy(arguments []string) int {
	if len(arguments) != 2 {
		fmt.Fprint(os.Stderr, usageText)
		return 64
	}
	if err := copyTree(arguments[0], arguments[1]); err != nil {
		complain("copy: %v", err)
		return 1
	}
	return 0
}

func copyTree(from, to string) error {
	there, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, entry := range there {
		if entry.Name() != "lost+found" {
			return nil
		}
	}
	if err := os.MkdirAll(from, 0o755); err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	var status syscall.Stat_t
	if err := syscall.Lstat(root, &status); err != nil {
		return &os.PathError{Op: "lstat", Path: root, Err: err}
	}
	c := copier{device: status.Dev, links: map[uint64]string{}}
	if err := c.children(root, to); err != nil {
		return err
	}
	return attributes(to, &status)
}

// copier stays on one file system, and keeps hard links among what it copies.
type copier struct {
	device uint64
	links  map[uint64]string
}

func (c *copier) children(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := c.one(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) one(from, to string) error {
	var status syscall.Stat_t
	if err := syscall.Lstat(from, &status); err != nil {
		return &os.PathError{Op: "lstat", Path: from, Err: err}
	}
	if status.Dev != c.device {
		return nil
	}
	kind := status.Mode & syscall.S_IFMT
	if kind != syscall.S_IFDIR && status.Nlink > 1 {
		if first, known := c.links[status.Ino]; known {
			return os.Link(first, to)
		}
		c.links[status.Ino] = to
	}
	var err error
	switch kind {
	case syscall.S_IFDIR:
		if err = os.Mkdir(to, 0o700); err == nil {
			err = c.children(from, to)
		}
	case syscall.S_IFLNK:
		var target string
		if target, err = os.Readlink(from); err == nil {
			err = os.Symlink(target, to)
		}
	case syscall.S_IFREG:
		err = copyFile(from, to)
	case syscall.S_IFIFO:
		err = syscall.Mkfifo(to, 0o600)
	default:
		// A socket of a process that is not there, or a device: an engine would not bring it to life either.
		return nil
	}
	if err != nil {
		return err
	}
	return attributes(to, &status)
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		target.Close()
		return err
	}
	return target.Close()
}

// attributes gives owner, mode and time. The owner first: changing it takes setuid bits away.
func attributes(path string, status *syscall.Stat_t) error {
	if err := os.Lchown(path, int(status.Uid), int(status.Gid)); err != nil {
		return err
	}
	if status.Mode&syscall.S_IFMT == syscall.S_IFLNK {
		return nil
	}
	if err := syscall.Chmod(path, status.Mode&0o7777); err != nil {
		return &os.PathError{Op: "chmod", Path: path, Err: err}
	}
	times := []syscall.Timespec{status.Atim, status.Mtim}
	if err := syscall.UtimesNano(path, times); err != nil {
		return &os.PathError{Op: "utimes", Path: path, Err: err}
	}
	return nil
}
