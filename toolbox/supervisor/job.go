// One job: its shim, its streams, its result.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

type job struct {
	shim    int
	started time.Time
	// done is closed once the main process has ended, gone once nothing of the job is left.
	done, gone chan struct{}
	mutex      sync.Mutex
	result     map[string]any
	kept       int
	timedOut   bool
}

func (one *job) outcome() map[string]any {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	if one.result == nil {
		return map[string]any{"state": "lost", "message": "the result of this job was dropped for newer ones"}
	}
	return one.result
}

// drop forgets the result, and gives the bytes that it held.
func (one *job) drop() int {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	one.result = nil
	return one.kept
}

// jobPipes are both ends of what a shim gets: PID 1 keeps ours, the shim gets theirs.
type jobPipes struct {
	ours, theirs []*os.File
}

func (p *jobPipes) add(outward bool) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	if outward {
		p.ours, p.theirs = append(p.ours, reader), append(p.theirs, writer)
	} else {
		p.ours, p.theirs = append(p.ours, writer), append(p.theirs, reader)
	}
	return nil
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}

func startShim(plan shimJob, stdin []byte, limit int, file *outputFile) (*job, error) {
	var pipes jobPipes
	for _, outward := range []bool{false, true, true, true, false} {
		if err := pipes.add(outward); err != nil {
			closeFiles(append(pipes.ours, pipes.theirs...))
			return nil, err
		}
	}
	one := &job{started: time.Now(), done: make(chan struct{}), gone: make(chan struct{})}
	pid, ended, err := start([]string{"shim"}, nil, pipes.theirs, &syscall.SysProcAttr{Setsid: true}, "/")
	closeFiles(pipes.theirs)
	if err != nil {
		closeFiles(pipes.ours)
		return nil, fmt.Errorf("no process could be started: %w", err)
	}
	one.shim = pid
	beside(func() {
		<-ended
		close(one.gone)
	})
	beside(func() { feed(pipes.ours[0], stdin) })
	stdout := startCapture(pipes.ours[1], limit, file)
	stderr := startCapture(pipes.ours[2], limit, file)
	beside(func() {
		defer pipes.ours[4].Close()
		if err := json.NewEncoder(pipes.ours[4]).Encode(plan); err != nil {
			complain("job: %v", err)
		}
	})
	beside(func() { one.follow(pipes.ours[3], stdout, stderr, file) })
	return one, nil
}

// feed gives a job its stdin; a job that does not read it to its end is no error.
func feed(to *os.File, data []byte) {
	defer to.Close()
	_, _ = to.Write(data)
}

// follow waits for the shim's word about the main process; a shim that ends without one was killed.
func (one *job) follow(from *os.File, stdout, stderr *capture, file *outputFile) {
	defer from.Close()
	status := shimStatus{ExitCode: 128 + int(syscall.SIGKILL), Signal: int(syscall.SIGKILL)}
	var told shimStatus
	if json.NewDecoder(io.LimitReader(from, 64<<10)).Decode(&told) == nil {
		status = told
	}
	wall := time.Since(one.started)
	out, outOmitted := stdout.finish()
	errors, errorsOmitted := stderr.finish()
	file.close()
	for _, problem := range []string{status.Problem, file.problem} {
		if problem != "" {
			errors = append(errors, []byte("passband: "+problem+"\n")...)
		}
	}
	var number any
	if status.Signal != 0 {
		number = status.Signal
	}
	one.mutex.Lock()
	defer one.mutex.Unlock()
	one.result = map[string]any{
		"state": "exited", "exitCode": status.ExitCode, "signal": number, "timedOut": one.timedOut,
		"wallMs": wall.Milliseconds(),
		"stdout": base64.StdEncoding.EncodeToString(out), "stdoutOmitted": outOmitted,
		"stderr": base64.StdEncoding.EncodeToString(errors), "stderrOmitted": errorsOmitted,
	}
	one.kept = len(out)*4/3 + len(errors)*4/3
	close(one.done)
}

func (one *job) limitTime(limit time.Duration) {
	timer := time.NewTimer(limit)
	beside(func() {
		defer timer.Stop()
		select {
		case <-one.done:
		case <-timer.C:
			one.mutex.Lock()
			one.timedOut = true
			one.mutex.Unlock()
			if err := one.kill(); err != nil {
				complain("time limit of a job: %v", err)
			}
		}
	})
}

// kill ends the job's tree, also where its main process is only about to start, and where everything was frozen (the
// shim must go on to tell of the end). The pid of a shim that is gone may be somebody else's.
func (one *job) kill() error {
	for {
		select {
		case <-one.gone:
			return nil
		default:
		}
		ended := one.hasEnded()
		if err := sendAll([]int{one.shim}, syscall.SIGCONT); err != nil {
			return err
		}
		if err := killTree(one.shim); err != nil || ended {
			return err
		}
		select {
		case <-one.done:
		case <-one.gone:
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// hasEnded tells whether the main process has: no process of the job starts by itself after that.
func (one *job) hasEnded() bool {
	select {
	case <-one.done:
		return true
	default:
		return false
	}
}
