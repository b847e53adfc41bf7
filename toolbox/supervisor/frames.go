// Frames of the protocol: u32 big-endian length of payload, u8 type, payload.
package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"sync"
)

const (
	frameRequest   = 'Q'
	frameData      = 'D'
	frameEnd       = 'E'
	frameHeartbeat = 'H'
	frameResponse  = 'R'

	headerBytes     = 5
	maxPayloadBytes = 64 << 20
	maxDataBytes    = 256 << 10
	// Requests and ends are held in memory whole.
	maxRequestBytes = 16 << 20
)

// digest is what an E frame says of the stream before it.
type digest struct {
	Bytes  int64  `json:"bytes"`
	Sha256 string `json:"sha256"`
}

type frameWriter struct {
	sync.Mutex
	to    io.Writer
	voice *voice
}

// write sends a frame of any type but D, signed.
func (w *frameWriter) write(kind byte, payload []byte) error {
	size := ed25519.SignatureSize + len(payload)
	if size > maxPayloadBytes {
		return fmt.Errorf("a payload of %d bytes: at most %d go into a frame", size, maxPayloadBytes)
	}
	w.Lock()
	defer w.Unlock()
	frame := make([]byte, headerBytes, headerBytes+size)
	frame = append(frame, w.voice.sign(kind, payload)...)
	return w.send(kind, append(frame, payload...))
}

// writeData sends a frame D whose first headerBytes are left for the header: no copy of its payload is made.
func (w *frameWriter) writeData(frame []byte) error {
	w.Lock()
	defer w.Unlock()
	return w.send(frameData, frame)
}

func (w *frameWriter) send(kind byte, frame []byte) error {
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-headerBytes))
	frame[4] = kind
	_, err := w.to.Write(frame)
	return err
}

// greet has all that is said from now on carry the driver's nonce.
func (w *frameWriter) greet(nonce []byte) {
	w.Lock()
	defer w.Unlock()
	copy(w.voice.nonce[:], nonce)
}

func (w *frameWriter) writeJSON(kind byte, value any) error {
	payload, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.write(kind, payload)
}

// readHeader gives the type and the length of the next frame, its length checked against what that type may have.
func readHeader(from *bufio.Reader) (byte, int, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return 0, 0, err
	}
	length, kind := int(binary.BigEndian.Uint32(header[:])), header[4]
	limit := 0
	switch kind {
	case frameRequest, frameEnd:
		limit = maxRequestBytes
	case frameData:
		limit = maxDataBytes
	default:
		return 0, 0, fmt.Errorf("a frame of type %d", kind)
	}
	if length > limit {
		return 0, 0, fmt.Errorf("a frame %c of %d bytes: at most %d are taken", kind, length, limit)
	}
	return kind, length, nil
}

// inputStream reads the D frames of one request as one stream; io.EOF comes only after an E that agrees.
type inputStream struct {
	from   *bufio.Reader
	left   int
	bytes  int64
	hash   hash.Hash
	done   error
	broken bool
}

func newInputStream(from *bufio.Reader) *inputStream {
	return &inputStream{from: from, hash: sha256.New()}
}

func (s *inputStream) Read(into []byte) (int, error) {
	if s.done != nil {
		return 0, s.done
	}
	for s.left == 0 {
		kind, length, err := readHeader(s.from)
		if err != nil {
			return 0, s.cut(err)
		}
		switch kind {
		case frameData:
			s.left = length
		case frameEnd:
			return 0, s.finish(length)
		default:
			return 0, s.cut(fmt.Errorf("a frame %c within a stream", kind))
		}
	}
	if len(into) > s.left {
		into = into[:s.left]
	}
	n, err := s.from.Read(into)
	s.left -= n
	s.bytes += int64(n)
	s.hash.Write(into[:n])
	if err != nil {
		return n, s.cut(err)
	}
	return n, nil
}

func (s *inputStream) cut(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	s.broken = true
	s.done = err
	return err
}

func (s *inputStream) finish(length int) error {
	payload := make([]byte, length)
	if _, err := io.ReadFull(s.from, payload); err != nil {
		return s.cut(err)
	}
	var told digest
	if err := json.Unmarshal(payload, &told); err != nil {
		return s.cut(err)
	}
	s.done = io.EOF
	if own := s.digest(); own != told {
		s.done = failure{"integrity", fmt.Sprintf("%d bytes came of %d, or not those that were sent", own.Bytes, told.Bytes)}
	}
	return s.done
}

func (s *inputStream) digest() digest {
	return digest{s.bytes, hex.EncodeToString(s.hash.Sum(nil))}
}

// drain reads what is left, so that the next request begins where it should.
func (s *inputStream) drain() error {
	_, err := io.Copy(io.Discard, s)
	return err
}

// outputStream sends what is written to it as D frames, and an E frame at its close.
type outputStream struct {
	frames *frameWriter
	// buffer has room for a frame's header before its payload.
	buffer []byte
	bytes  int64
	hash   hash.Hash
}

func newOutputStream(frames *frameWriter) *outputStream {
	return &outputStream{frames: frames, buffer: make([]byte, headerBytes, headerBytes+maxDataBytes), hash: sha256.New()}
}

func (s *outputStream) Write(data []byte) (int, error) {
	taken := 0
	for taken < len(data) {
		n := copy(s.buffer[len(s.buffer):cap(s.buffer)], data[taken:])
		s.buffer = s.buffer[:len(s.buffer)+n]
		taken += n
		if len(s.buffer) == cap(s.buffer) {
			if err := s.flush(); err != nil {
				return taken, err
			}
		}
	}
	return taken, nil
}

func (s *outputStream) flush() error {
	payload := s.buffer[headerBytes:]
	if len(payload) == 0 {
		return nil
	}
	s.hash.Write(payload)
	s.bytes += int64(len(payload))
	err := s.frames.writeData(s.buffer)
	s.buffer = s.buffer[:headerBytes]
	return err
}

func (s *outputStream) Close() error {
	if err := s.flush(); err != nil {
		return err
	}
	return s.frames.writeJSON(frameEnd, digest{s.bytes, hex.EncodeToString(s.hash.Sum(nil))})
}
