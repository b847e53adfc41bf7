// The recorder behind tmux's pipe-pane: the bytes of the pane with their times, as asciicast version 2.
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

const maxRecordingBytes = 64 << 20

// recorder writes events until its file is full; what comes later is dropped.
type recorder struct {
	to   *os.File
	left int
	// part is the beginning of a character whose rest has not come yet.
	part []byte
}

func runRecord(arguments []string) int {
	if len(arguments) != 3 {
		return 64
	}
	columns, badColumns := strconv.Atoi(arguments[1])
	rows, badRows := strconv.Atoi(arguments[2])
	if badColumns != nil || badRows != nil {
		return 64
	}
	file, err := os.OpenFile(arguments[0], os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0)
	if err != nil {
		complain("record: %v", err)
		return 74
	}
	begin := time.Now()
	r := &recorder{to: file, left: maxRecordingBytes}
	r.line(map[string]any{"version": 2, "width": columns, "height": rows, "timestamp": begin.Unix()})
	buffer := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buffer)
		if n > 0 {
			r.event(time.Since(begin), buffer[:n])
		}
		if err != nil {
			return 0
		}
	}
}

// line writes one line of JSON, or ends the recording where it does not fit.
func (r *recorder) line(value any) {
	if r.to == nil {
		return
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	if err == nil && text.Len() <= r.left {
		r.left -= text.Len()
		_, err = r.to.Write(text.Bytes())
	} else if err == nil {
		r.to.Close()
		r.to = nil
		return
	}
	if err != nil {
		complain("record: %v", err)
		r.to.Close()
		r.to = nil
	}
}

func (r *recorder) event(at time.Duration, data []byte) {
	whole := append(r.part, data...)
	ready := withoutBrokenEnd(whole)
	r.part = append([]byte{}, whole[len(ready):]...)
	if len(ready) == 0 {
		return
	}
	text := strings.ToValidUTF8(string(ready), string(utf8.RuneError))
	r.line([]any{float64(at.Microseconds()) / 1e6, "o", text})
}
