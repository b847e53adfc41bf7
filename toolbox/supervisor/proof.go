// The network as it is seen from inside: interfaces, routes, and what answers.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxTargets are all tried at once.
const maxTargets = 256

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
	// Address is the one that answered, of a name perhaps.
	Address *string `json:"address"`
	Ms      int64   `json:"ms"`
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
		go func(i int, target proofTarget) {
			defer all.Done()
			probes[i] = tryTarget(target, time.Duration(request.TimeoutMs)*time.Millisecond, leadsBack)
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

// tryTarget says `open` only for what answered: a name is looked up and tried within the limit.
// What `itself` says of a connection that leads nowhere else is no answer.
func tryTarget(target proofTarget, limit time.Duration, itself func(net.Conn) bool) probe {
	if target.Kind == "tcp-neighbours" {
		return tryNeighbours(target)
	}
	begin := time.Now()
	try := map[string]func(context.Context, net.Conn) (string, error){"tcp": tryTCP, "udp-dns": tryDNS}[target.Kind]
	if try == nil {
		return probe{Target: target.Name, Outcome: "unprovable", Detail: fmt.Sprintf("no kind of probe %q", target.Kind)}
	}
	within, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	result := probe{Target: target.Name, Outcome: "denied"}
	network := strings.TrimSuffix(target.Kind, "-dns")
	connection, err := (&net.Dialer{}).DialContext(within, network, net.JoinHostPort(target.Host, strconv.Itoa(target.Port)))
	if err == nil {
		result.Detail, err = try(within, connection)
		connection.Close()
	}
	switch {
	case err != nil:
		result.Detail = denialOf(err, limit)
	case itself(connection):
		result.Detail = "leads back into the sandbox: " + result.Detail
	default:
		address := addressOf(connection.RemoteAddr()).String()
		result.Outcome, result.Address = "open", &address
	}
	result.Ms = time.Since(begin).Milliseconds()
	return result
}

// leadsBack tells that a connection ends in this very sandbox: an agent may listen there, and write /etc/hosts.
func leadsBack(connection net.Conn) bool {
	remote := addressOf(connection.RemoteAddr())
	return remote.IsLoopback() || remote.Equal(addressOf(connection.LocalAddr()))
}

func addressOf(address net.Addr) net.IP {
	switch at := address.(type) {
	case *net.TCPAddr:
		return at.IP
	case *net.UDPAddr:
		return at.IP
	}
	return nil
}

// denialOf tells how nothing was reached.
func denialOf(err error, limit time.Duration) string {
	var lookup *net.DNSError
	var late net.Error
	switch {
	case errors.As(err, &lookup):
		return "name not resolved: " + err.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused: " + err.Error()
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return "unreachable: " + err.Error()
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %d ms: %v", limit.Milliseconds(), err)
	}
	return err.Error()
}

func tryTCP(_ context.Context, connection net.Conn) (string, error) {
	return "connected to " + connection.RemoteAddr().String(), nil
}

// dnsQuestion asks for the root's name servers (RFC 1035): any answer, an error too, shows a way out.
var dnsQuestion = []byte{0x70, 0x62, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1}

func tryDNS(within context.Context, connection net.Conn) (string, error) {
	deadline, _ := within.Deadline()
	if err := connection.SetDeadline(deadline); err != nil {
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
	return fmt.Sprintf("%s answered with %d bytes", connection.RemoteAddr(), n), nil
}
