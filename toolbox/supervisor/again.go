// A service that is started again when it ends: `again POLICY ARGV...`, as an engine's restart policies have it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	firstPause = 100 * time.Millisecond
	lastPause  = time.Minute
	// longRun is how long a run must last for the pauses to begin anew.
	longRun = 10 * time.Second
)

// restartPolicy says whether to start again after the n-th start (from 0) has ended.
type restartPolicy func(status, restarts int) bool

// policyOf reads `always`, `on-failure` or `on-failure:N`.
func policyOf(text string) (restartPolicy, bool) {
	name, count, counted := strings.Cut(text, ":")
	switch {
	case text == "always":
		return func(int, int) bool { return true }, true
	case name != "on-failure":
		return nil, false
	case !counted:
		return func(status, _ int) bool { return status != 0 }, true
	}
	most, err := strconv.Atoi(count)
	if err != nil || most < 1 {
		return nil, false
	}
	return func(status, restarts int) bool { return status != 0 && restarts < most }, true
}

// runAgain exits with the status of the last run, 128 + signal where a signal ended it.
func runAgain(arguments []string) int {
	if len(arguments) < 2 {
		fmt.Fprint(os.Stderr, usageText)
		return 64
	}
	again, known := policyOf(arguments[0])
	if !known {
		complain("again: %s is no policy", arguments[0])
		return 64
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	pause := firstPause
	for restarts := 0; ; restarts++ {
		begun := time.Now()
		status, told := runOnce(arguments[1:], signals)
		if told || !again(status, restarts) {
			return status
		}
		if time.Since(begun) >= longRun {
			pause = firstPause
		}
		select {
		case <-time.After(pause):
		case <-signals:
			return status
		}
		if pause *= 2; pause > lastPause {
			pause = lastPause
		}
	}
}

// runOnce runs the program to its end; `told`: a signal that was passed on asked for that end.
func runOnce(argv []string, signals <-chan os.Signal) (status int, told bool) {
	command := exec.Command(argv[0], argv[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := command.Start(); err != nil {
		complain("again: %v", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return exitNotFound, false
		}
		return exitCannotExecute, false
	}
	ended := make(chan struct{})
	go func() {
		// Its status is read below, whatever Wait makes of it.
		_ = command.Wait()
		close(ended)
	}()
	for {
		select {
		case received := <-signals:
			told = true
			// It may have ended just now.
			_ = command.Process.Signal(received)
		case <-ended:
			return endingOf(command.ProcessState), told
		}
	}
}

func endingOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
