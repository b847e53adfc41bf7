// Taking files as an archive: read as they are while the sandbox lives, whatever happens to them meanwhile.
package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

type getRequest struct {
	requestHead
	Paths     []string `json:"paths"`
	Recursive bool     `json:"recursive"`
	Exclude   []string `json:"exclude"`
	MaxBytes  int64    `json:"maxBytes"`
}

// virtual are file systems of the kernel: nothing of them is a sandbox's work.
var virtual = []string{"/proc", "/sys", "/dev"}

// takenFile tells hard links of one file apart from other files.
type takenFile struct{ device, inode uint64 }

type taker struct {
	request   getRequest
	exclude   patterns
	archive   *tar.Writer
	entries   int
	missing   []string
	refused   refusals
	left      int64
	truncated bool
	links     map[takenFile]string
}

// errFull ends the walk where the next entry would pass maxBytes.
var errFull = errors.New("the archive is full")

func (s *supervisor) get(e *exchange) (map[string]any, error) {
	var request getRequest
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	if request.MaxBytes < 0 {
		return nil, badRequest("get: maxBytes is negative")
	}
	exclude, err := parsePatterns(request.Exclude)
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, path := range request.Paths {
		clean, err := absolute(path)
		if err != nil {
			return nil, err
		}
		roots = append(roots, clean)
	}
	stream := newOutputStream(e.frames)
	t := &taker{
		request: request, exclude: exclude, archive: tar.NewWriter(stream), missing: []string{},
		left: request.MaxBytes, links: map[takenFile]string{},
	}
	for _, root := range roots {
		if err := t.takeRoot(root); errors.Is(err, errFull) {
			t.truncated = true
			break
		} else if err != nil {
			return nil, &lostClient{err}
		}
	}
	if err := t.archive.Close(); err != nil {
		return nil, &lostClient{err}
	}
	if err := stream.Close(); err != nil {
		return nil, &lostClient{err}
	}
	return map[string]any{
		"entries": t.entries, "missing": t.missing, "truncated": t.truncated, "refused": t.refused.all(),
	}, nil
}

func (t *taker) takeRoot(root string) error {
	info, err := os.Lstat(root)
	if absent(err) {
		t.missing = append(t.missing, root)
		return nil
	}
	if err != nil {
		t.refused.add(root, err.Error())
		return nil
	}
	return t.take(root, root, info)
}

// take writes one entry and, where asked for, all below it; an error is the client's or errFull, never a file's.
func (t *taker) take(root, path string, info os.FileInfo) error {
	for _, dir := range virtual {
		if within(path, dir) {
			if path == root {
				t.refused.add(path, "a file system of the kernel")
			}
			return nil
		}
	}
	if relative := strings.TrimPrefix(strings.TrimPrefix(path, root), "/"); relative != "" && t.exclude.match(relative, info.IsDir()) {
		return nil
	}
	if path != "/" {
		if err := t.write(path, info); err != nil {
			return err
		}
	}
	if !info.IsDir() || !t.request.Recursive {
		return nil
	}
	names, err := namesIn(path)
	if err != nil {
		t.refused.add(path, err.Error())
		return nil
	}
	for _, name := range names {
		below := filepath.Join(path, name)
		info, err := os.Lstat(below)
		if absent(err) {
			continue
		}
		if err != nil {
			t.refused.add(below, err.Error())
			continue
		}
		if err := t.take(root, below, info); err != nil {
			return err
		}
	}
	return nil
}

// header makes the entry of one path; content is the open file where it has content.
func (t *taker) header(path string, info os.FileInfo) (*tar.Header, *os.File, string) {
	status := statusOf(info)
	header := &tar.Header{
		Name: strings.TrimPrefix(path, "/"), Mode: int64(status.Mode) & 0o7777, Uid: int(status.Uid), Gid: int(status.Gid),
		ModTime: info.ModTime(), Format: tar.FormatPAX,
	}
	switch {
	case info.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return nil, nil, err.Error()
		}
		header.Typeflag, header.Linkname = tar.TypeSymlink, target
	case info.Mode().IsRegular():
		key := takenFile{uint64(status.Dev), status.Ino}
		if first, ok := t.links[key]; ok && status.Nlink > 1 {
			header.Typeflag, header.Linkname = tar.TypeLink, first
			return header, nil, ""
		}
		file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return nil, nil, err.Error()
		}
		// The size of what was opened, which may be another file by now.
		opened, err := file.Stat()
		if err != nil || !opened.Mode().IsRegular() {
			file.Close()
			return nil, nil, "it changed its kind while it was read"
		}
		header.Typeflag, header.Size = tar.TypeReg, opened.Size()
		if status.Nlink > 1 {
			t.links[key] = header.Name
		}
		return header, file, ""
	default:
		return nil, nil, "a " + socketOrDevice(info.Mode())
	}
	return header, nil, ""
}

func socketOrDevice(mode os.FileMode) string {
	switch {
	case mode&os.ModeSocket != 0:
		return "socket"
	case mode&os.ModeNamedPipe != 0:
		return "FIFO"
	}
	return "device"
}

func (t *taker) write(path string, info os.FileInfo) error {
	header, file, why := t.header(path, info)
	if why != "" {
		t.refused.add(path, why)
		return nil
	}
	if file != nil {
		defer file.Close()
	}
	if strings.ContainsRune(header.Name+header.Linkname, 0) {
		t.refused.add(path, "a name with a NUL in it")
		return nil
	}
	if header.Size > t.left {
		return errFull
	}
	t.left -= header.Size
	if err := t.archive.WriteHeader(header); err != nil {
		return err
	}
	t.entries++
	if file == nil {
		return nil
	}
	return copyExactly(t.archive, file, header.Size)
}

// copyExactly writes `size` bytes: a file that grew is cut, one that shrank is filled up with zeros.
func copyExactly(to io.Writer, file *os.File, size int64) error {
	buffer := make([]byte, 128<<10)
	for size > 0 {
		part := buffer
		if int64(len(part)) > size {
			part = part[:size]
		}
		n, err := file.Read(part)
		if n == 0 || err != nil {
			n = len(part)
			for i := range part {
				part[i] = 0
			}
		}
		if _, err := to.Write(part[:n]); err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}
