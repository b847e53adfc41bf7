// The machines beside a sandbox on its own link, over IPv6: a policy for IPv4 alone does not stand between them.
package main

import (
	"context"
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
		reach   *reach
		detail  string
		err     error
	}
	answers := make(chan answer, len(found))
	for _, address := range found {
		address := address
		beside(func() {
			one := answer{address: address, reach: &reach{limit: neighbourLimit}}
			one.detail, _, one.err = one.reach.tcp(within, proofTarget{Host: address, Port: target.Port})
			answers <- one
		})
	}
	for range found {
		one := <-answers
		if one.err == nil {
			result.Outcome, result.Address, result.Detail = "open", &one.address, one.detail
			break
		}
		result.Outcome, result.Detail = one.reach.failure(one.err)
	}
	result.Ms = time.Since(begin).Milliseconds()
	return result
}

func awaitNeighbours() []string {
	for until := time.Now().Add(neighbourWait); ; time.Sleep(5 * time.Millisecond) {
		table, err := os.ReadFile("/proc/net/arp")
		// Where there are none, the order is the table's own.
		routes, _ := os.ReadFile("/proc/net/route")
		found := linkLocalOf(string(table), gatewaysOf(string(routes)))
		if err != nil || len(found) > 0 || time.Now().After(until) {
			return found
		}
	}
}

// gatewaysOf reads the addresses that the kernel's routing table leads through.
func gatewaysOf(routes string) map[string]bool {
	gateways := map[string]bool{}
	for i, line := range strings.Split(routes, "\n") {
		if fields := strings.Fields(line); i > 0 && len(fields) > 2 {
			gateways[littleEndianAddress(fields[2])] = true
		}
	}
	return gateways
}

// linkLocalOf makes of the kernel's ARP table the IPv6 link-local addresses (RFC 4291, appendix A) of those that answered.
// Gateways come first: what runs inside can fill the table with others.
func linkLocalOf(table string, gateways map[string]bool) []string {
	first, others := []string{}, []string{}
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
		address := ip.String() + "%" + fields[5]
		if gateways[fields[0]] {
			first = append(first, address)
		} else {
			others = append(others, address)
		}
	}
	return append(first, others...)
}
