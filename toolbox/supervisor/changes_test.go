// Tests of the baseline and what is told to differ from it, on real files: what was set back is found all the same.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeTree makes files (`a/b`, content `a/b`) and, by a trailing slash, directories.
func fakeTree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			check(t, os.MkdirAll(path, 0o755))
			continue
		}
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(name), 0o644))
	}
	return root
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func baselineOf(t *testing.T, root string, skipped ...string) *baseline {
	t.Helper()
	skip := map[string]bool{}
	for _, name := range skipped {
		skip[root+"/"+name] = true
	}
	b := newBaseline(root, skip)
	b.take()
	check(t, b.failed)
	// Kernels tell times of files by their ticks.
	time.Sleep(20 * time.Millisecond)
	return b
}

// told gives `+added ~changed -deleted !refused`, relative to the root.
func told(t *testing.T, b *baseline) []string {
	t.Helper()
	c := newComparison(b)
	check(t, c.run())
	lines := []string{}
	for mark, paths := range map[string][]string{"+": c.added, "~": c.changed, "-": c.deleted} {
		for _, path := range paths {
			lines = append(lines, mark+strings.TrimPrefix(path, b.root+"/"))
		}
	}
	for _, one := range c.refused.all() {
		lines = append(lines, "!"+strings.TrimPrefix(one.Path, b.root+"/"))
	}
	return lines
}

func expectTold(t *testing.T, b *baseline, wanted ...string) {
	t.Helper()
	got := map[string]int{}
	for _, line := range told(t, b) {
		got[line]++
	}
	expected := map[string]int{}
	for _, line := range wanted {
		expected[line]++
	}
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("told %v, wanted %v", got, expected)
	}
}

func TestTellsNothingWhereNothingWasDone(t *testing.T) {
	root := fakeTree(t, "a/x", "a/y/z", "a-b", "ab/c", "empty/", "z")
	expectTold(t, baselineOf(t, root))
}

func TestTellsWhatIsNewOtherAndGone(t *testing.T) {
	root := fakeTree(t, "d/keep", "d/gone", "tree/a", "tree/b/c", "tree-x", "mode", "z")
	b := baselineOf(t, root)
	check(t, os.WriteFile(root+"/new", nil, 0o644))
	check(t, os.MkdirAll(root+"/made/below", 0o755))
	check(t, os.Remove(root+"/d/gone"))
	check(t, os.RemoveAll(root+"/tree"))
	check(t, os.Chmod(root+"/mode", 0o4755))
	expectTold(t, b, "+new", "+made", "+made/below", "~d", "-d/gone", "-tree", "~mode")
}

func TestFindsAFileWhoseSizeAndTimesWereSetBack(t *testing.T) {
	root := fakeTree(t, "file", "other")
	b := baselineOf(t, root)
	info, err := os.Stat(root + "/file")
	check(t, err)
	check(t, os.WriteFile(root+"/file", []byte("FILE"), 0o644))
	check(t, os.Chtimes(root+"/file", info.ModTime(), info.ModTime()))
	expectTold(t, b, "~file")
}

func TestFindsWhatWasRenamedOverAndADirectoryThatWasMovedWhole(t *testing.T) {
	root := fakeTree(t, "one/f", "two/f", "from/a", "from/b/c")
	b := baselineOf(t, root)
	check(t, os.Rename(root+"/one", root+"/swap"))
	check(t, os.Rename(root+"/two", root+"/one"))
	check(t, os.Rename(root+"/swap", root+"/two"))
	check(t, os.Rename(root+"/from", root+"/to"))
	got := strings.Join(told(t, b), " ")
	for _, wanted := range []string{"~one/f", "~two/f", "-from", "+to", "+to/a", "+to/b", "+to/b/c"} {
		if !strings.Contains(" "+got+" ", " "+wanted+" ") {
			t.Errorf("%s is not in %s", wanted, got)
		}
	}
}

func TestTellsWhatTookAnothersPlace(t *testing.T) {
	root := fakeTree(t, "dir/a", "dir/b", "file", "link")
	b := baselineOf(t, root)
	check(t, os.RemoveAll(root+"/dir"))
	check(t, os.WriteFile(root+"/dir", nil, 0o644))
	check(t, os.Remove(root+"/file"))
	check(t, os.MkdirAll(root+"/file/in", 0o755))
	check(t, os.Remove(root+"/link"))
	check(t, os.Symlink("file", root+"/link"))
	expectTold(t, b, "-dir", "+dir", "~file", "+file/in", "~link")
}

func TestNamesWhatCannotBeTold(t *testing.T) {
	root := fakeTree(t, "old\xff")
	b := baselineOf(t, root)
	check(t, os.Remove(root+"/old\xff"))
	check(t, os.WriteFile(root+"/new\xfe", nil, 0o644))
	check(t, syscall.Mkfifo(root+"/fifo", 0o644))
	expectTold(t, b, `!old\xff`, `!new\xfe`, "+fifo")
}

func TestDoesNotEnterWhatIsSkipped(t *testing.T) {
	root := fakeTree(t, "proc/1", "etc/hosts", "etc/passwd")
	b := baselineOf(t, root, "proc", "etc/hosts")
	check(t, os.WriteFile(root+"/proc/2", nil, 0o644))
	check(t, os.WriteFile(root+"/etc/hosts", []byte("other"), 0o644))
	expectTold(t, b)
}

func TestEndsWhereTooManyPathsDiffer(t *testing.T) {
	root := fakeTree(t)
	b := baselineOf(t, root)
	c := newComparison(b)
	c.added = make([]string, maxChanges)
	check(t, os.WriteFile(root+"/one", nil, 0o644))
	if err := c.run(); err != errTooManyChanges {
		t.Errorf("ended with %v", err)
	}
}

func TestReadsMountPoints(t *testing.T) {
	points := mountPoints("1 0 0:1 / / rw - overlay overlay rw\n2 1 0:2 /x /etc/hosts rw - ext4 /dev/x rw\n3 1 0:3 / /a\\040b\\134c rw - tmpfs t rw\n")
	if wanted := (map[string]bool{"/etc/hosts": true, "/a b\\c": true}); !reflect.DeepEqual(points, wanted) {
		t.Errorf("read %v", points)
	}
}

func TestKeepsAPathInFewBytes(t *testing.T) {
	var list pathList
	const entries = 100_000
	name := func(i int) string {
		return fmt.Sprintf("/usr/lib/python3/dist-packages/package%03d/module_with_a_name_%04d.py", i/500, i%500)
	}
	for i := 0; i < entries; i++ {
		list.add(name(i), i%500 == 0, uint64(i))
	}
	bytes := 0
	for _, chunk := range list.chunks {
		bytes += cap(chunk)
	}
	if bytes > 3<<20 {
		t.Errorf("%d entries take %d bytes", entries, bytes)
	}
	read := list.read()
	for i := 0; i < entries; i++ {
		if !read.next() || string(read.path) != name(i) || read.signature != uint64(i) || read.directory != (i%500 == 0) {
			t.Fatalf("entry %d reads as %s", i, read.path)
		}
	}
	if read.next() {
		t.Error("there is more than was added")
	}
}

func BenchmarkBaseline(b *testing.B) {
	for i := 0; i < b.N; i++ {
		newBaseline("/usr", map[string]bool{}).take()
	}
}
