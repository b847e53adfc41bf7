// Faults of our own in PID 1: they end it with a status of their own, so that nobody takes them for the agent's doing.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

const (
	// exitFault is sysexits' EX_SOFTWARE. Go's own 2 is left to what it cannot go on from: no memory, or no thread, to be
	// had.
	exitFault = 70
	// Kubernetes shows what stands there of a container that has ended.
	terminationLog      = "/dev/termination-log"
	maxTerminationBytes = 4096
)

// beside runs `work` beside the rest: every goroutine of PID 1 begins here.
func beside(work func()) {
	go func() {
		defer endOnFault()
		work()
	}()
}

// endOnFault is deferred: it tells of a panic, and ends the program.
func endOnFault() {
	problem := recover()
	if problem == nil {
		return
	}
	words, stack := fmt.Sprintf("a fault of PID 1 itself: %v", problem), debug.Stack()
	// The last lines are what an engine shows of a log.
	complain("%s", stack)
	complain("%s", words)
	leaveWord(terminationLog, fmt.Sprintf("%s\n%s", words, stack))
	os.Exit(exitFault)
}

// leaveWord writes where somebody made a file for it. What runs inside may have put something else there.
func leaveWord(path, words string) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer file.Close()
	if len(words) > maxTerminationBytes {
		words = words[:maxTerminationBytes]
	}
	_, _ = file.WriteString(words)
}
