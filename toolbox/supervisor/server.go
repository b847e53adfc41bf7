// PID 1's server: takes connections, reads requests in order, keeps a client that waits informed.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"
)

const (
	heartbeatEvery = 2 * time.Second
	maxConnections = 64
)

func listen() (*net.UnixListener, error) {
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(runDir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Remove(socketPath); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.ListenUnix("unix", &net.UnixAddr{Name: socketPath, Net: "unix"})
}

func serve(listener *net.UnixListener, s *supervisor) {
	slots := make(chan struct{}, maxConnections)
	for {
		connection, err := listener.AcceptUnix()
		if err != nil {
			complain("accept: %v", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		slots <- struct{}{}
		beside(func() {
			defer func() { <-slots }()
			defer connection.Close()
			pid, err := admit(connection)
			if err != nil {
				complain("a connection was refused: %v", err)
				return
			}
			s.peers.add(pid)
			defer s.peers.remove(pid)
			streams, err := takeStreams(connection)
			if err != nil {
				complain("a connection brought no streams: %v", err)
				return
			}
			defer streams.Close()
			s.peers.letThrough(pid)
			if err := s.converse(streams); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
				complain("a connection broke: %v", err)
			}
		})
	}
}

// client is who speaks the protocol to us.
type client interface {
	io.ReadWriter
	// confirm fails where nobody is there any more to be answered.
	confirm() error
}

// exchange is one request with the streams that belong to it.
type exchange struct {
	payload []byte
	// input is nil where the request carries no stream.
	input  *inputStream
	frames *frameWriter
	client client
}

// parse reads the request into `into`, and refuses what that does not know.
func (e *exchange) parse(into any) error {
	decoder := json.NewDecoder(bytes.NewReader(e.payload))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return badRequest("%v", err)
	}
	return nil
}

// requestHead is what every request has.
type requestHead struct {
	Op     string `json:"op"`
	Stream bool   `json:"stream"`
}

// converse serves one connection until it ends; an error means that its stream is of no more use.
func (s *supervisor) converse(streams client) error {
	// Small: what is larger than it is read past it, to where it belongs.
	reader := bufio.NewReaderSize(streams, 16<<10)
	writer := &frameWriter{to: streams, voice: newVoice(s.from.key)}
	for {
		kind, length, err := readHeader(reader)
		if err != nil {
			return err
		}
		if kind != frameRequest {
			return fmt.Errorf("a frame %c where a request was due", kind)
		}
		payload := make([]byte, length)
		if _, err := io.ReadFull(reader, payload); err != nil {
			return err
		}
		writer.voice.hear(payload)
		if err := s.answer(&exchange{payload: payload, frames: writer, client: streams}, reader); err != nil {
			return err
		}
	}
}

func (s *supervisor) answer(e *exchange, reader *bufio.Reader) error {
	var head requestHead
	var result map[string]any
	failed := json.Unmarshal(e.payload, &head)
	if failed != nil {
		// Whether a stream follows is not known: nothing after this can be understood.
		_ = e.frames.writeJSON(frameResponse, response(nil, badRequest("not a request: %v", failed)))
		return failed
	}
	if head.Stream {
		e.input = newInputStream(reader)
	}
	stop := heartbeat(e.frames)
	result, failed = s.perform(head.Op, e)
	var left error
	if e.input != nil {
		left = e.input.drain()
	}
	stop()
	if e.input != nil && e.input.broken {
		return left
	}
	if failed == nil && left != nil {
		failed = left
	}
	var gone *lostClient
	if errors.As(failed, &gone) {
		return gone
	}
	return e.frames.writeJSON(frameResponse, response(result, failed))
}

// lostClient means that the response's stream could not be sent: there is nobody to answer.
type lostClient struct{ cause error }

func (l *lostClient) Error() string { return l.cause.Error() }

func response(result map[string]any, failed error) map[string]any {
	if failed != nil {
		return map[string]any{"ok": false, "error": asFailure(failed)}
	}
	whole := map[string]any{"ok": true}
	for key, value := range result {
		whole[key] = value
	}
	return whole
}

// perform never lets one request end PID 1.
func (s *supervisor) perform(op string, e *exchange) (result map[string]any, failed error) {
	defer func() {
		if problem := recover(); problem != nil {
			complain("%s: %v\n%s", op, problem, debug.Stack())
			failed = failure{"internal", fmt.Sprintf("%s: %v", op, problem)}
		}
	}()
	handler, ok := operations[op]
	if !ok {
		return nil, badRequest("no operation %q", op)
	}
	return handler(s, e)
}

func heartbeat(frames *frameWriter) (stop func()) {
	ticker := time.NewTicker(heartbeatEvery)
	done := make(chan struct{})
	ended := make(chan struct{})
	beside(func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				// Who does not take it is found out by the response.
				if frames.write(frameHeartbeat, nil) != nil {
					return
				}
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}
