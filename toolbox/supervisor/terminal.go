// The terminal: one session, each action done once for its number, observed when it is over.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	maxTerminalSide   = 1000
	maxKeystrokeBytes = 4 << 20
	maxLimitBytes     = 4 << 20
	// Longer keystrokes are pasted.
	maxSentBytes = 12_000
	pasteBuffer  = "passband"
	startLimit   = 30 * time.Second
)

type terminalSize struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

type action struct {
	Keystrokes string  `json:"keystrokes"`
	DurationMs float64 `json:"durationMs"`
}

type actRequest struct {
	requestHead
	Seq      int64    `json:"seq"`
	Actions  []action `json:"actions"`
	BudgetMs *float64 `json:"budgetMs"`
}

// act is one numbered turn and, once done is closed, its answer.
type act struct {
	seq    int64
	done   chan struct{}
	answer map[string]any
	failed error
}

type terminal struct {
	mutex   sync.Mutex
	started bool
	last    *act
	session *session
}

func (s *supervisor) terminalStart(e *exchange) (map[string]any, error) {
	var request struct {
		requestHead
		terminalSize
		User       userWord    `json:"user"`
		Cwd        *string     `json:"cwd"`
		Env        environment `json:"env"`
		LimitBytes int         `json:"limitBytes"`
		Recording  *string     `json:"recording"`
	}
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	if request.Columns < 1 || request.Columns > maxTerminalSide || request.Rows < 1 || request.Rows > maxTerminalSide {
		return nil, badRequest("terminal.start: columns and rows are 1 to %d", maxTerminalSide)
	}
	if request.LimitBytes < 1 || request.LimitBytes > maxLimitBytes {
		return nil, badRequest("terminal.start: limitBytes is 1 to %d", maxLimitBytes)
	}
	s.terminal.mutex.Lock()
	defer s.terminal.mutex.Unlock()
	// A session that has died stays dead: a new shell would be another terminal than the one that was lost.
	if s.terminal.started {
		return map[string]any{"started": false}, nil
	}
	book, err := s.from.accountsFor(string(request.User), false)
	if err != nil {
		return nil, err
	}
	user, err := book.lookUpUser(string(request.User), s.from.user)
	if err != nil {
		return nil, err
	}
	dir, err := s.workDirectory(request.Cwd)
	if err != nil {
		return nil, err
	}
	env := withLocale(s.from.environmentOf(user, request.Env, false))
	recording, err := prepareRecording(request.Recording, user)
	if err != nil {
		return nil, err
	}
	credential := &syscall.Credential{Uid: user.Uid, Gid: user.Gid, Groups: book.groupsOf(user)}
	begun, err := startSession(request.terminalSize, env, credential, dir, recording, user)
	if err != nil {
		return nil, err
	}
	begun.limit = request.LimitBytes
	s.terminal.started, s.terminal.session = true, begun
	return map[string]any{"started": true}, nil
}

// prepareRecording makes the file as root, where the user may not, and gives it to the user.
func prepareRecording(path *string, user account) (string, error) {
	if path == nil {
		return "", nil
	}
	file, err := createAnew(*path, 0o644)
	if err != nil {
		return "", fmt.Errorf("recording: %w", err)
	}
	defer file.Close()
	return *path, file.Chown(int(user.Uid), int(user.Gid))
}

func startSession(size terminalSize, env environment, user *syscall.Credential, dir, recording string, who account) (*session, error) {
	shell, err := shellOf(env["PATH"])
	if err != nil {
		return nil, err
	}
	socket, err := socketOf(who)
	if err != nil {
		return nil, err
	}
	arguments := tmuxCommand(socket, sessionArguments(size, shell, recording)...)
	if err := runTmux(arguments, tmuxEnvironment(env), user, dir); err != nil {
		return nil, err
	}
	begun := &session{
		size: size, user: user,
		command: tmuxCommand(socket, "-C", "attach-session", "-t", "="+sessionName, "-f", "no-output,ignore-size"),
	}
	begun.control, err = attach(begun.command, user, "/")
	if errors.Is(err, errControlEnded) {
		// The shell has ended already: a session that is there no more, and not one that could not be started.
		begun.dead, err = true, nil
	}
	if err == nil {
		err = begun.awaitPrompt()
	}
	return begun, err
}

// runTmux runs one command of tmux to its end.
func runTmux(arguments, env []string, user *syscall.Credential, dir string) error {
	var pipes jobPipes
	if err := pipes.add(true); err != nil {
		return err
	}
	defer closeFiles(pipes.ours)
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		closeFiles(pipes.theirs)
		return err
	}
	words := startCapture(pipes.ours[0], 4096, &outputFile{})
	files := []*os.File{null, pipes.theirs[0], pipes.theirs[0]}
	pid, ended, err := start(arguments, env, files, &syscall.SysProcAttr{Setsid: true, Credential: user}, dir)
	closeFiles(append(pipes.theirs, null))
	if err != nil {
		return fmt.Errorf("tmux cannot be started: %w", err)
	}
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case status := <-ended:
		text, _ := words.finish()
		why := "tmux cannot be started: " + strings.TrimSpace(string(text))
		switch status.ExitStatus() {
		case 0:
			return nil
		case exitNotFound:
			return failure{"not-found", why}
		}
		return failure{"io", why}
	case <-limit.C:
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return failure{"io", fmt.Sprintf("tmux did not start within %v", startLimit)}
	}
}

func (s *supervisor) terminalAct(e *exchange) (map[string]any, error) {
	var request actRequest
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	for _, one := range request.Actions {
		if len(one.Keystrokes) > maxKeystrokeBytes {
			return nil, failure{"limit", fmt.Sprintf("terminal.act: keystrokes of more than %d bytes", maxKeystrokeBytes)}
		}
	}
	turn, repeated, err := s.terminal.begin(request)
	if err != nil {
		return nil, err
	}
	<-turn.done
	if turn.failed != nil {
		return nil, turn.failed
	}
	answer := map[string]any{"replayed": repeated}
	for key, value := range turn.answer {
		answer[key] = value
	}
	return answer, nil
}

// begin starts a turn that is new; it goes on whether or not its client stays.
func (t *terminal) begin(request actRequest) (*act, bool, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !t.started {
		return nil, false, failure{"not-found", "no terminal was started"}
	}
	previous := t.last
	if previous != nil && request.Seq == previous.seq {
		return previous, true, nil
	}
	if previous != nil && request.Seq < previous.seq {
		return nil, false, failure{"conflict", fmt.Sprintf("terminal.act: seq %d, but %d was done already", request.Seq, previous.seq)}
	}
	turn := &act{seq: request.Seq, done: make(chan struct{})}
	t.last = turn
	beside(func() {
		defer close(turn.done)
		if previous != nil {
			<-previous.done
		}
		begin := time.Now()
		seen, err := t.session.perform(request)
		if err != nil {
			turn.failed = err
			return
		}
		turn.answer = map[string]any{
			"alive": seen.alive, "fresh": seen.fresh, "screen": seen.screen, "wallMs": time.Since(begin).Milliseconds(),
		}
	})
	return turn, false, nil
}
