// Tests of the signatures: what PID 1 says counts once, in its place, to the driver that asked it.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"testing"
)

// signedBytes is what toolbox/PROTOCOL.md says that a signature is made over.
func signedBytes(nonce string, number uint64, kind byte, requests []string, payload []byte) []byte {
	asked := sha256.New()
	for _, request := range requests {
		asked.Write(binary.BigEndian.AppendUint32(nil, uint32(len(request))))
		asked.Write([]byte(request))
	}
	message := binary.BigEndian.AppendUint64([]byte("passband supervisor"+nonce), number)
	message = append(message, kind)
	if kind == frameResponse {
		message = asked.Sum(message)
	}
	digest := sha256.Sum256(payload)
	return append(message, digest[:]...)
}

func TestEveryAnswerIsSignedForTheQuestionsBeforeItAndTheNonceOfHello(t *testing.T) {
	first, second := `{"op":"nope"}`, `{"op":"hello","nonce":"000102030405060708090a0b0c0d0e0f"}`
	none := string(make([]byte, nonceBytes))
	nonce := "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
	wire := append(frame(frameRequest, first), frame(frameRequest, second)...)
	var out bytes.Buffer
	_ = newSupervisor(origin{key: testKey}).converse(listening{bytes.NewReader(wire), &out})
	frames := takeFrames(t, &out)
	if len(frames) != 2 {
		t.Fatalf("%d answers", len(frames))
	}
	public := testKey.Public().(ed25519.PublicKey)
	for i, message := range [][]byte{
		signedBytes(none, 0, frameResponse, []string{first}, frames[0].payload),
		signedBytes(nonce, 1, frameResponse, []string{first, second}, frames[1].payload),
	} {
		if !ed25519.Verify(public, message, frames[i].signature) {
			t.Errorf("answer %d: another signature", i)
		}
	}
}

func TestHeartbeatsAndEndsOfStreamsAreSignedInTheirOrder(t *testing.T) {
	var wire bytes.Buffer
	writer := &frameWriter{to: &wire, voice: newVoice(testKey)}
	writer.greet([]byte("0123456789abcdef"))
	if err := writer.write(frameHeartbeat, nil); err != nil {
		t.Fatal(err)
	}
	stream := newOutputStream(writer)
	if _, err := stream.Write([]byte("data")); err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	frames := takeFrames(t, &wire)
	if len(frames) != 3 || frames[1].kind != frameData || string(frames[1].payload) != "data" {
		t.Fatalf("%+v", frames)
	}
	public := testKey.Public().(ed25519.PublicKey)
	beat := signedBytes("0123456789abcdef", 0, frameHeartbeat, nil, nil)
	end := signedBytes("0123456789abcdef", 1, frameEnd, nil, frames[2].payload)
	if !ed25519.Verify(public, beat, frames[0].signature) || !ed25519.Verify(public, end, frames[2].signature) {
		t.Error("another signature")
	}
}
