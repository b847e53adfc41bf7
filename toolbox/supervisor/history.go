// What of a terminal's history is new since it was last read, in bounded memory.
package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// Lines of history before the screen that are compared; older ones cannot change.
	comparedLines    = 2000
	maxComparedBytes = 4 << 20
)

// history is the end of the previous capture.
type history struct {
	taken    bool
	size     int
	previous []byte
	screen   string
}

// captured are all lines from line `start` of the history on, the screen's last; the history had `size` lines then.
type captured struct {
	size, start int
	text        *headTail
}

// from is the first line of the history that the next capture needs.
func (h *history) from() int {
	if h.size <= comparedLines {
		return 0
	}
	return h.size - comparedLines
}

// advance takes the next capture, with the screen's `rows` at its end. It gives what follows from the last line of the
// previous capture on, or null where that is not found.
func (h *history) advance(next captured, rows, limit int) *string {
	head, tail, omitted := next.text.parts()
	if omitted == 0 {
		head, tail = append(append([]byte{}, head...), tail...), nil
	}
	end := head
	if omitted > 0 {
		end = tail
	}
	var fresh *string
	// Lines of the history do not change: those before the capture's start need not be compared.
	previous := h.previous
	for line := h.from(); line < next.start && len(previous) > 0; line++ {
		previous = previous[bytes.IndexByte(previous, '\n')+1:]
	}
	if previous = bytes.TrimSpace(previous); h.taken && (len(previous) > 0 || next.start == h.from()) {
		if at := bytes.Index(head, previous); at >= 0 {
			// The last line was incomplete, perhaps: a prompt that a command was typed at.
			at += bytes.LastIndexByte(previous, '\n') + 1
			text := cut(head[at:], tail, omitted, limit)
			fresh = &text
		}
	}
	h.taken, h.size = true, next.size
	h.screen = cut(lastLines(end, rows), nil, 0, limit)
	compared := comparedLines
	if next.size < compared {
		compared = next.size
	}
	h.previous = append([]byte{}, lastLines(end, compared+rows)...)
	if over := len(h.previous) - maxComparedBytes; over > 0 {
		h.previous = h.previous[over:]
	}
	return fresh
}

// lastLines gives the last n lines of a text that ends with a newline.
func lastLines(text []byte, n int) []byte {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(text[:at-1], '\n') + 1
	}
	return text[at:]
}

// cut brings a text, given as two parts with `omitted` bytes between them, down to `limit` bytes: its first half and
// its last half, a line between them that says so, and no broken character at the edges.
func cut(head, tail []byte, omitted int64, limit int) string {
	if omitted == 0 && len(head)+len(tail) <= limit {
		return string(head) + string(tail)
	}
	half := limit / 2
	first := head
	if len(first) > half {
		first = withoutBrokenEnd(first[:half])
	}
	last := tail
	if len(last) < half && omitted == 0 {
		last = append(append([]byte{}, head[len(first):]...), tail...)
	}
	if len(last) > half {
		last = withoutBrokenStart(last[len(last)-half:])
	}
	left := int64(len(head)+len(tail)) + omitted - int64(len(first)+len(last))
	return fmt.Sprintf("%s\n[... output limited to %d bytes; %d bytes omitted ...]\n%s",
		strings.TrimSuffix(string(first), "\n"), limit, left, last)
}

func withoutBrokenEnd(text []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if start := text[len(text)-back]; utf8.RuneStart(start) {
			if !utf8.FullRune(text[len(text)-back:]) {
				return text[:len(text)-back]
			}
			break
		}
	}
	return text
}

func withoutBrokenStart(text []byte) []byte {
	skip := 0
	for skip < utf8.UTFMax-1 && skip < len(text) && !utf8.RuneStart(text[skip]) {
		skip++
	}
	return text[skip:]
}
