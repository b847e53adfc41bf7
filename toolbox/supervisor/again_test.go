package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAgainFollowsItsPolicy(t *testing.T) {
	count := func(policy, script string) (runs, status int) {
		log := filepath.Join(t.TempDir(), "log")
		status = runAgain([]string{policy, "/bin/sh", "-c", "echo x >> " + log + "; n=$(wc -l < " + log + "); " + script})
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n"), status
	}
	if runs, status := count("on-failure", "[ $n -ge 3 ]"); runs != 3 || status != 0 {
		t.Errorf("on-failure: %d runs, status %d", runs, status)
	}
	if runs, status := count("on-failure:2", "exit 7"); runs != 3 || status != 7 {
		t.Errorf("on-failure:2: %d runs, status %d", runs, status)
	}
	if runs, status := count("on-failure:2", "kill -9 $$"); runs != 3 || status != 137 {
		t.Errorf("killed: %d runs, status %d", runs, status)
	}
	if status := runAgain([]string{"on-failure:1", "/no/such/program"}); status != exitNotFound {
		t.Errorf("no such program: %d", status)
	}
	for _, policy := range []string{"never", "on-failure:0", "on-failure:x", "always:2"} {
		if status := runAgain([]string{policy, "/bin/true"}); status != 64 {
			t.Errorf("%s: %d", policy, status)
		}
	}
}

func TestAgainEndsWithASignal(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	done := make(chan int)
	go func() { done <- runAgain([]string{"always", "/bin/sh", "-c", "echo x >> " + log + "; exec sleep 60"}) }()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(log); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not start")
		}
	}
	time.Sleep(50 * time.Millisecond)
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case status := <-done:
		if status != 143 {
			t.Errorf("status %d", status)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it goes on")
	}
}
