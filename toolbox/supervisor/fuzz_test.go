// Fuzz tests: whatever comes over a connection, or is written by what runs inside, is refused as an error and no fault.
package main

import (
	"bytes"
	"io"
	"testing"
)

// takeAll is an operation that does nothing but what all do: it parses its request, and reads its stream.
func takeAll(into func() any) func(*supervisor, *exchange) (map[string]any, error) {
	return func(_ *supervisor, e *exchange) (map[string]any, error) {
		if err := e.parse(into()); err != nil {
			return nil, err
		}
		if e.input == nil {
			return nil, nil
		}
		data, err := io.ReadAll(io.LimitReader(e.input, 1000))
		return map[string]any{"bytes": len(data)}, err
	}
}

// withoutDeeds has requests parsed, and nothing done, until the test ends.
func withoutDeeds(f *testing.F) {
	before := operations
	operations = map[string]func(*supervisor, *exchange) (map[string]any, error){
		"hello": before["hello"],
		"run":   takeAll(func() any { return &runRequest{} }),
		"act":   takeAll(func() any { return &actRequest{} }),
		"fault": func(*supervisor, *exchange) (map[string]any, error) { panic("a fault") },
	}
	f.Cleanup(func() { operations = before })
}

func FuzzAConnectionEndsInAnErrorWhateverComes(f *testing.F) {
	withoutDeeds(f)
	f.Add([]byte{})
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Add(frame(frameRequest, `{"op":"run","id":"x","argv":["a"],"user":1,"timeoutMs":-1}`))
	f.Add(frame(frameRequest, `{"op":"hello","nonce":"000102030405060708090a0b0c0d0e0f"}`))
	f.Add(append(frame(frameRequest, `{"op":"act","stream":true}`), append(frame(frameData, "x"), frame(frameEnd, `{"bytes":1}`)...)...))
	f.Add(append(frame(frameRequest, `{"op":"fault"}`), frame(frameRequest, `{"op":[]}`)...))
	f.Add(append(frame(frameRequest, `{"op":"run","stream":true}`), frame(frameEnd, `[1`)...))
	f.Fuzz(func(t *testing.T, wire []byte) {
		client := listening{bytes.NewReader(wire), io.Discard}
		if err := newSupervisor(origin{key: testKey}).converse(client); err == nil {
			t.Error("a connection that has ended goes on")
		}
	})
}

func FuzzWhatTheAgentWritesIsReadWithoutAFault(f *testing.F) {
	f.Add([]byte("1 (sh) S 0 1 1 0"))
	f.Add([]byte("root:x:0:0:root:/root:/bin/bash\nx:x:-1:\n:::::"))
	f.Add([]byte("one\ntwo\n\xff\xfe\n\nthree"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = parseStat(text)
		parsePasswd(text)
		parseGroup(text)
		seen := history{}
		for _, part := range bytes.SplitN(text, []byte{'\n'}, 3) {
			kept := &headTail{limit: 64}
			_, _ = kept.Write(part)
			seen.advance(captured{size: len(part), text: kept}, 3, 40)
		}
	})
}
