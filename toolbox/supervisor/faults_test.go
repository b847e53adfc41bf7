// Tests of our own faults: whatever goroutine they come up in, they end the program with one status, and say why.
package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const faultyVariable = "SUPERVISOR_TEST_FAULT"

func TestAFaultInAnyGoroutineEndsTheProgramWithAStatusOfItsOwn(t *testing.T) {
	if os.Getenv(faultyVariable) != "" {
		beside(func() {
			var none map[string]int
			none["x"] = 1
		})
		time.Sleep(time.Minute)
	}
	command := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	command.Env = append(os.Environ(), faultyVariable+"=1")
	words, err := command.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != exitFault {
		t.Errorf("it ended with %v", err)
	}
	for _, part := range []string{"nil map", "faults_test.go"} {
		if !strings.Contains(string(words), part) {
			t.Errorf("nothing of %q in %s", part, words)
		}
	}
}

func TestTheLastWordGoesIntoAFileThatIsThereAndNowhereElse(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	leaveWord(link, "through a link")
	leaveWord(filepath.Join(dir, "none"), "word")
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "before" {
		t.Errorf("%q, %v", text, err)
	}
	leaveWord(file, strings.Repeat("x", 2*maxTerminationBytes))
	if text, err := os.ReadFile(file); err != nil || len(text) != maxTerminationBytes {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// Parts of the program that are not PID 1, and whose status is not its.
var notInit = map[string]bool{"again.go": true}

func TestNoGoroutineOfPID1BeginsWhereAFaultOfItWouldReadAsTheAgents(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || notInit[name] {
			continue
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if ok && function.Name.Name == "beside" {
				continue
			}
			ast.Inspect(declared, func(node ast.Node) bool {
				if statement, ok := node.(*ast.GoStmt); ok {
					t.Errorf("%v: a goroutine that is not begun by `beside`", files.Position(statement.Pos()))
				}
				return true
			})
		}
	}
}
