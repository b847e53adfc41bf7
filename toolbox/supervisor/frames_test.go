// Tests of the frames: streams come whole and compared, or as an error.
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// frame is one of a driver's: nothing signs it.
func frame(kind byte, payload string) []byte {
	whole := append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), kind)
	return append(whole, payload...)
}

// taken is a frame of PID 1's, with the signature that it has but for D.
type taken struct {
	kind               byte
	signature, payload []byte
}

// takeFrames takes frames off the wire until its end.
func takeFrames(t *testing.T, wire io.Reader) (frames []taken) {
	t.Helper()
	for {
		header := make([]byte, headerBytes)
		if _, err := io.ReadFull(wire, header); err == io.EOF {
			return frames
		} else if err != nil {
			t.Fatal(err)
		}
		one := taken{kind: header[4], payload: make([]byte, binary.BigEndian.Uint32(header))}
		if _, err := io.ReadFull(wire, one.payload); err != nil {
			t.Fatal(err)
		}
		if one.kind != frameData {
			one.signature, one.payload = one.payload[:ed25519.SignatureSize], one.payload[ed25519.SignatureSize:]
		}
		frames = append(frames, one)
	}
}

var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

func TestAStreamThatWasWrittenIsReadAsItWas(t *testing.T) {
	for _, size := range []int{0, 1, maxDataBytes, maxDataBytes + 1, 3*maxDataBytes - 7} {
		content := bytes.Repeat([]byte{7, 0, 255}, size/3+1)[:size]
		var wire bytes.Buffer
		stream := newOutputStream(&frameWriter{to: &wire, voice: newVoice(testKey)})
		if _, err := stream.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := stream.Close(); err != nil {
			t.Fatal(err)
		}
		var unsigned bytes.Buffer
		for _, one := range takeFrames(t, &wire) {
			unsigned.Write(frame(one.kind, string(one.payload)))
		}
		got, err := io.ReadAll(newInputStream(bufio.NewReader(&unsigned)))
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
		frame(frameRequest, `{"op":"hello","nonce":"000102030405060708090a0b0c0d0e0f","stream":true}`), frame(frameData, "x"), frame(frameEnd, `{"bytes":1,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`),
		frame(frameRequest, `{"op":"hello","more":1}`),
		frame(frameRequest, `{"op":"hello","nonce":"0001"}`),
		frame(frameRequest, `{"op":"hello","nonce":"000102030405060708090a0b0c0d0e0f"}`),
	}, nil)
	var out bytes.Buffer
	err := newSupervisor(origin{key: testKey}).converse(listening{bytes.NewReader(wire), &out})
	if err != io.EOF {
		t.Fatal(err)
	}
	frames := takeFrames(t, &out)
	wanted := []string{`no operation \"nope\"`, `"bootId":"3b6a27bc`, `unknown field`, `a nonce is 16 bytes`, `"bootId":"3b6a27bc`}
	if len(frames) != len(wanted) {
		t.Fatalf("%d answers", len(frames))
	}
	for i, want := range wanted {
		if !bytes.Contains(frames[i].payload, []byte(want)) {
			t.Errorf("answer %d: %s", i, frames[i].payload)
		}
	}
}
