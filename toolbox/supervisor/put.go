// The operation put: where an archive goes, and what is said of it afterwards.
package main

import (
	"archive/tar"
	"os"
	"path/filepath"
)

type owner struct {
	Uid int `json:"uid"`
	Gid int `json:"gid"`
}

type putRequest struct {
	requestHead
	Dir     string `json:"dir"`
	Replace bool   `json:"replace"`
	Owner   *owner `json:"owner"`
}

func (s *supervisor) put(e *exchange) (map[string]any, error) {
	var request putRequest
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	if e.input == nil {
		return nil, badRequest("put: a stream is needed")
	}
	root, real, err := openTarget(request)
	if err != nil {
		return nil, err
	}
	defer root.close()
	l := &layer{root: root, dir: real, owner: request.Owner, laid: map[string]bool{}}
	defer l.forgetParent()
	if err := l.layAll(tar.NewReader(e.input)); err != nil {
		return nil, err
	}
	// What follows the archive's end still belongs to the stream and to its digest.
	if err := e.input.drain(); err != nil {
		return nil, err
	}
	sum := e.input.digest()
	return map[string]any{"bytes": sum.Bytes, "sha256": sum.Sha256, "entries": l.entries, "refused": l.refused.all()}, nil
}

// openTarget gives the directory that an archive is laid in, made where it is missing, and its real path.
func openTarget(request putRequest) (folder, string, error) {
	dir, err := absolute(request.Dir)
	if err != nil {
		return folder{}, "", err
	}
	if within(dir, toolboxDir) || (request.Replace && within(toolboxDir, dir)) {
		return folder{}, "", badRequest("put: %s cannot be written", dir)
	}
	if request.Replace {
		if err := os.RemoveAll(dir); err != nil && !absent(err) {
			return folder{}, "", err
		}
	}
	_, missing := os.Stat(dir)
	if request.Replace && missing != nil {
		if err := clearParents(dir); err != nil {
			return folder{}, "", err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return folder{}, "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return folder{}, "", err
	}
	if within(real, toolboxDir) {
		return folder{}, "", badRequest("put: %s cannot be written", real)
	}
	root, err := openRoot(real)
	if err == nil && missing != nil && request.Owner != nil {
		err = os.Chown(descriptorPath(root.descriptor), request.Owner.Uid, request.Owner.Gid)
	}
	return root, real, err
}

// clearParents takes away what stands in the way of making `dir`: a file, or a link to nowhere, in place of a parent.
func clearParents(dir string) error {
	for above := filepath.Dir(dir); above != "/"; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err == nil && info.IsDir() {
			return nil
		}
		if err := os.Remove(above); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}
