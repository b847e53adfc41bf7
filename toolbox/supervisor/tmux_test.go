// Tests of what goes into tmux as text, and of the recording that comes out of it.
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

func TestQuotedTextHoldsNothingThatTmuxWouldRead(t *testing.T) {
	for text, want := range map[string]string{
		"ls -la\n": `"ls \055la\012"`, `a"b\c;`: `"a\042b\134c\073"`, "$HOME ~#{x}": `"\044HOME \176\043\173x\175"`, "é": `"é"`, "": `""`,
	} {
		if got := quote(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestARecordingIsAsciicastAndKeepsCharactersWhole(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/cast")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{to: file, left: 200}
	r.line(map[string]any{"version": 2})
	text := "h\u00e9 <\U0001f600>\xff."
	for i := range []byte(text) {
		r.event(time.Duration(i)*time.Second, []byte(text)[i:i+1])
	}
	raw, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	for _, line := range lines[1:] {
		var event []any
		if err := json.Unmarshal(line, &event); err != nil || len(event) != 3 || event[1] != "o" {
			t.Fatalf("%s: %v", line, err)
		}
		said.WriteString(event[2].(string))
	}
	if got := said.String(); got != "h\u00e9 <\U0001f600>\ufffd." {
		t.Errorf("%q", got)
	}
}

func TestARecordingStopsWholeAtItsLimit(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/cast")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{to: file, left: 50}
	for i := 0; i < 10; i++ {
		r.event(time.Second, []byte("0123456789"))
	}
	raw, err := os.ReadFile(file.Name())
	if err != nil || len(raw) > 50 || len(raw) == 0 || raw[len(raw)-1] != '\n' {
		t.Errorf("%q, %v", raw, err)
	}
}

func TestProgramsAreFoundAsExecvpFindsThem(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"run": 0o755, "data": 0o644} {
		if err := os.WriteFile(dir+"/"+name, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct{ name, path, want string }{
		{"run", "/nowhere:" + dir, dir + "/run"}, {"data", dir, ""}, {"run", ".", dir + "/run"}, {"run", ":/x", dir + "/run"},
		{"./any", "", "./any"}, {"", dir, ""}, {"nope", dir, ""},
	} {
		if got, err := findProgram(one.name, one.path, dir); got != one.want || (err == nil) != (one.want != "") {
			t.Errorf("%+v: %q, %v", one, got, err)
		}
	}
}

func TestAbsolutePathsOnlyAreTaken(t *testing.T) {
	for path, want := range map[string]string{"/": "/", "/a//b/./c/": "/a/b/c"} {
		if got, err := absolute(path); got != want || err != nil {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	for _, path := range []string{"", "a", "../a", "/a/../b", "/a\x00b"} {
		if got, err := absolute(path); err == nil {
			t.Errorf("%q: %s", path, got)
		}
	}
	for _, one := range []struct {
		path, dir string
		want      bool
	}{{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/a", "/", true}, {"/", "/a", false}} {
		if within(one.path, one.dir) != one.want {
			t.Errorf("%+v", one)
		}
	}
}

func TestNumbersOfTheCgroupAreReadOrNull(t *testing.T) {
	if n, ok := numberOf("low 0\noom 3\noom_kill 2\n", "oom_kill"); n != 2 || !ok {
		t.Error(n, ok)
	}
	if n, ok := numberOf("4096\n", ""); n != 4096 || !ok {
		t.Error(n, ok)
	}
	for _, text := range []string{"", "max\n", "oom 1\n"} {
		if n, ok := numberOf(text, "oom_kill"); ok {
			t.Error(text, n)
		}
	}
	if got, err := firstNumber("", "/nowhere/a", "/nowhere/b"); got != nil || err != nil {
		t.Error(got, err)
	}
}
