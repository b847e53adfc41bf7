// Laying an archive: each entry by its kind, without following links.
package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// layer lays one archive.
type layer struct {
	root    folder
	dir     string
	owner   *owner
	entries int
	refused refusals
	// laid are the regular files of this archive, which its hard links may name.
	laid map[string]bool
	// directories get their times last, when nothing is laid in them any more.
	directories []*tar.Header
	parentName  string
	parent      *folder
	// buffer is what contents go through.
	buffer []byte
}

func (l *layer) layAll(archive *tar.Reader) error {
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			var known failure
			if errors.As(err, &known) || errors.Is(err, io.ErrUnexpectedEOF) {
				return err
			}
			return badRequest("put: not a tar archive: %v", err)
		}
		err = l.lay(header, archive)
		var why refused
		switch {
		case errors.As(err, &why):
			l.refused.add(header.Name, string(why))
		case err != nil:
			return fmt.Errorf("%s: %w", header.Name, err)
		default:
			l.entries++
		}
	}
	for i := len(l.directories) - 1; i >= 0; i-- {
		header := l.directories[i]
		parts, _ := splitName(header.Name)
		if target, err := openBelow(l.root, parts, nil); err == nil {
			setTimes(descriptorPath(target.descriptor), header)
			target.close()
		}
	}
	return nil
}

// refused is the reason why one entry was not laid.
type refused string

func (r refused) Error() string { return string(r) }

// splitName gives the parts of an entry's name; `.` parts and a trailing slash mean nothing.
func splitName(name string) ([]string, error) {
	if strings.HasPrefix(name, "/") {
		return nil, refused("an absolute name")
	}
	if strings.ContainsRune(name, 0) {
		return nil, refused("a name with a NUL in it")
	}
	var parts []string
	for _, part := range strings.Split(name, "/") {
		switch part {
		case "", ".":
		case "..":
			return nil, refused("a name with .. in it")
		default:
			parts = append(parts, part)
		}
	}
	return parts, nil
}

func (l *layer) lay(header *tar.Header, content io.Reader) error {
	parts, err := splitName(header.Name)
	if err != nil {
		return err
	}
	if within(filepath.Join(l.dir, filepath.Join(parts...)), toolboxDir) {
		return refused("the toolbox's own path")
	}
	if len(parts) == 0 {
		if header.Typeflag != tar.TypeDir {
			return refused("the directory itself cannot be replaced")
		}
		return l.finish(descriptorPath(l.root.descriptor), header)
	}
	parent, err := l.openParent(parts[:len(parts)-1])
	if err != nil {
		return l.explained(err)
	}
	name := parts[len(parts)-1]
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeRegA, tar.TypeGNUSparse:
		err = l.layFile(parent.join(name), header, content)
		if err == nil {
			l.laid[strings.Join(parts, "/")] = true
		}
	case tar.TypeDir:
		err = l.layDirectory(parent.join(name), header)
	case tar.TypeSymlink:
		err = clear(parent.join(name))
		if err == nil {
			err = os.Symlink(header.Linkname, parent.join(name))
		}
		if err == nil {
			err = l.finish(parent.join(name), header)
		}
	case tar.TypeLink:
		err = l.layLink(parent.join(name), header)
	default:
		err = refused(fmt.Sprintf("a %s", specialKind(header.Typeflag)))
	}
	return l.explained(err)
}

func specialKind(flag byte) string {
	switch flag {
	case tar.TypeChar, tar.TypeBlock:
		return "device"
	case tar.TypeFifo:
		return "FIFO"
	}
	return fmt.Sprintf("kind of entry that is not laid (%q)", flag)
}

// explained turns what the file system says of one entry into a refusal; being out of space or cut off ends the put.
func (l *layer) explained(err error) error {
	var number syscall.Errno
	switch {
	case err == nil, noSpace(err), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return err
	case errors.Is(err, errThroughLink):
		return refused(errThroughLink.Error())
	case errors.As(err, &number):
		return refused(number.Error())
	}
	return err
}

func (l *layer) forgetParent() {
	if l.parent != nil {
		l.parent.close()
		l.parent = nil
	}
}

// openParent keeps the last one open: entries of one directory follow each other.
func (l *layer) openParent(parts []string) (folder, error) {
	name := strings.Join(parts, "/")
	if l.parent != nil && l.parentName == name {
		return *l.parent, nil
	}
	l.forgetParent()
	parent, err := openBelow(l.root, parts, func(above folder, name string) error {
		path := above.join(name)
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		if l.owner == nil {
			return nil
		}
		return os.Lchown(path, l.owner.Uid, l.owner.Gid)
	})
	if err != nil {
		return folder{}, err
	}
	l.parent, l.parentName = &parent, name
	return parent, nil
}

// clear takes away what stands at a path; a directory only where it is empty.
func clear(path string) error {
	err := os.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return refused("a directory stands there")
	}
	return err
}

func (l *layer) layFile(path string, header *tar.Header, content io.Reader) error {
	if err := clear(path); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if l.buffer == nil {
		l.buffer = make([]byte, maxDataBytes)
	}
	// A file's own ReadFrom would make a small buffer for each file.
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, content, l.buffer)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return l.finish(path, header)
}

func (l *layer) layDirectory(path string, header *tar.Header) error {
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = clear(path)
		info = nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if info == nil {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
	}
	l.directories = append(l.directories, header)
	return l.finish(path, header)
}

func (l *layer) layLink(path string, header *tar.Header) error {
	parts, err := splitName(header.Linkname)
	if err != nil {
		return refused("a hard link to " + err.Error())
	}
	if !l.laid[strings.Join(parts, "/")] {
		return refused("a hard link to what this archive did not lay")
	}
	source, err := openBelow(l.root, parts[:len(parts)-1], nil)
	if err != nil {
		return err
	}
	defer source.close()
	if from := source.join(parts[len(parts)-1]); !sameFile(from, path) {
		if err := clear(path); err != nil {
			return err
		}
		return os.Link(from, path)
	}
	return nil
}

func sameFile(one, other string) bool {
	first, err := os.Lstat(one)
	if err != nil {
		return false
	}
	second, err := os.Lstat(other)
	return err == nil && os.SameFile(first, second)
}

// finish sets owner, mode and times, the owner first: changing it drops setuid and setgid.
func (l *layer) finish(path string, header *tar.Header) error {
	uid, gid := header.Uid, header.Gid
	if l.owner != nil {
		uid, gid = l.owner.Uid, l.owner.Gid
	}
	isLink := header.Typeflag == tar.TypeSymlink
	change := os.Lchown
	if path == descriptorPath(l.root.descriptor) {
		change = os.Chown
	}
	if err := change(path, uid, gid); err != nil {
		return err
	}
	if !isLink {
		if err := syscall.Chmod(path, uint32(header.Mode)&0o7777); err != nil {
			return err
		}
		setTimes(path, header)
	}
	return nil
}

// setTimes keeps the archive's times; a file system that cannot is no reason to refuse the entry.
func setTimes(path string, header *tar.Header) {
	accessed := header.AccessTime
	if accessed.IsZero() {
		accessed = time.Now()
	}
	if err := os.Chtimes(path, accessed, header.ModTime); err != nil {
		complain("times of %s: %v", header.Name, err)
	}
}
