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

// peers are the connections' processes: they stay alive when all others are frozen or ended.
type peers struct {
	sync.Mutex
	pids map[int]int
}

func (p *peers) add(pid int) {
	p.Lock()
	defer p.Unlock()
	p.pids[pid]++
}

func (p *peers) remove(pid int) {
	p.Lock()
	defer p.Unlock()
	if p.pids[pid]--; p.pids[pid] == 0 {
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
	own, err := os.Stat(selfPath)
	if err != nil {
		return 0, err
	}
	theirs, err := os.Stat("/proc/" + strconv.Itoa(int(peer.Pid)) + "/exe")
	if err != nil {
		return 0, err
	}
	if !os.SameFile(own, theirs) {
		return 0, fmt.Errorf("process %d is another program", peer.Pid)
	}
	if _, err := connection.Write([]byte{admitted}); err != nil {
		return 0, err
	}
	return int(peer.Pid), nil
}
