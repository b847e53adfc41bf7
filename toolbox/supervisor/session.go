// One tmux session: typing into it, waiting, and reading what is new.
package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// pane is the only one of the session, whatever is opened beside it.
const pane = "%0"

const promptLimit = time.Second

type session struct {
	size    terminalSize
	limit   int
	user    *syscall.Credential
	command []string
	control *control
	dead    bool
	seen    history
}

type observation struct {
	alive  bool
	fresh  *string
	screen string
}

func (s *session) perform(request actRequest) (observation, error) {
	var until time.Time
	if request.BudgetMs != nil {
		until = time.Now().Add(milliseconds(*request.BudgetMs))
	}
	for _, one := range request.Actions {
		if s.dead || (!until.IsZero() && !time.Now().Before(until)) {
			break
		}
		begin := time.Now()
		if err := s.asking(func() error { return s.send(one.Keystrokes) }); err != nil {
			return observation{}, err
		}
		s.wait(begin.Add(milliseconds(one.DurationMs)), until)
	}
	return s.observe()
}

func milliseconds(value float64) time.Duration {
	const most = float64(24 * time.Hour / time.Millisecond)
	if value > most {
		value = most
	}
	return time.Duration(value * float64(time.Millisecond))
}

// wait ends at the earlier of both times, or with the session.
func (s *session) wait(until, budget time.Time) {
	if !budget.IsZero() && budget.Before(until) {
		until = budget
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return
		case <-s.control.ended:
			// Its end is looked into by the next question; a client alone that was killed ends no wait.
			if s.reattach() != nil || s.dead {
				return
			}
		}
	}
}

// asking does something with tmux. Where the connection ends meanwhile, it looks whether the session lives on, and
// does not do it again: what was typed may have arrived.
func (s *session) asking(what func() error) error {
	if !s.dead && s.control.hasEnded() {
		if err := s.reattach(); err != nil {
			return err
		}
	}
	if s.dead {
		return nil
	}
	err := what()
	var refused tmuxError
	if errors.As(err, &refused) || errors.Is(err, errControlEnded) {
		return s.reattach()
	}
	if err != nil {
		return failure{"io", err.Error()}
	}
	return nil
}

// reattach finds out whether the session is there: dead is set where it is not.
func (s *session) reattach() error {
	s.control.close()
	for until := time.Now().Add(startLimit); ; time.Sleep(50 * time.Millisecond) {
		again, err := attach(s.command, s.user, "/")
		if err == nil {
			_, err = again.ask(`display-message -p -t ` + pane + ` "#{pane_dead}"`)
		}
		var refused tmuxError
		switch {
		case err == nil:
			s.control = again
			return nil
		case errors.Is(err, errControlEnded), errors.As(err, &refused):
			s.dead = true
			return nil
		case errors.Is(err, syscall.EAGAIN) && time.Now().Before(until):
			// The sandbox is out of pids.
		default:
			return fmt.Errorf("the terminal cannot be reached: %w", err)
		}
	}
}

func (s *session) send(keystrokes string) error {
	if keystrokes == "" {
		return nil
	}
	if len(keystrokes) <= maxSentBytes && !strings.ContainsRune(keystrokes, 0) {
		_, err := s.control.ask("send-keys -t " + pane + " -- " + quote(keystrokes))
		return err
	}
	for i, part := range strings.Split(keystrokes, "\x00") {
		if i > 0 {
			if _, err := s.control.ask("send-keys -t " + pane + " -H 0"); err != nil {
				return err
			}
		}
		if part == "" {
			continue
		}
		_, err := s.control.ask("set-buffer -b "+pasteBuffer+" -- "+quote(part),
			"paste-buffer -d -b "+pasteBuffer+" -t "+pane)
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitPrompt waits for the shell's first word, so that nothing is typed, or looked at, before it is there; a shell
// that says nothing is not waited for long.
func (s *session) awaitPrompt() error {
	for until := time.Now().Add(promptLimit); time.Now().Before(until) && !s.dead; time.Sleep(5 * time.Millisecond) {
		blank := true
		err := s.asking(func() error {
			answer, err := s.control.ask("display-message -p -t " + pane + ` "#{cursor_x} #{cursor_y} #{history_size}"`)
			if err == nil {
				blank = strings.TrimSpace(string(answer[0].head)) == "0 0 0"
			}
			return err
		})
		if err != nil || !blank {
			return err
		}
	}
	return nil
}

// observe reads the screen and what is new. A session that is dead is answered for with what was last seen.
func (s *session) observe() (observation, error) {
	var fresh *string
	err := s.asking(func() error {
		taken, err := s.capture()
		if err == nil {
			fresh = s.seen.advance(taken, s.size.Rows, s.limit)
		}
		return err
	})
	return observation{!s.dead, fresh, s.seen.screen}, err
}

const askHistorySize = "display-message -p -t " + pane + ` "#{history_size}"`

func parseSize(answer *headTail) (int, error) {
	size := 0
	if _, err := fmt.Sscanf(string(answer.head), "%d", &size); err != nil {
		return 0, fmt.Errorf("tmux tells no history size: %w", err)
	}
	return size, nil
}

// capture reads the history's size and all lines from s.seen.from() on. tmux counts lines from the screen upwards, and
// the pane writes on: as many lines as come between the two questions are missing at the capture's start.
func (s *session) capture() (captured, error) {
	first, above := s.seen.from(), 0
	from := "-"
	if first > 0 {
		answer, err := s.control.ask(askHistorySize)
		if err != nil {
			return captured{}, err
		}
		size, err := parseSize(answer[0])
		if err != nil {
			return captured{}, err
		}
		// A history that has shrunk was cleared: all of it is taken.
		if size >= first {
			above = size - first
			from = fmt.Sprintf("-%d", above)
		}
	}
	answers, err := s.control.ask(askHistorySize, "capture-pane -p -t "+pane+" -S "+from)
	if err != nil {
		return captured{}, err
	}
	size, err := parseSize(answers[0])
	taken := captured{size: size, text: answers[1]}
	if from != "-" && size > above {
		taken.start = size - above
	}
	return taken, err
}
