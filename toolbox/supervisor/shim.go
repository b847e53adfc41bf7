// The shim of one job: every process that the job makes stays below it, and it tells how the main one ended.
package main

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
)

// Descriptors that PID 1 gives to a shim beside those of the job.
const (
	shimStatusFd = 3
	shimJobFd    = 4
)

// shimJob is what PID 1 tells its shim to start.
type shimJob struct {
	Argv     []string `json:"argv"`
	Env      []string `json:"env"`
	Dir      string   `json:"dir"`
	Uid      uint32   `json:"uid"`
	Gid      uint32   `json:"gid"`
	Groups   []uint32 `json:"groups"`
	OomScore int      `json:"oomScore"`
}

// shimStatus is what the shim says once, as soon as the main process has ended or could not be started.
type shimStatus struct {
	ExitCode int    `json:"exitCode"`
	Signal   int    `json:"signal"`
	Problem  string `json:"problem"`
}

func runShim() int {
	hideFromTracing()
	status := os.NewFile(shimStatusFd, "status")
	syscall.CloseOnExec(shimStatusFd)
	syscall.CloseOnExec(shimJobFd)
	source := os.NewFile(shimJobFd, "job")
	var job shimJob
	if err := json.NewDecoder(source).Decode(&job); err != nil {
		complain("shim: %v", err)
		return 70
	}
	source.Close()
	main, problem := startMain(job)
	if err := leaveStreams(); err != nil {
		complain("shim: %v", err)
		return 70
	}
	if problem != nil {
		return report(status, shimStatus{ExitCode: exitStatusOf(problem), Problem: problem.Error()})
	}
	exit := 0
	for {
		var ended syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ended, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			// No child is left: everything that the job made is gone.
			return exit
		case pid == main && ended.Signaled():
			number := int(ended.Signal())
			exit = report(status, shimStatus{ExitCode: 128 + number, Signal: number})
		case pid == main && ended.Exited():
			exit = report(status, shimStatus{ExitCode: ended.ExitStatus()})
		}
	}
}

func startMain(job shimJob) (int, error) {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetSubreaper, 1, 0); errno != 0 {
		return 0, errno
	}
	if err := addOomScore(job.OomScore); err != nil {
		return 0, err
	}
	path := ""
	for _, entry := range job.Env {
		if strings.HasPrefix(entry, "PATH=") {
			path = entry[len("PATH="):]
		}
	}
	program, err := findProgram(job.Argv[0], path, job.Dir)
	if err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(program, job.Argv, &syscall.ProcAttr{
		Dir: job.Dir, Env: job.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{
			Setsid:     true,
			Credential: &syscall.Credential{Uid: job.Uid, Gid: job.Gid, Groups: job.Groups},
		},
	})
	if err != nil {
		return 0, &os.PathError{Op: "cannot start", Path: program, Err: err}
	}
	return pid, nil
}

// leaveStreams gives up the job's stdin, stdout and stderr, so that their ends are the job's own.
func leaveStreams() error {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for descriptor := 0; descriptor < 3; descriptor++ {
		if err := syscall.Dup3(int(null.Fd()), descriptor, 0); err != nil {
			return err
		}
	}
	return nil
}

func report(to *os.File, status shimStatus) int {
	err := json.NewEncoder(to).Encode(status)
	to.Close()
	if err != nil {
		return 70
	}
	return 0
}
