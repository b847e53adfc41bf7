// Paths with a signature each, in the order of a walk, front-coded: 100,000 of them take about 2.5 MiB.
package main

import (
	"bytes"
	"encoding/binary"
)

// listChunkBytes are taken at once: a list that grows leaves no garbage of its own size behind.
const listChunkBytes = 64 << 10

// pathList can only grow, by paths in the order of comparePaths, and be read from its begin.
type pathList struct {
	chunks  [][]byte
	last    []byte
	entries int
}

// add appends `uvarint shared | uvarint (rest << 1 | directory) | rest of the path | u64 signature`.
func (l *pathList) add(path string, directory bool, signature uint64) {
	shared := 0
	for shared < len(path) && shared < len(l.last) && path[shared] == l.last[shared] {
		shared++
	}
	rest := path[shared:]
	need := 2*binary.MaxVarintLen64 + len(rest) + 8
	at := len(l.chunks) - 1
	if at < 0 || cap(l.chunks[at])-len(l.chunks[at]) < need {
		size := listChunkBytes
		if need > size {
			size = need
		}
		l.chunks, at = append(l.chunks, make([]byte, 0, size)), at+1
	}
	head := uint64(len(rest)) << 1
	if directory {
		head |= 1
	}
	record := binary.AppendUvarint(binary.AppendUvarint(l.chunks[at], uint64(shared)), head)
	record = append(record, rest...)
	l.chunks[at] = binary.LittleEndian.AppendUint64(record, signature)
	l.last = append(l.last[:shared], rest...)
	l.entries++
}

// pathReader stands at one entry of a list after each next that is true.
type pathReader struct {
	chunks    [][]byte
	rest      []byte
	path      []byte
	directory bool
	signature uint64
}

func (l *pathList) read() *pathReader { return &pathReader{chunks: l.chunks} }

func (r *pathReader) next() bool {
	if len(r.rest) == 0 {
		if len(r.chunks) == 0 {
			return false
		}
		r.rest, r.chunks = r.chunks[0], r.chunks[1:]
	}
	shared, n := binary.Uvarint(r.rest)
	head, m := binary.Uvarint(r.rest[n:])
	r.rest = r.rest[n+m:]
	length := int(head >> 1)
	r.path = append(r.path[:shared], r.rest[:length]...)
	r.directory = head&1 == 1
	r.signature = binary.LittleEndian.Uint64(r.rest[length:])
	r.rest = r.rest[length+8:]
	return true
}

// comparePaths orders paths as a walk meets them: a directory, all that is below it, its next sibling.
func comparePaths(one, other []byte) int {
	at := 0
	for at < len(one) && at < len(other) && one[at] == other[at] {
		at++
	}
	switch {
	case at == len(one) || at == len(other):
		return len(one) - len(other)
	case one[at] == '/':
		return -1
	case other[at] == '/':
		return 1
	}
	return bytes.Compare(one[at:at+1], other[at:at+1])
}
