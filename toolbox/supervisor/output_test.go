// Tests of what is kept of an output.
package main

import (
	"bytes"
	"math/rand"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestTheFirstAndTheLastHalfOfAnOutputAreKept(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for round := 0; round < 2000; round++ {
		limit, size := random.Intn(40), random.Intn(120)
		content := make([]byte, size)
		random.Read(content)
		kept := headTail{limit: limit}
		for rest := content; len(rest) > 0; {
			n := 1 + random.Intn(len(rest))
			if taken, err := kept.Write(rest[:n]); taken != n || err != nil {
				t.Fatal(taken, err)
			}
			rest = rest[n:]
		}
		want, left := content, 0
		if size > limit {
			want = append(append([]byte{}, content[:limit/2]...), content[size-(limit-limit/2):]...)
			left = size - limit
		}
		if got, omitted := kept.bytes(); !bytes.Equal(got, want) || omitted != int64(left) {
			t.Fatalf("limit %d, size %d: %v (%d), want %v (%d)", limit, size, got, omitted, want, left)
		}
	}
}

func TestOutputWrittenBeforeTheEndIsKeptAndLaterOutputIsDrained(t *testing.T) {
	var pipes jobPipes
	if err := pipes.add(true); err != nil {
		t.Fatal(err)
	}
	writer := int(pipes.theirs[0].Fd())
	capture := startCapture(pipes.ours[0], 1<<20, &outputFile{})
	content := bytes.Repeat([]byte("0123456789"), 6000)
	if n, err := syscall.Write(writer, content); n != len(content) || err != nil {
		t.Fatal(n, err)
	}
	if kept, omitted := capture.finish(); !bytes.Equal(kept, content) || omitted != 0 {
		t.Fatalf("%d bytes kept, %d omitted", len(kept), omitted)
	}
	// C22: a server that the job left behind goes on writing, and neither blocks nor dies.
	done := make(chan error, 1)
	go func() {
		for i := 0; i < 100; i++ {
			if _, err := syscall.Write(writer, content); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nobody drains the pipe")
	}
	closeFiles(pipes.theirs)
}

func TestAnOutputFileIsCutAtItsLimit(t *testing.T) {
	path := t.TempDir() + "/out"
	file := openOutputFile(&path)
	file.left = 5
	file.write([]byte("abc"))
	file.write([]byte("defg"))
	file.write([]byte("h"))
	file.close()
	if text, err := os.ReadFile(path); string(text) != "abcde" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAnOutputFileThatCannotBeMadeIsToldAndNoError(t *testing.T) {
	path := "relative"
	if file := openOutputFile(&path); file.problem == "" || file.file != nil {
		t.Errorf("%+v", file)
	}
}
