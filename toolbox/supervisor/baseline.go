// The baseline: what the root looked like when PID 1 began, which every delta is told against.
package main

import (
	"encoding/binary"
	"hash/maphash"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

// baseline keeps a path and 64 bits of each entry in PID 1's own memory: nothing inside can read or change it.
type baseline struct {
	root    string
	skipped map[string]bool
	seed    maphash.Seed
	// done is closed when all below is there.
	done   chan struct{}
	list   pathList
	tookMs int64
	failed error
	// comparing lets one comparison at a time use memory of the sandbox.
	comparing sync.Mutex
}

// startBaseline begins the walk and does not wait for it.
func startBaseline() (*baseline, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	skipped := mountPoints(string(mountinfo))
	skipped[toolboxDir] = true
	for _, dir := range virtual {
		skipped[dir] = true
	}
	b := newBaseline("/", skipped)
	beside(b.take)
	return b, nil
}

func newBaseline(root string, skipped map[string]bool) *baseline {
	return &baseline{root: root, skipped: skipped, seed: maphash.MakeSeed(), done: make(chan struct{})}
}

func (b *baseline) take() {
	defer close(b.done)
	begin := time.Now()
	w := &walker{skipped: b.skipped, refuse: func(string, error) {}}
	w.visit = func(path string, status *syscall.Stat_t) error {
		b.list.add(path, isDirectory(status), b.signatureOf(status))
		return nil
	}
	b.failed = w.walk(b.root)
	b.tookMs = time.Since(begin).Milliseconds()
	// What the walk leaves behind would count as the task's memory.
	debug.FreeOSMemory()
}

// signatureOf is keyed by a secret of this PID 1, so that nothing inside can look for another file with the same one.
// ctime is what cannot be set back. A directory has the times of what is made and removed in it, and a size, link
// count and inode that mean nothing: it is told by its mode, owner and mtime.
func (b *baseline) signatureOf(status *syscall.Stat_t) uint64 {
	fields := []uint64{
		uint64(status.Mode), uint64(status.Uid)<<32 | uint64(status.Gid),
		uint64(status.Mtim.Sec), uint64(status.Mtim.Nsec),
	}
	if !isDirectory(status) {
		fields = append(fields, uint64(status.Ctim.Sec), uint64(status.Ctim.Nsec), status.Ino,
			uint64(status.Size), uint64(status.Rdev))
	}
	packed := make([]byte, 0, 9*8)
	for _, field := range fields {
		packed = binary.LittleEndian.AppendUint64(packed, field)
	}
	return maphash.Bytes(b.seed, packed)
}

// baseline answers when everything there was has been seen: before that, nothing of a task may run.
func (s *supervisor) awaitBaseline(e *exchange) (map[string]any, error) {
	if err := e.parse(&emptyRequest{}); err != nil {
		return nil, err
	}
	b, err := s.finishedBaseline()
	if err != nil {
		return nil, err
	}
	return map[string]any{"entries": b.list.entries, "ms": b.tookMs}, nil
}

func (s *supervisor) finishedBaseline() (*baseline, error) {
	if s.baseline == nil {
		return nil, failure{"conflict", "PID 1 was started without --baseline"}
	}
	<-s.baseline.done
	return s.baseline, s.baseline.failed
}
