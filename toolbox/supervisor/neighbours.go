// The machines beside a sandbox on its own link, over IPv6: a policy for IPv4 alone does not stand between them.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// What was sent to the gateway a moment ago is what makes it known.
	neighbourWait  = 100 * time.Millisecond
	neighbourLimit = 200 * time.Millisecond
	maxNeighbours  = 4
)

// tryNeighbours says `open` where one of them answers at the target's port.
func tryNeighbours(target proofTarget) probe {
	begin := time.Now()
	result := probe{Target: target.Name, Outcome: "denied", Detail: "no neighbour is known"}
	found := awaitNeighbours()
	if len(found) > maxNeighbours {
		found = found[:maxNeighbours]
	}
	within, cancel := context.WithTimeout(context.Background(), neighbourLimit)
	defer cancel()
	type answer struct {
		address string
		err     error
	}
	answers := make(chan answer, len(found))
	for _, address := range found {
		go func(address string) {
			connection, err := (&net.Dialer{}).DialContext(within, "tcp6", net.JoinHostPort(address, strconv.Itoa(target.Port)))
			if err == nil {
				connection.Close()
			}
			answers <- answer{address, err}
		}(address)
	}
	for range found {
		one := <-answers
		if one.err == nil {
			result.Outcome, result.Address = "open", &one.address
			result.Detail = fmt.Sprintf("connected to [%s]:%d", one.address, target.Port)
			break
		}
		result.Detail = denialOf(one.err, neighbourLimit)
	}
	result.Ms = time.Since(begin).Milliseconds()
	return result
}

func awaitNeighbours() []string {
	for until := time.Now().Add(neighbourWait); ; time.Sleep(5 * time.Millisecond) {
		table, err := os.ReadFile("/proc/net/arp")
		found := linkLocalOf(string(table))
		if err != nil || len(found) > 0 || time.Now().After(until) {
			return found
		}
	}
}

// linkLocalOf makes of the kernel's ARP table the IPv6 link-local addresses (RFC 4291, appendix A) of those that answered.
func linkLocalOf(table string) []string {
	found := []string{}
	for _, line := range strings.Split(table, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		flags, err := strconv.ParseUint(strings.TrimPrefix(fields[2], "0x"), 16, 16)
		mac, macErr := net.ParseMAC(fields[3])
		if err != nil || flags&2 == 0 || macErr != nil || len(mac) != 6 {
			continue
		}
		ip := net.IP{0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]}
		found = append(found, ip.String()+"%"+fields[5])
	}
	return found
}
