// Looking at files and removing them: stat, list, remove.
package main

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"syscall"
)

type pathsRequest struct {
	requestHead
	Paths []string `json:"paths"`
}

type entry struct {
	Path   string  `json:"path"`
	Kind   string  `json:"kind"`
	Mode   uint32  `json:"mode"`
	Uid    uint32  `json:"uid"`
	Gid    uint32  `json:"gid"`
	Bytes  int64   `json:"bytes"`
	Target *string `json:"target"`
}

func kindOf(mode os.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&os.ModeSymlink != 0:
		return "symlink"
	}
	return "other"
}

func statusOf(info os.FileInfo) *syscall.Stat_t {
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		panic("a file system without stat")
	}
	return status
}

// absent tells whether an error means that nothing stands at a path.
func absent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, syscall.ENAMETOOLONG)
}

func (s *supervisor) stat(e *exchange) (map[string]any, error) {
	var request pathsRequest
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	entries := make([]*entry, len(request.Paths))
	for i, path := range request.Paths {
		clean, err := absolute(path)
		if err != nil {
			return nil, err
		}
		info, err := os.Lstat(clean)
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		status := statusOf(info)
		one := &entry{
			Path: path, Kind: kindOf(info.Mode()), Mode: uint32(status.Mode) & 0o7777,
			Uid: status.Uid, Gid: status.Gid, Bytes: info.Size(),
		}
		if one.Kind == "symlink" {
			target, err := os.Readlink(clean)
			if err != nil {
				continue
			}
			one.Target = &target
		}
		entries[i] = one
	}
	return map[string]any{"entries": entries}, nil
}

// maxNames keeps a listing within one frame.
const maxNames = 200_000

func (s *supervisor) list(e *exchange) (map[string]any, error) {
	var request struct {
		requestHead
		Dirs []string `json:"dirs"`
	}
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	names := map[string][]string{}
	total := 0
	for _, dir := range request.Dirs {
		clean, err := absolute(dir)
		if err != nil {
			return nil, err
		}
		found, err := namesIn(clean)
		if err != nil {
			return nil, err
		}
		names[dir] = found
		if total += len(found); total > maxNames {
			return nil, failure{"limit", fmt.Sprintf("more than %d names are in %s and what was asked with it", maxNames, dir)}
		}
	}
	return map[string]any{"names": names}, nil
}

func namesIn(dir string) ([]string, error) {
	none := []string{}
	descriptor, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if absent(err) {
		return none, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	file := os.NewFile(uintptr(descriptor), dir)
	defer file.Close()
	for {
		batch, err := file.Readdirnames(4096)
		none = append(none, batch...)
		if len(none) > maxNames || len(batch) == 0 || err != nil {
			break
		}
	}
	sort.Strings(none)
	return none, nil
}

func (s *supervisor) remove(e *exchange) (map[string]any, error) {
	var request pathsRequest
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	for _, path := range request.Paths {
		clean, err := absolute(path)
		if err != nil {
			return nil, err
		}
		if within(toolboxDir, clean) || within(clean, toolboxDir) {
			return nil, badRequest("%s cannot be removed", clean)
		}
		if err := os.RemoveAll(clean); err != nil && !absent(err) {
			return nil, err
		}
	}
	return nil, nil
}
