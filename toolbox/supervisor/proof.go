// The network as it is seen from inside: interfaces and routes. What answers is tried in probes.go.
package main

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxTargets are all tried at once.
const maxTargets = 256

func (s *supervisor) proof(e *exchange) (map[string]any, error) {
	var request struct {
		requestHead
		Targets   []proofTarget `json:"targets"`
		TimeoutMs int64         `json:"timeoutMs"`
	}
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	if len(request.Targets) > maxTargets || request.TimeoutMs < 0 || request.TimeoutMs > 60_000 {
		return nil, badRequest("proof: at most %d targets and 60,000 ms", maxTargets)
	}
	interfaces, err := describeInterfaces()
	if err != nil {
		return nil, err
	}
	routes, err := describeRoutes()
	if err != nil {
		return nil, err
	}
	probes := make([]probe, len(request.Targets))
	var all sync.WaitGroup
	for i, target := range request.Targets {
		all.Add(1)
		i, target := i, target
		beside(func() {
			defer all.Done()
			probes[i] = tryTarget(target, time.Duration(request.TimeoutMs)*time.Millisecond, isOwnAddress)
		})
	}
	all.Wait()
	return map[string]any{"interfaces": interfaces, "routes": routes, "probes": probes}, nil
}

func describeInterfaces() ([]map[string]any, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	described := []map[string]any{}
	for _, one := range interfaces {
		addresses, err := one.Addrs()
		if err != nil {
			return nil, err
		}
		texts := []string{}
		for _, address := range addresses {
			texts = append(texts, address.String())
		}
		described = append(described, map[string]any{"name": one.Name, "addresses": texts})
	}
	return described, nil
}

// describeRoutes reads both routing tables; a kernel without IPv6 has none of the second.
func describeRoutes() ([]string, error) {
	routes := []string{}
	table, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(table), "\n") {
		fields := strings.Fields(line)
		if i > 0 && len(fields) > 7 {
			routes = append(routes, fmt.Sprintf("%s/%d via %s dev %s",
				littleEndianAddress(fields[1]), maskLength(fields[7]), littleEndianAddress(fields[2]), fields[0]))
		}
	}
	table, err = os.ReadFile("/proc/net/ipv6_route")
	if err != nil && !absent(err) {
		return nil, err
	}
	for _, line := range strings.Split(string(table), "\n") {
		if fields := strings.Fields(line); len(fields) > 9 {
			length, err := strconv.ParseUint(fields[1], 16, 8)
			if err != nil {
				return nil, err
			}
			routes = append(routes, fmt.Sprintf("%s/%d via %s dev %s",
				hexAddress(fields[0]), length, hexAddress(fields[4]), fields[9]))
		}
	}
	return routes, nil
}

func hexAddress(text string) string {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return text
	}
	return net.IP(raw).String()
}

func littleEndianAddress(text string) string {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4 {
		return text
	}
	return net.IPv4(raw[3], raw[2], raw[1], raw[0]).String()
}

func maskLength(text string) int {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4 {
		return -1
	}
	ones, _ := net.IPv4Mask(raw[3], raw[2], raw[1], raw[0]).Size()
	return ones
}
