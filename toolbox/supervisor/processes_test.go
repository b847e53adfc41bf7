// Tests of reading processes, and of killing a tree that tries to get away.
package main

import (
	"os"
	"os/exec"
	"reflect"
	"syscall"
	"testing"
	"time"
)

func TestAStatLineIsReadWhateverTheProcessCallsItself(t *testing.T) {
	for text, want := range map[string]process{
		"1 (sh) S 0 1 1 0":              {pid: 1, parent: 0},
		"42 (a) b (c) ) R 7 42":         {pid: 42, parent: 7},
		"9 (x\ny)) Z 1 9":               {pid: 9, parent: 1, zombie: true},
		"10 () T 3 10 10":               {pid: 10, parent: 3, stopped: true},
		"10 (x) t 3 10 10":              {pid: 10, parent: 3, stopped: true},
		"11 (S 99 99) (S 1 1) S 4 11 0": {pid: 11, parent: 4},
	} {
		if got, err := parseStat([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "x (sh) S 0", "1 (sh) S", "1 sh S 0"} {
		if got, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestDescendantsAreAllBelowAndNoZombies(t *testing.T) {
	all := []process{
		{pid: 2, parent: 1}, {pid: 3, parent: 2}, {pid: 4, parent: 3, zombie: true}, {pid: 5, parent: 4},
		{pid: 6, parent: 1}, {pid: 7, parent: 3},
	}
	if got := descendants(all, 2); !reflect.DeepEqual(got, []int{3, 7, 5}) {
		t.Errorf("%v", got)
	}
	if got := descendants(all, 99); got != nil {
		t.Errorf("%v", got)
	}
}

func TestATreeIsKilledWithWhatLeftItsGroupAndSession(t *testing.T) {
	// C25. The shell ignores SIGTERM, and its children are in sessions of their own.
	// As a shim does: what loses its parent stays below this process.
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetSubreaper, 1, 0); errno != 0 {
		t.Fatal(errno)
	}
	marker := t.TempDir() + "/pids"
	script := `trap "" TERM; for i in 1 2 3; do setsid sh -c 'echo $$ >> ` + marker + `; exec sleep 60' & done; wait`
	command := exec.Command("sh", "-c", script)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	shell := command.Process.Pid
	var below []int
	for until := time.Now().Add(10 * time.Second); len(below) < 3 && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		all, err := listProcesses()
		if err != nil {
			t.Fatal(err)
		}
		below = descendants(all, shell)
	}
	if len(below) < 3 {
		t.Fatalf("%v", below)
	}
	if err := killTree(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range below {
		if one, err := readProcess(pid); err == nil && !one.zombie {
			t.Errorf("%d lives", pid)
		}
	}
	if err := command.Wait(); err == nil || command.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the shell ended with %v", command.ProcessState)
	}
}
