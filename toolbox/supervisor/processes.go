// The processes of the sandbox as /proc shows them: freezing, ending, and killing one job's tree.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Processes that do not die within this time hang in the kernel.
const dyingLimit = 60 * time.Second

type process struct {
	pid, parent int
	zombie      bool
	// stopped: by a signal, or by who traces it.
	stopped bool
}

var errNoProcess = errors.New("no such process")

// parseStat reads /proc/PID/stat: `pid (name) state ppid ...`; the name may hold anything, parentheses included.
func parseStat(text []byte) (process, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return process{}, fmt.Errorf("not a stat line: %q", text)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text[:open])))
	if err != nil {
		return process{}, err
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 2 {
		return process{}, fmt.Errorf("not a stat line: %q", text)
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return process{}, err
	}
	state := fields[0][0]
	return process{
		pid: pid, parent: parent, zombie: state == 'Z' || state == 'X', stopped: state == 'T' || state == 't',
	}, nil
}

func readProcess(pid int) (process, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, errNoProcess
	}
	return parseStat(text)
}

func listProcesses() ([]process, error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		one, err := readProcess(pid)
		if errors.Is(err, errNoProcess) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

// descendants gives the living processes below `root`, itself not among them.
func descendants(all []process, root int) []int {
	children := map[int][]process{}
	for _, one := range all {
		children[one.parent] = append(children[one.parent], one)
	}
	var below []int
	next := []int{root}
	for len(next) > 0 {
		parent := next[0]
		next = next[1:]
		for _, child := range children[parent] {
			next = append(next, child.pid)
			if !child.zombie {
				below = append(below, child.pid)
			}
		}
	}
	return below
}

func sendAll(pids []int, number syscall.Signal) error {
	for _, pid := range pids {
		if err := syscall.Kill(pid, number); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("kill %d: %w", pid, err)
		}
	}
	return nil
}

// killTree ends everything below `root`. All are stopped first, so that none can fork away between two looks.
func killTree(root int) error {
	stopped := map[int]bool{}
	for {
		all, err := listProcesses()
		if err != nil {
			return err
		}
		grown := false
		for _, pid := range descendants(all, root) {
			if stopped[pid] {
				continue
			}
			stopped[pid], grown = true, true
			if err := sendAll([]int{pid}, syscall.SIGSTOP); err != nil {
				return err
			}
		}
		if !grown {
			break
		}
	}
	return killUntilGone(func() ([]int, error) {
		all, err := listProcesses()
		return descendants(all, root), err
	})
}

func killUntilGone(left func() ([]int, error)) error {
	until := time.Now().Add(dyingLimit)
	for pause := time.Millisecond; ; {
		pids, err := left()
		if err != nil || len(pids) == 0 {
			return err
		}
		if err := sendAll(pids, syscall.SIGKILL); err != nil {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d processes did not die within %v", len(pids), dyingLimit)
		}
		time.Sleep(pause)
		if pause < 20*time.Millisecond {
			pause *= 2
		}
	}
}

// freeze stops every process but PID 1, in one call that no fork slips through; `ours` go on.
func freeze(ours []int) error {
	if err := syscall.Kill(-1, syscall.SIGSTOP); err != nil && err != syscall.ESRCH {
		return err
	}
	return sendAll(ours, syscall.SIGCONT)
}

func thaw() error {
	if err := syscall.Kill(-1, syscall.SIGCONT); err != nil && err != syscall.ESRCH {
		return err
	}
	return nil
}

// endAll kills every process but PID 1 and what `ours` gives, until none is left.
func endAll(ours func() []int) error {
	if err := freeze(ours()); err != nil {
		return err
	}
	return killUntilGone(func() ([]int, error) {
		all, err := listProcesses()
		if err != nil {
			return nil, err
		}
		keep := map[int]bool{1: true}
		for _, pid := range ours() {
			keep[pid] = true
		}
		var left []int
		for _, one := range all {
			if !keep[one.pid] && !one.zombie {
				left = append(left, one.pid)
			}
		}
		return left, nil
	})
}
