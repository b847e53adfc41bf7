// The network as it is seen from inside: interfaces, routes, and what answers.
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

type proofTarget struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Host string `json:"host"`
	Port int    `json:"port"`
}

type probe struct {
	Target  string `json:"target"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"`
	Ms      int64  `json:"ms"`
}

func (s *supervisor) proof(e *exchange) (map[string]any, error) {
	var request struct {
		requestHead
		Targets   []proofTarget `json:"targets"`
		TimeoutMs int64         `json:"timeoutMs"`
	}
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	if len(request.Targets) > 64 || request.TimeoutMs < 0 || request.TimeoutMs > 60_000 {
		return nil, badRequest("proof: at most 64 targets and 60,000 ms")
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
		go func(i int, target proofTarget) {
			defer all.Done()
			probes[i] = tryTarget(target, time.Duration(request.TimeoutMs)*time.Millisecond)
		}(i, target)
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

// tryTarget says `open` only for what answered.
func tryTarget(target proofTarget, limit time.Duration) probe {
	begin := time.Now()
	detail, err := "", error(nil)
	switch target.Kind {
	case "tcp":
		detail, err = tryTCP(target, limit)
	case "udp-dns":
		detail, err = tryDNS(target, limit)
	default:
		err = fmt.Errorf("no kind of probe %q", target.Kind)
		return probe{target.Name, "unprovable", err.Error(), 0}
	}
	outcome := "open"
	if err != nil {
		outcome, detail = "denied", err.Error()
	}
	return probe{target.Name, outcome, detail, time.Since(begin).Milliseconds()}
}

func tryTCP(target proofTarget, limit time.Duration) (string, error) {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort(target.Host, strconv.Itoa(target.Port)), limit)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	return "connected to " + connection.RemoteAddr().String(), nil
}

// dnsQuestion asks for the root's name servers (RFC 1035): any answer, an error too, shows a way out.
var dnsQuestion = []byte{0x70, 0x62, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1}

func tryDNS(target proofTarget, limit time.Duration) (string, error) {
	connection, err := net.DialTimeout("udp", net.JoinHostPort(target.Host, strconv.Itoa(target.Port)), limit)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	if _, err := connection.Write(dnsQuestion); err != nil {
		return "", err
	}
	answer := make([]byte, 512)
	n, err := connection.Read(answer)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("answered with %d bytes", n), nil
}
