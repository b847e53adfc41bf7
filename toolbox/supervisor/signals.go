// Signals to PID 1: those that an agent can send are dropped, SIGTERM from outside the sandbox ends it.
package main

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

const (
	prSetDumpable  = 4
	prSetSubreaper = 36

	saOnStack  = 0x08000000
	saRestart  = 0x10000000
	saSigInfo  = 0x4
	saRestorer = 0x04000000
)

// hideFromTracing keeps processes of the same user from tracing this one or reading its memory.
func hideFromTracing() {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0); errno != 0 {
		complain("cannot hide from tracing: %v", errno)
	}
}

// dropOtherSignals takes what an agent may send to PID 1 and forgets it.
func dropOtherSignals() {
	sink := make(chan os.Signal, 1)
	for number := syscall.Signal(1); number <= 64; number++ {
		switch number {
		case syscall.SIGTERM, syscall.SIGCHLD, syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGURG:
		default:
			signal.Notify(sink, number)
		}
	}
}

// The handler and its way back, in assembly: only the kernel's siginfo tells who sent a signal (no pid here: a
// process outside the PID namespace; code 0: kill(2), which nobody can forge), and Go hands out no siginfo.
func terminated()
func restored()

var terminatedAddress, restoredAddress uintptr

// endOnOuterTermination makes SIGTERM from outside the sandbox end it with status 143.
func endOnOuterTermination() error {
	// struct kernel_sigaction
	action := struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}{terminatedAddress, saOnStack | saRestart | saSigInfo | saRestorer, restoredAddress, 0}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGTERM),
		uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
