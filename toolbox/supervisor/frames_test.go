// Tests of the frames: streams come whole and compared, or as an error.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

func frame(kind byte, payload string) []byte {
	var out bytes.Buffer
	if err := (&frameWriter{to: &out}).write(kind, []byte(payload)); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func TestAStreamThatWasWrittenIsReadAsItWas(t *testing.T) {
	for _, size := range []int{0, 1, maxDataBytes, maxDataBytes + 1, 3*maxDataBytes - 7} {
		content := bytes.Repeat([]byte{7, 0, 255}, size/3+1)[:size]
		var wire bytes.Buffer
		stream := newOutputStream(&frameWriter{to: &wire})
		if _, err := stream.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := stream.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(newInputStream(bufio.NewReader(&wire)))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("size %d: %d bytes, %v", size, len(got), err)
		}
	}
}

func TestAStreamWithAnotherDigestIsAnIntegrityFailure(t *testing.T) {
	wire := append(frame(frameData, "abc"), frame(frameEnd, `{"bytes":3,"sha256":"00"}`)...)
	stream := newInputStream(bufio.NewReader(bytes.NewReader(wire)))
	_, err := io.ReadAll(stream)
	var known failure
	if !errors.As(err, &known) || known.Kind != "integrity" {
		t.Errorf("got %v", err)
	}
	if stream.broken {
		t.Error("the connection is still good for the next request")
	}
}

func TestAStreamThatIsCutOffIsNeverTakenForItsEnd(t *testing.T) {
	whole := append(frame(frameData, "abc"), frame(frameEnd, `{}`)...)
	for length := range whole {
		stream := newInputStream(bufio.NewReader(bytes.NewReader(whole[:length])))
		if _, err := io.ReadAll(stream); err == nil || !stream.broken {
			t.Errorf("cut at %d: error %v, broken %v", length, err, stream.broken)
		}
	}
}

func TestFramesOfUnknownTypesAndSizesAreRefused(t *testing.T) {
	tooLong := func(kind byte, length uint32) []byte {
		header := []byte{4: kind}
		binary.BigEndian.PutUint32(header, length)
		return header
	}
	for _, wire := range [][]byte{
		frame('X', ""), tooLong(frameData, maxDataBytes+1), tooLong(frameRequest, maxRequestBytes+1), tooLong(frameEnd, 1<<31),
	} {
		if _, _, err := readHeader(bufio.NewReader(bytes.NewReader(wire))); err == nil {
			t.Errorf("%v was taken", wire[:5])
		}
	}
}

// listening is a client that stays to the end.
type listening struct {
	io.Reader
	io.Writer
}

func (listening) confirm() error { return nil }

func TestOneConnectionAnswersInOrderAndGoesOnAfterAFailure(t *testing.T) {
	wire := bytes.Join([][]byte{
		frame(frameRequest, `{"op":"nope"}`),
		frame(frameRequest, `{"op":"hello","stream":true}`), frame(frameData, "x"), frame(frameEnd, `{"bytes":1,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`),
		frame(frameRequest, `{"op":"hello","more":1}`),
		frame(frameRequest, `{"op":"hello"}`),
	}, nil)
	var out bytes.Buffer
	err := newSupervisor(origin{bootID: "b"}).converse(listening{bytes.NewReader(wire), &out})
	if err != io.EOF {
		t.Fatal(err)
	}
	for i, want := range []string{`no operation \"nope\"`, `"bootId":"b"`, `unknown field`, `"bootId":"b"`} {
		header := make([]byte, 5)
		if _, err := io.ReadFull(&out, header); err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, binary.BigEndian.Uint32(header))
		if _, err := io.ReadFull(&out, payload); err != nil || !bytes.Contains(payload, []byte(want)) {
			t.Errorf("answer %d: %s", i, payload)
		}
	}
}
