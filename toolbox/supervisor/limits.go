// What nothing outside keeps a sandbox within, and what its machine takes from it below its limits: seen by PID 1, which
// then ends all of it, with a status that no process inside can make (toolbox/PROTOCOL.md).
package main

import (
	"os"
	"time"
)

// As sysexits has them: EX_OSERR, EX_CANTCREAT, EX_TEMPFAIL.
const (
	exitProcesses = 71
	exitFiles     = 73
	exitMachine   = 75
)

const boundsEvery = 500 * time.Millisecond

// bounds are what a sandbox may have at most, 0: not looked at.
type bounds struct {
	files, processes int64
}

// ownProcesses: PID 1 and its threads. A cgroup that holds more as it begins is not the sandbox's own.
const ownProcesses = 100

// keepBounds looks for as long as PID 1 lives.
func keepBounds(of bounds, since time.Time) {
	before, remembers := readMemory()
	files := newFileWatch(of.files, since)
	if count, ok := countProcesses(); !ok || count > ownProcesses {
		of.processes = 0
	}
	if of.files > 0 {
		beside(func() {
			for {
				endWith(files.look(readFreeFiles(), time.Now()))
				time.Sleep(boundsEvery)
			}
		})
	}
	for {
		time.Sleep(boundsEvery)
		if count, ok := countProcesses(); ok && of.processes > 0 && count > of.processes {
			endWith(exitProcesses, "the sandbox runs more processes and threads than it may")
		}
		if now, ok := readMemory(); ok && remembers {
			if now.takenByMachine(before) {
				endWith(exitMachine, "the machine ended a process for memory that the sandbox had not used up")
			}
			before = now
		}
	}
}

// countProcesses counts those of the sandbox's cgroup, with their threads.
func countProcesses() (int64, bool) { return cgroupNumber("", "pids.current", "pids/pids.current") }

// endWith ends PID 1, and all that runs with it; 0: not.
func endWith(status int, why string) {
	if status == 0 {
		return
	}
	complain("%s", why)
	leaveWord(terminationLog, why)
	os.Exit(status)
}
