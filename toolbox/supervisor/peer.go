// A peer for network proofs: takes every connection on a port, and closes it at once.
package main

import (
	"net"
	"strconv"
	"time"
)

// listenAsPeer listens on all addresses, of IPv6 too where the kernel has it.
func listenAsPeer(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	beside(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				complain("accept: %v", err)
				time.Sleep(100 * time.Millisecond)
				continue
			}
			connection.Close()
		}
	})
	return nil
}
