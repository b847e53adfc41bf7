// The part that a driver execs: hands its stdin and stdout to PID 1, and lives for as long as PID 1 uses them.
package main

import (
	"io"
	"net"
	"os"
	"time"
)

// A container that was just started has its PID 1 listening within milliseconds.
const listenWait = 10 * time.Second

// PID 1 sends this byte to a peer that it has looked at and takes; it is not part of the protocol.
const admitted = '+'

func runConnect() int {
	connection, err := dialSupervisor()
	if err != nil {
		complain("connect: %v", err)
		return 69
	}
	// What runs inside holds less than we do, and so cannot look in; what it once had executed in our place holds as much.
	// Only now: PID 1 compares our program with its own, which it could not from the moment that we are hidden.
	hideFromTracing()
	if err := handOver(connection, os.Stdin, os.Stdout); err != nil {
		complain("connect: %v", err)
		return 69
	}
	// PID 1's ends are the only ones from now on: where it closes them, the driver sees it.
	os.Stdin.Close()
	os.Stdout.Close()
	// What PID 1 sends is to be sent back: a sign of life.
	io.Copy(connection, connection)
	return 0
}

func dialSupervisor() (*net.UnixConn, error) {
	until := time.Now().Add(listenWait)
	for {
		connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socketPath, Net: "unix"})
		if err == nil {
			first := make([]byte, 1)
			if _, err := io.ReadFull(connection, first); err != nil || first[0] != admitted {
				connection.Close()
				return nil, errRefused
			}
			return connection, nil
		}
		if time.Now().After(until) {
			return nil, err
		}
		time.Sleep(2 * time.Millisecond)
	}
}
