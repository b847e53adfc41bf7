// What a network proof tries, and what each try came to: an answer, a refusal, or nothing that was sent at all.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
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
	// Address is the one that answered, of a name perhaps.
	Address *string `json:"address"`
	Ms      int64   `json:"ms"`
}

// reach is one try to reach a target: how far that came before it failed.
type reach struct {
	// made: there was a socket, and the kernel was asked to send from it.
	made atomic.Bool
	// sent: what was to be answered has left for the target.
	sent  bool
	limit time.Duration
}

// denials are what the kernel's routes, a packet filter or an answer by ICMP say; a RST is the first of them. Network
// plugins reject with any of ICMP's codes. All else that fails (no port, memory or descriptor, a link that is down) is
// local: nobody was asked.
var denials = []syscall.Errno{
	syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM,
	syscall.EHOSTDOWN, syscall.ENONET, syscall.ENOPROTOOPT,
}

// tryTarget says `open` only for what answered: a name is looked up and tried within the limit.
// What answers at an address that is the sandbox's own (by `isOwn`) is no answer.
func tryTarget(target proofTarget, limit time.Duration, isOwn func(net.IP) bool) probe {
	if target.Kind == "tcp-neighbours" {
		return tryNeighbours(target)
	}
	begin := time.Now()
	try := map[string]func(*reach, context.Context, proofTarget) (string, net.IP, error){
		"tcp": (*reach).tcp, "udp-dns": (*reach).dns,
	}[target.Kind]
	if try == nil {
		return probe{Target: target.Name, Outcome: "unprovable", Detail: fmt.Sprintf("no kind of probe %q", target.Kind)}
	}
	within, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	one := &reach{limit: limit}
	detail, from, err := try(one, within, target)
	result := probe{Target: target.Name}
	switch {
	case err != nil:
		result.Outcome, result.Detail = one.failure(err)
	case isOwn(from):
		result.Outcome, result.Detail = "denied", "leads back into the sandbox: "+detail
	default:
		address := from.String()
		result.Outcome, result.Detail, result.Address = "open", detail, &address
	}
	result.Ms = time.Since(begin).Milliseconds()
	return result
}

func (r *reach) tcp(within context.Context, target proofTarget) (string, net.IP, error) {
	connection, err := r.dial(within, "tcp", target)
	var failed *net.OpError
	if errors.Is(err, syscall.ECONNRESET) && errors.As(err, &failed) && failed.Addr != nil {
		// Only what was connected is reset: one that is not is refused.
		return "connected to " + failed.Addr.String() + ", which reset it", addressOf(failed.Addr), nil
	}
	if err != nil {
		return "", nil, err
	}
	defer connection.Close()
	return "connected to " + connection.RemoteAddr().String(), addressOf(connection.RemoteAddr()), nil
}

// dns asks for a name that nobody can guess. An answer of any kind (an error too) repeats the question, and only one
// that does came from where it went: over IPv6 whoever runs in the sandbox may send from any address to the sandbox's own.
func (r *reach) dns(within context.Context, target proofTarget) (string, net.IP, error) {
	question, err := newQuestion()
	if err != nil {
		return "", nil, err
	}
	connection, err := r.dial(within, "udp", target)
	if err != nil {
		return "", nil, err
	}
	defer connection.Close()
	deadline, _ := within.Deadline()
	if err := connection.SetDeadline(deadline); err != nil {
		return "", nil, err
	}
	if _, err := connection.Write(question.message); err != nil {
		return "", nil, err
	}
	r.sent = true
	answer := make([]byte, 1500)
	for {
		n, err := connection.Read(answer)
		if err != nil {
			return "", nil, err
		}
		if bytes.Contains(bytes.ToLower(answer[:n]), question.name) {
			from := connection.RemoteAddr()
			return fmt.Sprintf("%s answered with %d bytes", from, n), addressOf(from), nil
		}
	}
}

type dnsQuestion struct{ name, message []byte }

// newQuestion asks for an address (RFC 1035) below `invalid` (RFC 6761), of which there is none.
func newQuestion() (dnsQuestion, error) {
	random := make([]byte, 18)
	if _, err := rand.Read(random); err != nil {
		return dnsQuestion{}, err
	}
	name := []byte(hex.EncodeToString(random[2:]))
	message := append(random[:2:2], 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, byte(len(name)))
	message = append(append(message, name...), "\x07invalid\x00\x00\x01\x00\x01"...)
	return dnsQuestion{name, message}, nil
}

func (r *reach) dial(within context.Context, network string, target proofTarget) (net.Conn, error) {
	dialer := net.Dialer{Control: func(string, string, syscall.RawConn) error {
		r.made.Store(true)
		return nil
	}}
	connection, err := dialer.DialContext(within, network, net.JoinHostPort(target.Host, strconv.Itoa(target.Port)))
	// The kernel sends the first packet of TCP by itself.
	r.sent = network == "tcp" && r.made.Load()
	return connection, err
}

// failure tells `denied` (what was sent was refused or met by silence, or the kernel has no way for it) from `untried`.
func (r *reach) failure(err error) (outcome, detail string) {
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return "untried", "name not resolved: " + err.Error()
	}
	for _, number := range denials {
		if r.made.Load() && errors.Is(err, number) {
			return "denied", refusalWord(number) + ": " + err.Error()
		}
	}
	silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT)
	if r.sent && silent {
		return "denied", fmt.Sprintf("no answer within %d ms: %v", r.limit.Milliseconds(), err)
	}
	return "untried", "not tried: " + err.Error()
}

func refusalWord(number syscall.Errno) string {
	if number == syscall.ECONNREFUSED {
		return "refused"
	}
	return "unreachable"
}

// isOwnAddress tells that a connection to this address ends in this very sandbox: an agent may listen there.
func isOwnAddress(address net.IP) bool {
	if address.IsLoopback() || address.IsUnspecified() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, one := range own {
		if text, _, _ := strings.Cut(one.String(), "/"); net.ParseIP(text).Equal(address) {
			return true
		}
	}
	return false
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
