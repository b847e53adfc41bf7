// What is kept of an endless output: its first half and its last half, in bounded memory.
package main

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// headTail keeps the first half and the last half of `limit` bytes of what is written to it.
type headTail struct {
	limit int
	head  []byte
	// tail is a ring once it is full: the oldest byte is at `next`.
	tail  []byte
	next  int
	total int64
}

func (h *headTail) Write(data []byte) (int, error) {
	h.total += int64(len(data))
	taken := len(data)
	if free := h.limit/2 - len(h.head); free > 0 {
		if free > len(data) {
			free = len(data)
		}
		h.head = append(h.head, data[:free]...)
		data = data[free:]
	}
	size := h.limit - h.limit/2
	if over := len(data) - size; over > 0 {
		data = data[over:]
	}
	if free := size - len(h.tail); free > 0 && len(data) > 0 {
		if free > len(data) {
			free = len(data)
		}
		h.tail = append(h.tail, data[:free]...)
		data = data[free:]
	}
	for len(data) > 0 {
		n := copy(h.tail[h.next:], data)
		h.next = (h.next + n) % size
		data = data[n:]
	}
	return taken, nil
}

// parts gives both halves and the number of bytes left out between them.
func (h *headTail) parts() (head, tail []byte, omitted int64) {
	tail = make([]byte, 0, len(h.tail))
	tail = append(append(tail, h.tail[h.next:]...), h.tail[:h.next]...)
	return h.head, tail, h.total - int64(len(h.head)) - int64(len(tail))
}

func (h *headTail) bytes() ([]byte, int64) {
	head, tail, omitted := h.parts()
	return append(append(make([]byte, 0, len(head)+len(tail)), head...), tail...), omitted
}

// maxOutputFileBytes is how much of both streams goes into a job's output file.
const maxOutputFileBytes = 64 << 20

// outputFile takes both streams of a job as they come.
type outputFile struct {
	sync.Mutex
	file    *os.File
	left    int64
	problem string
}

func (o *outputFile) write(data []byte) {
	o.Lock()
	defer o.Unlock()
	if o.file == nil {
		return
	}
	if int64(len(data)) > o.left {
		data = data[:o.left]
	}
	n, err := o.file.Write(data)
	o.left -= int64(n)
	if err != nil {
		o.problem = fmt.Sprintf("outputFile: %v", err)
	}
	if err != nil || o.left == 0 {
		o.file.Close()
		o.file = nil
	}
}

func (o *outputFile) close() {
	o.Lock()
	defer o.Unlock()
	if o.file != nil {
		o.file.Close()
		o.file = nil
	}
}

// capture reads one stream of a job. It goes on after the job's end, dropping what comes, for as long as somebody
// holds the other end: a server left behind must not die of a closed pipe.
type capture struct {
	mutex sync.Mutex
	from  *os.File
	kept  headTail
	file  *outputFile
	over  bool
}

func startCapture(from *os.File, limit int, file *outputFile) *capture {
	c := &capture{from: from, kept: headTail{limit: limit}, file: file}
	beside(c.follow)
	return c
}

func (c *capture) follow() {
	defer c.from.Close()
	raw, err := c.from.SyscallConn()
	if err != nil {
		complain("capture: %v", err)
		return
	}
	buffer := make([]byte, 64<<10)
	for {
		n := 0
		var failed error
		err := raw.Read(func(descriptor uintptr) bool {
			n, failed = c.take(int(descriptor), buffer)
			return failed != syscall.EAGAIN
		})
		if err != nil || failed != nil || n == 0 {
			return
		}
	}
}

// take reads once and keeps what came, in one step: finish finds either in the pipe or kept what was written.
func (c *capture) take(descriptor int, buffer []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for {
		n, err := syscall.Read(descriptor, buffer)
		if err == syscall.EINTR {
			continue
		}
		if n > 0 && !c.over {
			c.file.write(buffer[:n])
			c.kept.Write(buffer[:n])
		}
		return n, err
	}
}

// pipeBytes is more than a pipe holds that nobody has enlarged.
const pipeBytes = 64 << 10

// finish takes what the main process left in the pipe, and nothing that is written later.
func (c *capture) finish() (kept []byte, omitted int64) {
	raw, err := c.from.SyscallConn()
	if err == nil {
		// An error means that the pipe was read to its end and closed.
		_ = raw.Control(func(descriptor uintptr) {
			buffer := make([]byte, pipeBytes)
			for taken := 0; taken < pipeBytes; {
				n, err := c.take(int(descriptor), buffer[taken:])
				if n <= 0 || err != nil {
					return
				}
				taken += n
			}
		})
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.over = true
	kept, omitted = c.kept.bytes()
	c.kept = headTail{}
	return kept, omitted
}
