// A tmux client in control mode, kept open: commands go in as lines, answers come back as blocks. So no process is
// started for an action, and nothing is lost when an agent uses up the pids or deletes the toolbox's files.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// maxBlockBytes of an answer are kept: its first half and its last half.
	maxBlockBytes = 16 << 20
	// A tmux that has said nothing for this long does not work any more.
	answerLimit = 120 * time.Second
	nudgeEvery  = time.Second
)

var (
	errControlEnded = errors.New("tmux ended")
	errNoAnswer     = errors.New("tmux does not answer")
)

// tmuxError is tmux's own word that it could not do a command.
type tmuxError string

func (t tmuxError) Error() string { return string(t) }

type block struct {
	text   *headTail
	failed bool
}

type control struct {
	pid     int
	server  int
	input   *os.File
	answers chan block
	// ended is closed by the reader at tmux's end, left once nobody asks any more.
	ended, left chan struct{}
	leave       sync.Once
}

// attach starts `command`, a tmux that attaches in control mode, and waits until it answers.
func attach(command []string, user *syscall.Credential, dir string) (*control, error) {
	var pipes jobPipes
	for _, outward := range []bool{false, true} {
		if err := pipes.add(outward); err != nil {
			closeFiles(append(pipes.ours, pipes.theirs...))
			return nil, err
		}
	}
	null, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	if err != nil {
		closeFiles(append(pipes.ours, pipes.theirs...))
		return nil, err
	}
	pipes.theirs = append(pipes.theirs, null)
	pid, _, err := start(command, tmuxEnvironment(nil), pipes.theirs, &syscall.SysProcAttr{Setsid: true, Credential: user}, dir)
	closeFiles(pipes.theirs)
	if err != nil {
		closeFiles(pipes.ours)
		return nil, err
	}
	c := &control{pid: pid, input: pipes.ours[0], answers: make(chan block), ended: make(chan struct{}), left: make(chan struct{})}
	beside(func() { c.read(pipes.ours[1]) })
	answer, err := c.ask(`display-message -p "#{pid}"`)
	if err == nil {
		_, err = fmt.Sscanf(string(answer[0].head), "%d", &c.server)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *control) close() {
	c.leave.Do(func() {
		close(c.left)
		c.input.Close()
	})
}

func (c *control) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// read takes tmux's lines: `%begin TIME NUMBER FLAGS`, the answer's own lines, and `%end` (or `%error`) with the
// same three words. Flag 1 marks answers to this client's commands; all else tells of events.
func (c *control) read(from *os.File) {
	defer from.Close()
	defer close(c.ended)
	reader := bufio.NewReaderSize(from, 64<<10)
	var words []byte
	text := &headTail{limit: maxBlockBytes}
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		if words == nil {
			if rest := bytes.TrimPrefix(line, []byte("%begin ")); len(rest) < len(line) {
				words = rest
			}
			continue
		}
		failed := bytes.Equal(line, append([]byte("%error "), words...))
		if !failed && !bytes.Equal(line, append([]byte("%end "), words...)) {
			_, _ = text.Write(line)
			continue
		}
		if bytes.HasSuffix(words, []byte(" 1\n")) {
			select {
			case c.answers <- block{text, failed}:
			case <-c.left:
				return
			}
		}
		words, text = nil, &headTail{limit: maxBlockBytes}
	}
}

// ask runs commands in one go, with nothing of the pane's output taken in between, and gives an answer for each.
func (c *control) ask(commands ...string) ([]*headTail, error) {
	line := []byte(strings.Join(commands, " ; ") + "\n")
	written := make(chan error, 1)
	beside(func() {
		_, err := c.input.Write(line)
		written <- err
	})
	var answers []*headTail
	nudge := time.NewTicker(nudgeEvery)
	defer nudge.Stop()
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	for len(answers) < len(commands) {
		select {
		case answer := <-c.answers:
			if answer.failed {
				head, _, _ := answer.text.parts()
				return nil, tmuxError(strings.TrimSpace(string(head)))
			}
			answers = append(answers, answer.text)
		case err := <-written:
			written = nil
			if err != nil {
				return nil, errControlEnded
			}
		case <-c.ended:
			return nil, errControlEnded
		case <-nudge.C:
			// What runs in the terminal may have stopped tmux itself.
			c.wake()
		case <-limit.C:
			c.close()
			return nil, errNoAnswer
		}
	}
	return answers, nil
}

func (c *control) wake() {
	for _, pid := range []int{c.pid, c.server} {
		if pid > 1 {
			// One that is gone needs no waking, and ends the connection.
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// quote writes text as one word of tmux's command language, every byte of it meaning itself. It must hold no NUL.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == ' ', b >= 0x80:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, `\%03o`, b)
		}
	}
	out.WriteByte('"')
	return out.String()
}
