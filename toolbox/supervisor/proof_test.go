// Tests of the probes: what answers is open, and how nothing answered is told apart.
package main

import (
	"net"
	"strings"
	"testing"
	"time"
)

const probeLimit = 300 * time.Millisecond

func localTarget(t *testing.T, kind string, address net.Addr) proofTarget {
	t.Helper()
	switch at := address.(type) {
	case *net.TCPAddr:
		return proofTarget{"one", kind, "127.0.0.1", at.Port}
	case *net.UDPAddr:
		return proofTarget{"one", kind, "127.0.0.1", at.Port}
	}
	t.Fatalf("no port in %v", address)
	return proofTarget{}
}

func expectProbe(t *testing.T, target proofTarget, outcome, detail string) probe {
	t.Helper()
	got := tryTarget(target, probeLimit, func(net.Conn) bool { return false })
	if got.Outcome != outcome || !strings.Contains(got.Detail, detail) {
		t.Errorf("%v is %v, wanted %s with %q", target, got, outcome, detail)
	}
	if got.Ms > 2*probeLimit.Milliseconds() {
		t.Errorf("%v took %d ms", target, got.Ms)
	}
	return got
}

func TestAPeerThatClosesAtOnceIsOpen(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	target := localTarget(t, "tcp", free.Addr())
	free.Close()
	expectProbe(t, target, "denied", "refused")
	check(t, listenAsPeer(target.Port))
	got := expectProbe(t, target, "open", "connected")
	if got.Address == nil || *got.Address != "127.0.0.1" {
		t.Errorf("answered by %v", got.Address)
	}
}

func TestAnAnswerOfAnyKindIsOpenAndSilenceIsNot(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	check(t, err)
	defer server.Close()
	target := localTarget(t, "udp-dns", server.LocalAddr())
	expectProbe(t, target, "denied", "no answer within 300 ms")
	go func() {
		question := make([]byte, 512)
		for {
			_, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = server.WriteTo([]byte("?"), from)
		}
	}()
	expectProbe(t, target, "open", "answered with 1 bytes")
}

func TestWhatLeadsBackIntoTheSandboxIsNoWayOut(t *testing.T) {
	own, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer own.Close()
	got := tryTarget(localTarget(t, "tcp", own.Addr()), probeLimit, leadsBack)
	if got.Outcome != "denied" || !strings.Contains(got.Detail, "leads back") {
		t.Errorf("is %v", got)
	}
}

func TestAnUnknownKindIsUnprovable(t *testing.T) {
	expectProbe(t, proofTarget{"one", "icmp", "127.0.0.1", 1}, "unprovable", "icmp")
}

func TestANameThatNobodyKnowsIsDenied(t *testing.T) {
	// Over the length that a name may have: refused without a question to any server.
	expectProbe(t, proofTarget{"one", "tcp", strings.Repeat("x", 300) + ".invalid", 1}, "denied", "name not resolved")
}
