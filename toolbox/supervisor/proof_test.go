// Tests of the probes: what answers is open, what was refused is denied, and what was never sent is neither.
package main

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const probeLimit = 300 * time.Millisecond

func nothingIsOwn(net.IP) bool { return false }

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
	got := tryTarget(target, probeLimit, nothingIsOwn)
	if got.Outcome != outcome || !strings.Contains(got.Detail, detail) {
		t.Errorf("%v is %v, wanted %s with %q", target, got, outcome, detail)
	}
	if got.Ms > 2*probeLimit.Milliseconds() {
		t.Errorf("%v took %d ms", target, got.Ms)
	}
	return got
}

// refusedTarget is one of TCP where nobody listens.
func refusedTarget(t *testing.T) proofTarget {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer free.Close()
	return localTarget(t, "tcp", free.Addr())
}

// serveDNS answers every question with what `answer` makes of it.
func serveDNS(t *testing.T, answer func(question []byte) []byte) proofTarget {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		question := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			if sent := answer(question[:n]); sent != nil {
				_, _ = server.WriteTo(sent, from)
			}
		}
	}()
	return localTarget(t, "udp-dns", server.LocalAddr())
}

func TestAPeerThatClosesAtOnceIsOpen(t *testing.T) {
	target := refusedTarget(t)
	expectProbe(t, target, "denied", "refused")
	check(t, listenAsPeer(target.Port))
	got := expectProbe(t, target, "open", "connected")
	if got.Address == nil || *got.Address != "127.0.0.1" {
		t.Errorf("answered by %v", got.Address)
	}
}

func TestAnAnswerOfAnyKindIsOpenAndSilenceIsNot(t *testing.T) {
	silent := serveDNS(t, func([]byte) []byte { return nil })
	expectProbe(t, silent, "denied", "no answer within 300 ms")
	refusing := serveDNS(t, func(question []byte) []byte {
		return append([]byte{question[0], question[1], 0x81, 5}, question[4:]...)
	})
	expectProbe(t, refusing, "open", "answered with 58 bytes")
}

func TestAnAnswerThatDoesNotRepeatTheQuestionIsSomebodyElses(t *testing.T) {
	before, err := newQuestion()
	check(t, err)
	forged := serveDNS(t, func(question []byte) []byte {
		return append(append([]byte{}, question[:12]...), before.message[12:]...)
	})
	expectProbe(t, forged, "denied", "no answer within 300 ms")
}

func TestWhatLeadsBackIntoTheSandboxIsNoWayOut(t *testing.T) {
	own, err := net.Listen("tcp", "0.0.0.0:0")
	check(t, err)
	defer own.Close()
	interfaces, err := net.InterfaceAddrs()
	check(t, err)
	hosts := []string{"0.0.0.0"}
	for _, one := range interfaces {
		if address, ok := one.(*net.IPNet); ok && address.IP.To4() != nil {
			hosts = append(hosts, address.IP.String())
		}
	}
	for _, host := range hosts {
		target := localTarget(t, "tcp", own.Addr())
		target.Host = host
		got := tryTarget(target, probeLimit, isOwnAddress)
		if got.Outcome != "denied" || !strings.Contains(got.Detail, "leads back") {
			t.Errorf("%s is %v", host, got)
		}
	}
}

func TestAnUnknownKindIsUnprovable(t *testing.T) {
	expectProbe(t, proofTarget{"one", "icmp", "127.0.0.1", 1}, "unprovable", "icmp")
}

func TestANameThatNobodyKnowsIsUntried(t *testing.T) {
	// Over the length that a name may have: refused without a question to any server.
	expectProbe(t, proofTarget{"one", "tcp", strings.Repeat("x", 300) + ".invalid", 1}, "untried", "name not resolved")
}

func TestWithoutADescriptorNothingIsTried(t *testing.T) {
	target := refusedTarget(t)
	answers := serveDNS(t, func(question []byte) []byte { return question })
	expectProbe(t, target, "denied", "refused")
	var before syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: before.Max}))
	refused, asked := tryTarget(target, probeLimit, nothingIsOwn), tryTarget(answers, probeLimit, nothingIsOwn)
	check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
	for _, got := range []probe{refused, asked} {
		if got.Outcome != "untried" || !strings.Contains(got.Detail, "too many open files") {
			t.Errorf("%v", got)
		}
	}
}

func TestATimeThatIsOverBeforeAnythingIsSentIsUntried(t *testing.T) {
	target := refusedTarget(t)
	for _, kind := range []string{"tcp", "udp-dns"} {
		target.Kind = kind
		if got := tryTarget(target, 0, nothingIsOwn); got.Outcome != "untried" {
			t.Errorf("%v", got)
		}
	}
}

func TestOnlyARefusalOfTheNetworkIsADenial(t *testing.T) {
	onConnect := func(number syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", number)}
	}
	expect := func(err error, made, sent bool, wanted string) {
		t.Helper()
		one := &reach{sent: sent, limit: probeLimit}
		one.made.Store(made)
		if outcome, detail := one.failure(err); outcome != wanted {
			t.Errorf("%v is %s: %s", err, outcome, detail)
		}
	}
	for _, number := range []syscall.Errno{
		syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM,
		syscall.EHOSTDOWN, syscall.ENONET, syscall.ENOPROTOOPT,
	} {
		expect(onConnect(number), true, false, "denied")
		expect(onConnect(number), false, false, "untried")
	}
	for _, number := range []syscall.Errno{
		syscall.EADDRNOTAVAIL, syscall.EADDRINUSE, syscall.EAGAIN, syscall.ENOBUFS, syscall.ENOMEM, syscall.EMFILE,
		syscall.ENFILE, syscall.ENETDOWN, syscall.EAFNOSUPPORT, syscall.EINVAL,
	} {
		expect(onConnect(number), true, true, "untried")
	}
	for _, silence := range []error{os.ErrDeadlineExceeded, onConnect(syscall.ETIMEDOUT)} {
		expect(silence, true, true, "denied")
		expect(silence, true, false, "untried")
	}
}
