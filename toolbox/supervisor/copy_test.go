package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestCopyKeepsWhatAnImageHas(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(from, "deep"), 0o755))
	must(os.WriteFile(filepath.Join(from, "deep/a"), []byte("a"), 0o640))
	must(os.Link(filepath.Join(from, "deep/a"), filepath.Join(from, "b")))
	must(os.Symlink("/nowhere", filepath.Join(from, "link")))
	must(syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600))
	must(syscall.Chmod(filepath.Join(from, "b"), 0o4755))
	old := time.Unix(1_000_000_000, 5)
	must(os.Chtimes(filepath.Join(from, "deep"), old, old))
	must(syscall.Chmod(from, 0o1777))

	must(copyTree(from, to))
	var root, a, b, deep, pipe syscall.Stat_t
	for path, status := range map[string]*syscall.Stat_t{"": &root, "deep/a": &a, "b": &b, "deep": &deep, "pipe": &pipe} {
		must(syscall.Lstat(filepath.Join(to, path), status))
	}
	if root.Mode&0o7777 != 0o1777 || b.Mode&0o7777 != 0o4755 || pipe.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		t.Errorf("modes %o %o %o", root.Mode, b.Mode, pipe.Mode)
	}
	if a.Ino != b.Ino {
		t.Error("hard links came apart")
	}
	if deep.Mtim.Nano() != old.UnixNano() {
		t.Errorf("time %d", deep.Mtim.Nano())
	}
	if target, err := os.Readlink(filepath.Join(to, "link")); err != nil || target != "/nowhere" {
		t.Errorf("link to %q: %v", target, err)
	}
}

func TestCopyLeavesAVolumeThatHasBegun(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(from, "a"), filepath.Join(to, "b")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(to, "a")); !os.IsNotExist(err) {
		t.Errorf("it was copied over: %v", err)
	}
}

func TestCopyMakesWhatTheImageLacks(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "no/such"), t.TempDir()
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	status, err := os.Stat(to)
	if err != nil || status.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", status.Mode(), err)
	}
}
