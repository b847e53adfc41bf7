// The operations of the protocol, each parsed here and handed to the file that does it.
package main

import (
	"encoding/hex"
	"time"
)

type supervisor struct {
	from     origin
	peers    *peers
	jobs     *jobs
	terminal *terminal
	// baseline is nil where PID 1 was started without.
	baseline *baseline
}

func newSupervisor(from origin) *supervisor {
	return &supervisor{
		from: from, peers: newPeers(), jobs: newJobs(), terminal: &terminal{},
	}
}

var operations map[string]func(*supervisor, *exchange) (map[string]any, error)

func init() {
	operations = map[string]func(*supervisor, *exchange) (map[string]any, error){
		"hello":          (*supervisor).hello,
		"run":            (*supervisor).run,
		"kill":           (*supervisor).kill,
		"put":            (*supervisor).put,
		"get":            (*supervisor).get,
		"stat":           (*supervisor).stat,
		"list":           (*supervisor).list,
		"remove":         (*supervisor).remove,
		"freeze":         (*supervisor).freeze,
		"thaw":           (*supervisor).thaw,
		"end":            (*supervisor).end,
		"terminal.start": (*supervisor).terminalStart,
		"terminal.act":   (*supervisor).terminalAct,
		"users":          (*supervisor).users,
		"proof":          (*supervisor).proof,
		"usage":          (*supervisor).usage,
		"baseline":       (*supervisor).awaitBaseline,
		"changes":        (*supervisor).changes,
	}
}

// emptyRequest is what an operation without parameters takes.
type emptyRequest struct {
	requestHead
}

func (s *supervisor) hello(e *exchange) (map[string]any, error) {
	var request struct {
		requestHead
		Nonce string `json:"nonce"`
	}
	if err := e.parse(&request); err != nil {
		return nil, err
	}
	nonce, err := hex.DecodeString(request.Nonce)
	if err != nil || len(nonce) != nonceBytes {
		return nil, badRequest("hello: a nonce is %d bytes in hexadecimal", nonceBytes)
	}
	e.frames.greet(nonce)
	return map[string]any{
		"protocol":   protocolVersion,
		"bootId":     s.from.bootID(),
		"uptimeMs":   time.Since(s.from.start).Milliseconds(),
		"env":        s.from.env,
		"user":       map[string]any{"uid": s.from.user.Uid, "gid": s.from.user.Gid, "name": s.from.user.Name},
		"cwd":        s.from.cwd,
		"memoryEnds": memoryEnds(),
	}, nil
}

func (s *supervisor) freeze(e *exchange) (map[string]any, error) {
	if err := e.parse(&emptyRequest{}); err != nil {
		return nil, err
	}
	return nil, freeze(s.peers.list())
}

func (s *supervisor) thaw(e *exchange) (map[string]any, error) {
	if err := e.parse(&emptyRequest{}); err != nil {
		return nil, err
	}
	return nil, thaw()
}

func (s *supervisor) end(e *exchange) (map[string]any, error) {
	if err := e.parse(&emptyRequest{}); err != nil {
		return nil, err
	}
	return nil, endAll(s.peers.list)
}

func (s *supervisor) users(e *exchange) (map[string]any, error) {
	if err := e.parse(&emptyRequest{}); err != nil {
		return nil, err
	}
	book, err := readAccountBook()
	if err != nil {
		return nil, err
	}
	listed := make([]map[string]any, 0, len(book.accounts))
	for _, one := range book.accounts {
		listed = append(listed, map[string]any{
			"name": one.Name, "uid": one.Uid, "gid": one.Gid, "home": one.Home, "shell": one.Shell,
		})
	}
	return map[string]any{"users": listed}, nil
}
