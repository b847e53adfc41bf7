// The part that a driver execs: carries its stdin to PID 1 and PID 1's answers to its stdout.
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
	// Only now: PID 1 compares our program with its own, which it cannot once we are hidden.
	hideFromTracing()
	go func() {
		_, err := io.Copy(connection, os.Stdin)
		if err != nil {
			complain("connect: %v", err)
		}
		connection.CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, connection); err != nil {
		complain("connect: %v", err)
		return 74
	}
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
