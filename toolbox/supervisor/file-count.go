// How many files a sandbox has made: a pod has no limit of its own for them, and its node runs out for all.
package main

import (
	"errors"
	"os"
	"runtime/debug"
	"syscall"
	"time"
)

// fewFiles: a file system with no more left than these has none for whoever comes next.
const fewFiles = 1_024

// fileWatch looks at the file system, which costs nothing, and counts only where there may be too many.
type fileWatch struct {
	limit int64
	count func() (int64, error)
	// made were counted last; highest was the most that was free since.
	made, highest int64
	counted       time.Time
	took          time.Duration
}

// freeFiles of the file system that the root lies on, null of one that does not run out of them. `room`: there is space
// left, so that some file system does not mean that by having no files to give.
type freeFiles struct {
	free int64
	room bool
}

func newFileWatch(limit int64, since time.Time) *fileWatch {
	return &fileWatch{limit: limit, count: func() (int64, error) {
		skipped, err := notOnDisk()
		if err != nil {
			return 0, err
		}
		return countFiles("/", skipped, since, limit)
	}}
}

func readFreeFiles() *freeFiles {
	var status syscall.Statfs_t
	if err := uninterrupted(func() error { return syscall.Statfs("/", &status) }); err != nil || status.Files == 0 {
		return nil
	}
	const enough = 64 << 20
	return &freeFiles{free: int64(status.Ffree), room: int64(status.Bavail)*int64(status.Bsize) > enough}
}

// look answers the status to end with, 0: none. What the sandbox has made is at most what it had when it was counted, and
// whatever has gone since.
func (w *fileWatch) look(seen *freeFiles, now time.Time) (status int, why string) {
	if seen == nil {
		return 0, ""
	}
	if seen.free > w.highest {
		w.highest = seen.free
	}
	mayBeOver := w.made+w.highest-seen.free > w.limit
	if !mayBeOver && seen.free >= fewFiles || now.Sub(w.counted) < w.pause() {
		return 0, ""
	}
	begun := time.Now()
	made, err := w.count()
	w.counted, w.took = now, time.Since(begun)
	if err != nil {
		complain("files cannot be counted: %v", err)
		return 0, ""
	}
	w.made, w.highest = made, seen.free
	switch {
	case made > w.limit:
		return exitFiles, "the sandbox has made more files than it may"
	case seen.free < fewFiles && seen.room && made < w.limit/10:
		return exitMachine, "the machine has no files left to give, and the sandbox has few of them"
	}
	return 0, ""
}

// pause keeps the count to a fiftieth of a processor.
func (w *fileWatch) pause() time.Duration {
	const least = 5 * time.Second
	if pause := 50 * w.took; pause > least {
		return pause
	}
	return least
}

// countFiles counts what was made or changed below a directory since a moment, up to one more than the limit: by ctime,
// which nothing inside can set back. A file with several names is one.
func countFiles(root string, skipped map[string]bool, since time.Time, limit int64) (int64, error) {
	var made float64
	enough := errors.New("enough")
	w := &walker{skipped: skipped, maxNames: int(limit), refuse: func(string, error) {}}
	w.visit = func(_ string, status *syscall.Stat_t) error {
		if status.Ctim.Nano() < since.UnixNano() {
			return nil
		}
		if made += share(status); int64(made+0.5) > limit {
			return enough
		}
		return nil
	}
	err := w.walk(root)
	// What the walk leaves behind would count as the task's memory.
	debug.FreeOSMemory()
	if err == enough || err == errTooManyNames {
		return limit + 1, nil
	}
	return int64(made + 0.5), err
}

func share(status *syscall.Stat_t) float64 {
	if isDirectory(status) || status.Nlink == 0 {
		return 1
	}
	return 1 / float64(status.Nlink)
}

// notOnDisk are the toolbox, what is virtual, and what is mounted from memory: the memory limit holds there.
func notOnDisk() (map[string]bool, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	skipped := map[string]bool{toolboxDir: true}
	for _, dir := range virtual {
		skipped[dir] = true
	}
	for path := range mountPoints(string(mountinfo)) {
		var status syscall.Statfs_t
		if err := uninterrupted(func() error { return syscall.Statfs(path, &status) }); err != nil || inMemory(status.Type) {
			skipped[path] = true
		}
	}
	return skipped, nil
}

func inMemory(kind int64) bool {
	const tmpfs, ramfs, proc, sysfs, devpts, cgroup, cgroup2, mqueue = 0x01021994, 0x858458f6, 0x9fa0, 0x62656572, 0x1cd1,
		0x27e0eb, 0x63677270, 0x19800202
	switch kind {
	case tmpfs, ramfs, proc, sysfs, devpts, cgroup, cgroup2, mqueue:
		return true
	}
	return false
}
