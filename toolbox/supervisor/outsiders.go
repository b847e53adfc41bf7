// What the engine puts into the sandbox: `connect`, which what runs inside may stop, or take the place of, before PID 1
// has its streams. It is woken; one that does not come through is ended, so that the driver sees an end and not silence.
package main

import (
	"syscall"
	"time"
)

const (
	lookEvery = time.Second
	// A driver takes 30 s without a word for a cut, which nobody is to blame for.
	comingLimit = 20 * time.Second
	// Of one that was found stopped: a wake a millisecond has not brought it through.
	stoppedLimit = 5 * time.Second
	wakeEvery    = time.Millisecond
)

// outsider is a process without a parent in the sandbox. No process that was started inside becomes one.
type outsider struct {
	since time.Time
	// stopped is when it was first found so on its way; zero: it was not.
	stopped time.Time
}

type outsiders struct {
	peers *peers
	known map[int]*outsider
}

// watch goes on for ever. A look costs a fraction of a millisecond with a few dozen processes.
func (o *outsiders) watch() {
	for {
		time.Sleep(lookEvery)
		all, err := listProcesses()
		if err != nil {
			complain("looking for connections: %v", err)
			continue
		}
		stopped, late := o.look(all, time.Now())
		for _, pid := range late {
			complain("process %d came from outside, and what runs inside kept it from PID 1: it is ended", pid)
		}
		// One that is gone meanwhile needs neither.
		_ = sendAll(late, syscall.SIGKILL)
		o.wake(stopped, time.Now().Add(lookEvery))
	}
}

// look tells which of the processes are to be woken, and which have not come through for too long.
func (o *outsiders) look(all []process, now time.Time) (stopped, late []int) {
	here := map[int]*outsider{}
	for _, one := range all {
		if one.parent != 0 || one.pid == 1 || one.zombie {
			continue
		}
		known := o.known[one.pid]
		// Once PID 1 has let go of its streams it has as long to leave as it had to come.
		if known == nil || o.peers.isThrough(one.pid) {
			known = &outsider{since: now}
		}
		here[one.pid] = known
		if one.stopped {
			stopped = append(stopped, one.pid)
			if known.stopped.IsZero() {
				known.stopped = now
			}
		}
		if now.Sub(known.since) > comingLimit || (!known.stopped.IsZero() && now.Sub(known.stopped) > stoppedLimit) {
			late = append(late, one.pid)
		}
	}
	o.known = here
	return stopped, late
}

// wake lets the processes go on, whoever stops them again meanwhile, until all are through, or that time.
func (o *outsiders) wake(pids []int, until time.Time) {
	for len(pids) > 0 && time.Now().Before(until) {
		_ = sendAll(pids, syscall.SIGCONT)
		time.Sleep(wakeEvery)
		var coming []int
		for _, pid := range pids {
			// A signal to a pid that is somebody else's by now wakes one process too many.
			if one, err := readProcess(pid); err == nil && one.parent == 0 && !o.peers.isThrough(pid) {
				coming = append(coming, pid)
			}
		}
		pids = coming
	}
}
