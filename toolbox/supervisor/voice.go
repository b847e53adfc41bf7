// What PID 1 says is signed: whoever stands between it and a driver can hold its words back, and put none in its mouth.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

const (
	voiceDomain = "passband supervisor"
	nonceBytes  = 16
)

// voice signs the frames of one connection, each with its place in it. Data is not signed by the frame: the digest in the
// E that follows is.
type voice struct {
	key ed25519.PrivateKey
	// nonce is the driver's own, by hello: what was said on another connection is worth nothing on this one.
	nonce [nonceBytes]byte
	said  uint64
	// asked is what was heard: an answer to another question is none.
	asked hash.Hash
}

func newVoice(key ed25519.PrivateKey) *voice {
	return &voice{key: key, asked: sha256.New()}
}

func (v *voice) hear(request []byte) {
	v.asked.Write(binary.BigEndian.AppendUint32(nil, uint32(len(request))))
	v.asked.Write(request)
}

// sign gives the signature of the next frame.
func (v *voice) sign(kind byte, payload []byte) []byte {
	message := append([]byte(voiceDomain), v.nonce[:]...)
	message = binary.BigEndian.AppendUint64(message, v.said)
	message = append(message, kind)
	if kind == frameResponse {
		message = v.asked.Sum(message)
	}
	v.said++
	digest := sha256.Sum256(payload)
	return ed25519.Sign(v.key, append(message, digest[:]...))
}
