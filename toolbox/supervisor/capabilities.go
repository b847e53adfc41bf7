// The one capability that tells the supervisor's own processes from all that run beside them.
package main

import (
	"syscall"
	"unsafe"
)

const (
	prCapBoundingDrop = 24
	// SETPCAP gives no power over anything but its holder's own capabilities.
	capSetPcap        = 8
	capabilityVersion = 0x20080522
)

type capabilityHeader struct {
	version uint32
	pid     int32
}

// capabilitySets hold capabilities 0 to 31, and 32 to 63.
type capabilitySets [2]struct{ effective, permitted, inheritable uint32 }

// withholdCapability takes SETPCAP from whatever PID 1 starts, root or not, for good. What the engine starts has it: the
// kernel lets no process without it trace, read or take the descriptors of one with it (ptrace(2), "Ptrace access mode
// checking"), and that from the first moment of `connect` on.
func withholdCapability() error {
	if _, _, errno := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, prCapBoundingDrop, capSetPcap, 0); errno != 0 {
		return errno
	}
	header, sets := capabilityHeader{version: capabilityVersion}, capabilitySets{}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	if errno != 0 {
		return errno
	}
	// Some runtimes hand capabilities down to every program of root's.
	sets[0].inheritable &^= 1 << capSetPcap
	_, _, errno = syscall.AllThreadsSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
