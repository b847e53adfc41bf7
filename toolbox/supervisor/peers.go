// Who may speak to PID 1: root, started from outside the sandbox, as this very program.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

var errRefused = errors.New("PID 1 does not take this connection: it is not one that the engine started")

// peer is one of our processes that the engine started. A process may hold several connections.
type peer struct {
	connections int
	// through: PID 1 has its streams.
	through bool
}

// peers are the connections' processes: they stay alive when all others are frozen or ended.
type peers struct {
	sync.Mutex
	pids map[int]*peer
}

func newPeers() *peers { return &peers{pids: map[int]*peer{}} }

func (p *peers) add(pid int) {
	p.Lock()
	defer p.Unlock()
	if p.pids[pid] == nil {
		p.pids[pid] = &peer{}
	}
	p.pids[pid].connections++
}

func (p *peers) letThrough(pid int) {
	p.Lock()
	defer p.Unlock()
	p.pids[pid].through = true
}

func (p *peers) isThrough(pid int) bool {
	p.Lock()
	defer p.Unlock()
	return p.pids[pid] != nil && p.pids[pid].through
}

func (p *peers) remove(pid int) {
	p.Lock()
	defer p.Unlock()
	if p.pids[pid].connections--; p.pids[pid].connections == 0 {
		delete(p.pids, pid)
	}
}

func (p *peers) list() []int {
	p.Lock()
	defer p.Unlock()
	var pids []int
	for pid := range p.pids {
		pids = append(pids, pid)
	}
	return pids
}

// admit returns the peer's pid. An agent that is root could speak the protocol as well, and wake after a freeze
// what it likes; but only a process that the engine put into the sandbox has no parent in it.
func admit(connection *net.UnixConn) (int, error) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *syscall.Ucred
	var failed error
	if err := raw.Control(func(descriptor uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(descriptor), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	if peer.Uid != 0 {
		return 0, fmt.Errorf("uid %d is not root", peer.Uid)
	}
	one, err := readProcess(int(peer.Pid))
	if err != nil {
		return 0, err
	}
	if one.parent != 0 {
		return 0, fmt.Errorf("process %d was started inside", peer.Pid)
	}
	if err := sameProgram("/proc/" + strconv.Itoa(int(peer.Pid)) + "/exe"); err != nil {
		return 0, fmt.Errorf("process %d: %w", peer.Pid, err)
	}
	// Where something else stands there it was that which the engine executed, whatever it became then.
	if err := sameProgram(programPath); err != nil {
		return 0, fmt.Errorf("%s: %w", programPath, err)
	}
	if _, err := connection.Write([]byte{admitted}); err != nil {
		return 0, err
	}
	return int(peer.Pid), nil
}

// sameProgram fails where the file is not this very program.
func sameProgram(path string) error {
	own, err := os.Stat(selfPath)
	if err != nil {
		return err
	}
	theirs, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(own, theirs) {
		return errors.New("another program")
	}
	return nil
}
