// Jobs: commands that are started once under an id, waited for by anybody who knows it, and killed as a tree.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	maxJobs        = 256
	maxKeptBytes   = 32 << 20
	maxOutputBytes = 8 << 20
	maxStdinBytes  = 16 << 20
	maxWait        = 10 * time.Minute
)

type runRequest struct {
	requestHead
	ID               string      `json:"id"`
	Argv             []string    `json:"argv"`
	Env              environment `json:"env"`
	CleanEnv         bool        `json:"cleanEnv"`
	Cwd              *string     `json:"cwd"`
	User             userWord    `json:"user"`
	TimeoutMs        *int64      `json:"timeoutMs"`
	OutputLimitBytes *int        `json:"outputLimitBytes"`
	OutputFile       *string     `json:"outputFile"`
	OomScoreAdj      *int        `json:"oomScoreAdj"`
	WaitMs           int64       `json:"waitMs"`
	Background       bool        `json:"background"`
}

// userWord is a user's name, a uid, or null.
type userWord string

func (w *userWord) UnmarshalJSON(text []byte) error {
	var number uint32
	if string(text) == "null" {
		return nil
	}
	if json.Unmarshal(text, &number) == nil {
		*w = userWord(text)
		return nil
	}
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return fmt.Errorf("user: a name, a uid or null, not %s", text)
	}
	*w = userWord(word)
	return nil
}

// jobs are known by id for ever, their results only for as long as there is room: an id is never started twice.
type jobs struct {
	sync.Mutex
	byID     map[string]*job
	finished []string
	kept     int
}

func newJobs() *jobs { return &jobs{byID: map[string]*job{}} }

func (s *supervisor) run(e *exchange) (map[string]any, error) {
	var request runRequest
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	if request.ID == "" || len(request.ID) > 200 {
		return nil, badRequest("run: an id of 1 to 200 bytes is needed")
	}
	one, known := s.jobs.find(request.ID)
	if !known {
		stdin, err := readStdin(e.input)
		if err != nil {
			return nil, err
		}
		if one, err = s.jobs.startOnce(request.ID, func() (*job, error) { return s.startJob(request, stdin) }); err != nil {
			return nil, err
		}
	}
	wait := time.Duration(request.WaitMs) * time.Millisecond
	if request.Background {
		wait = 0
	}
	if wait > maxWait {
		wait = maxWait
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-one.done:
		return tell(e, one)
	case <-timer.C:
	}
	select {
	case <-one.done:
		return tell(e, one)
	default:
		return map[string]any{"state": "running"}, nil
	}
}

// tell gives a job's outcome. Where something inside ended it by a signal, and with it the connection that waits for it,
// the driver has to see both: without asking it would now and then be told of the job alone.
func tell(e *exchange, one *job) (map[string]any, error) {
	result := one.outcome()
	if result["signal"] == nil {
		return result, nil
	}
	if err := e.client.confirm(); err != nil {
		return nil, &lostClient{err}
	}
	return result, nil
}

func readStdin(input *inputStream) ([]byte, error) {
	if input == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(input, maxStdinBytes+1))
	if err == nil && len(data) > maxStdinBytes {
		err = failure{"limit", fmt.Sprintf("stdin: at most %d bytes are taken", maxStdinBytes)}
	}
	return data, err
}

func (j *jobs) find(id string) (*job, bool) {
	j.Lock()
	defer j.Unlock()
	one, known := j.byID[id]
	return one, known
}

func (j *jobs) startOnce(id string, begin func() (*job, error)) (*job, error) {
	j.Lock()
	defer j.Unlock()
	if one, known := j.byID[id]; known {
		return one, nil
	}
	one, err := begin()
	if err != nil {
		return nil, err
	}
	j.byID[id] = one
	beside(func() {
		<-one.done
		j.keep(id, one)
	})
	return one, nil
}

// keep makes room for a finished job's result by dropping the oldest ones.
func (j *jobs) keep(id string, one *job) {
	j.Lock()
	defer j.Unlock()
	j.finished = append(j.finished, id)
	j.kept += one.kept
	for len(j.finished) > maxJobs || (j.kept > maxKeptBytes && len(j.finished) > 1) {
		oldest := j.finished[0]
		j.finished = j.finished[1:]
		j.kept -= j.byID[oldest].drop()
	}
}

func (s *supervisor) startJob(request runRequest, stdin []byte) (*job, error) {
	plan, limit, err := s.planJob(request)
	if err != nil {
		return nil, err
	}
	file := openOutputFile(request.OutputFile)
	one, err := startShim(plan, stdin, limit, file)
	if err != nil {
		file.close()
		return nil, err
	}
	if request.TimeoutMs != nil {
		one.limitTime(time.Duration(*request.TimeoutMs) * time.Millisecond)
	}
	return one, nil
}

func (s *supervisor) planJob(request runRequest) (shimJob, int, error) {
	none := shimJob{}
	if len(request.Argv) == 0 || request.Argv[0] == "" {
		return none, 0, badRequest("run: argv is empty")
	}
	if request.TimeoutMs != nil && *request.TimeoutMs < 0 {
		return none, 0, badRequest("run: timeoutMs is negative")
	}
	limit := 1 << 20
	if request.OutputLimitBytes != nil {
		limit = *request.OutputLimitBytes
	}
	if limit < 0 || limit > maxOutputBytes {
		return none, 0, badRequest("run: outputLimitBytes is 0 to %d", maxOutputBytes)
	}
	book, err := s.from.accountsFor(string(request.User), request.CleanEnv)
	if err != nil {
		return none, 0, err
	}
	user, err := book.lookUpUser(string(request.User), s.from.user)
	if err != nil {
		return none, 0, err
	}
	dir, err := s.workDirectory(request.Cwd)
	if err != nil {
		return none, 0, err
	}
	score := jobOomScore
	if request.OomScoreAdj != nil {
		score = *request.OomScoreAdj
	}
	return shimJob{
		Argv: request.Argv, Env: s.from.environmentOf(user, request.Env, request.CleanEnv).list(),
		Dir: dir, Uid: user.Uid, Gid: user.Gid, Groups: book.groupsOf(user), OomScore: score,
	}, limit, nil
}

// workDirectory gives the directory that a process starts in; it must be there.
func (s *supervisor) workDirectory(wanted *string) (string, error) {
	dir := s.from.cwd
	if wanted != nil {
		dir = *wanted
	}
	if !filepath.IsAbs(dir) {
		return "", badRequest("cwd: %q is not absolute", dir)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("cwd: %w", err)
	}
	if !info.IsDir() {
		return "", failure{"not-found", fmt.Sprintf("cwd: %s is not a directory", dir)}
	}
	return dir, nil
}

func (s *supervisor) kill(e *exchange) (map[string]any, error) {
	var request struct {
		requestHead
		ID string `json:"id"`
	}
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	one, known := s.jobs.find(request.ID)
	if !known {
		return nil, failure{"not-found", fmt.Sprintf("no job %q", request.ID)}
	}
	return nil, one.kill()
}
