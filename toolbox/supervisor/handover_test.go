// Tests of the handover: PID 1 speaks over the very streams of `connect`, and lets go of them when that has ended.
package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// joined gives both ends of one connection to PID 1's socket.
func joined(t *testing.T) (near, far *net.UnixConn) {
	t.Helper()
	address := &net.UnixAddr{Name: filepath.Join(t.TempDir(), "socket"), Net: "unix"}
	listener, err := net.ListenUnix("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if near, err = net.DialUnix("unix", nil, address); err != nil {
		t.Fatal(err)
	}
	if far, err = listener.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

func pipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close(); writer.Close() })
	return reader, writer
}

func TestStreamsThatWereHandedOverCarryBothDirections(t *testing.T) {
	near, far := joined(t)
	stdin, toStdin := pipe(t)
	fromStdout, stdout := pipe(t)
	if err := handOver(near, stdin, stdout); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	stdout.Close()
	streams, err := takeStreams(far)
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("content"), 100_000)
	go func() {
		toStdin.Write(content)
		toStdin.Close()
	}()
	go func() {
		io.Copy(streams, streams)
		streams.Close()
	}()
	if got, err := io.ReadAll(fromStdout); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes came back of %d: %v", len(got), len(content), err)
	}
}

func TestStreamsBreakWhenTheProcessThatHandedThemOverEnds(t *testing.T) {
	near, far := joined(t)
	stdin, _ := pipe(t)
	fromStdout, stdout := pipe(t)
	if err := handOver(near, stdin, stdout); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	streams, err := takeStreams(far)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := streams.Read(make([]byte, 1))
		read <- err
	}()
	go io.Copy(near, near)
	for i := 0; i < 3; i++ {
		if err := streams.confirm(); err != nil {
			t.Fatalf("it lives: %v", err)
		}
	}
	near.Close()
	if err := streams.confirm(); err == nil {
		t.Error("it has ended")
	}
	select {
	case err := <-read:
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("the read ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("a read goes on for ever")
	}
	if _, err := fromStdout.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the output is still held open: %v", err)
	}
}

func TestAPeerThatBringsNoStreamsIsNotServed(t *testing.T) {
	near, far := joined(t)
	if _, err := near.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if _, err := takeStreams(far); err == nil {
		t.Error("it was taken")
	}
}
