// The one reaper of PID 1, and the one way to start a process under it.
package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Nothing else in PID 1 may call wait: the reaper takes every child, and hands on those that were registered.
var reaper = struct {
	sync.Mutex
	waiting map[int]chan syscall.WaitStatus
}{waiting: map[int]chan syscall.WaitStatus{}}

func startReaper() {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	beside(func() {
		for range children {
			reap()
		}
	})
}

func reap() {
	for {
		var status syscall.WaitStatus
		// Under the lock: a child that ends at once is not seen before start has registered it.
		reaper.Lock()
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if pid > 0 {
			if ended, ok := reaper.waiting[pid]; ok {
				delete(reaper.waiting, pid)
				ended <- status
			}
		}
		reaper.Unlock()
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 {
			return
		}
	}
}

// start runs this program in another part (`shim`, `launch`) with the files as its descriptors 0, 1, 2, ...
// The channel gives its end, once.
func start(arguments, env []string, files []*os.File, attributes *syscall.SysProcAttr, dir string) (int, <-chan syscall.WaitStatus, error) {
	descriptors := make([]uintptr, len(files))
	for i, file := range files {
		descriptors[i] = file.Fd()
	}
	ended := make(chan syscall.WaitStatus, 1)
	reaper.Lock()
	defer reaper.Unlock()
	pid, err := syscall.ForkExec(selfPath, append([]string{"supervisor"}, arguments...), &syscall.ProcAttr{
		Dir: dir, Env: env, Files: descriptors, Sys: attributes,
	})
	if err != nil {
		return 0, nil, err
	}
	reaper.waiting[pid] = ended
	return pid, ended, nil
}
