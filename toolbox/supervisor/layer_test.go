// Tests of laying archives: hostile entries are refused by kind (C19), and nothing is written through a link.
package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type laidEntry struct {
	header  tar.Header
	content string
}

func file(name, content string) laidEntry {
	return laidEntry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o640}, content}
}

func link(kind byte, name, target string) laidEntry {
	return laidEntry{tar.Header{Name: name, Typeflag: kind, Linkname: target, Mode: 0o777}, ""}
}

func layInto(t *testing.T, dir string, entries ...laidEntry) *layer {
	t.Helper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, one := range entries {
		header := one.header
		header.Size, header.Format = int64(len(one.content)), tar.FormatPAX
		if header.ModTime.IsZero() {
			header.ModTime = time.Unix(1_000_000_000, 500_000_000)
		}
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(one.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	root, err := openRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.close()
	l := &layer{root: root, dir: dir, owner: &owner{os.Getuid(), os.Getgid()}, laid: map[string]bool{}}
	defer l.forgetParent()
	if err := l.layAll(tar.NewReader(&archive)); err != nil {
		t.Fatal(err)
	}
	return l
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestHostileEntriesAreRefusedByNameAndTheRestIsLaid(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "planted")); err != nil {
		t.Fatal(err)
	}
	l := layInto(t, dir,
		file("good", "1"),
		file("/absolute", "x"), file("../up", "x"), file("a/../../up", "x"), file("planted/x", "x"),
		link(tar.TypeSymlink, "own", outside), file("own/x", "x"),
		link(tar.TypeLink, "out", "../etc/passwd"), link(tar.TypeLink, "old", "planted"), link(tar.TypeLink, "unlaid", "nothing"),
		link(tar.TypeFifo, "fifo", ""), link(tar.TypeChar, "char", ""), link(tar.TypeBlock, "block", ""),
		file("last/deep", "2"),
	)
	var refused []string
	for _, one := range l.refused.all() {
		refused = append(refused, one.Path)
	}
	want := "/absolute ../up a/../../up planted/x own/x out old unlaid fifo char block"
	if got := strings.Join(refused, " "); got != want {
		t.Errorf("refused %s", got)
	}
	if l.entries != 3 || content(t, dir+"/good") != "1" || content(t, dir+"/last/deep") != "2" {
		t.Errorf("%d entries laid", l.entries)
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 0 {
		t.Errorf("outside: %v, %v", names, err)
	}
}

func TestFilesAreReplacedAndNeverWrittenThrough(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()+"/target"
	if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, dir+"/a"); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, dir+"/b"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/full", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/full/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := layInto(t, dir, file("a", "new"), file("b", "new"), file("full", "new"), link(tar.TypeLink, "h", "a"), link(tar.TypeLink, "a", "a"))
	if content(t, outside) != "kept" || content(t, dir+"/a") != "new" || content(t, dir+"/b") != "new" || content(t, dir+"/h") != "new" {
		t.Error("a file was written through")
	}
	if refused := l.refused.all(); len(refused) != 1 || refused[0].Path != "full" {
		t.Errorf("%v", refused)
	}
}

func TestModesAndTimesAreTheArchives(t *testing.T) {
	dir := t.TempDir()
	when := time.Unix(1_000_000_000, 123_456_789)
	layInto(t, dir,
		laidEntry{tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o2750, ModTime: when}, ""},
		laidEntry{tar.Header{Name: "d/f", Typeflag: tar.TypeReg, Mode: 0o4711, ModTime: when}, "x"},
	)
	for name, mode := range map[string]os.FileMode{
		"d": os.ModeDir | os.ModeSetgid | 0o750, "d/f": os.ModeSetuid | 0o711,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != mode || !info.ModTime().Equal(when) {
			t.Errorf("%s: %v %v, %v", name, info.Mode(), info.ModTime(), err)
		}
	}
}

func TestTheToolboxItselfIsNeverLaid(t *testing.T) {
	l := &layer{dir: "/"}
	for _, name := range []string{"opt/passband", "opt/passband/bin/supervisor", "./opt//passband/x"} {
		header := tar.Header{Name: name, Typeflag: tar.TypeReg}
		if err := l.lay(&header, nil); err != refused("the toolbox's own path") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatStandsInAParentsPlaceMakesRoom(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/logs", []byte("planted"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := clearParents(dir + "/logs/verifier/x"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/logs/verifier/x", 0o755); err != nil {
		t.Error(err)
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	var r refusals
	for i := 0; i < maxRefused+5; i++ {
		r.add("x", "y")
	}
	if all := r.all(); len(all) != maxRefused+1 || all[maxRefused].Why != "and 5 more" {
		t.Errorf("%d", len(all))
	}
}
