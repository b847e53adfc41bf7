// What differs from the baseline: a second walk beside it, both in the same order.
package main

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"strconv"
	"syscall"
	"unicode/utf8"
)

const (
	// maxChanges paths are told, and maxChangeBytes of their names as JSON: a client asks for them in one request.
	maxChanges     = 200_000
	maxChangeBytes = maxRequestBytes - 1<<20
)

// errTooManyChanges ends a comparison.
var errTooManyChanges = errors.New("more paths differ than are told")

// comparison walks the baseline along with the tree.
type comparison struct {
	b                       *baseline
	known                   *pathReader
	more                    bool
	added, changed, deleted []string
	refused                 refusals
	bytes                   int
	// gone is the top of the tree that was deleted last: what was below it is not told.
	gone string
}

func (s *supervisor) changes(e *exchange) (map[string]any, error) {
	if err := e.parse(&emptyRequest{}); err != nil {
		return nil, err
	}
	b, err := s.finishedBaseline()
	if err != nil {
		return nil, err
	}
	b.comparing.Lock()
	defer b.comparing.Unlock()
	defer debug.FreeOSMemory()
	c := newComparison(b)
	err = c.run()
	truncated := errors.Is(err, errTooManyChanges) || errors.Is(err, errTooManyNames)
	if err != nil && !truncated {
		return nil, err
	}
	return map[string]any{
		"added": c.added, "changed": c.changed, "deleted": c.deleted, "refused": c.refused.all(),
		"truncated": truncated,
	}, nil
}

func newComparison(b *baseline) *comparison {
	c := &comparison{b: b, known: b.list.read(), added: []string{}, changed: []string{}, deleted: []string{}}
	c.more = c.known.next()
	return c
}

func (c *comparison) run() error {
	w := &walker{skipped: c.b.skipped, maxNames: c.b.list.entries + maxChanges, visit: c.visit}
	w.refuse = func(path string, why error) { c.refused.add(readable(path), why.Error()) }
	if err := w.walk(c.b.root); err != nil {
		return err
	}
	for c.more {
		if err := c.pass(); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) visit(path string, status *syscall.Stat_t) error {
	order := 1
	for c.more {
		if order = comparePaths(c.known.path, []byte(path)); order >= 0 {
			break
		}
		if err := c.pass(); err != nil {
			return err
		}
	}
	if !c.more || order > 0 {
		return c.tell(&c.added, path)
	}
	wasDirectory, same := c.known.directory, c.known.signature == c.b.signatureOf(status)
	c.more = c.known.next()
	switch {
	case wasDirectory && !isDirectory(status):
		// Something else took the place of a whole tree.
		c.gone = path
		if err := c.tell(&c.deleted, path); err != nil {
			return err
		}
		return c.tell(&c.added, path)
	case !same:
		return c.tell(&c.changed, path)
	}
	return nil
}

// pass goes over an entry of the baseline that is not there any more.
func (c *comparison) pass() error {
	path := string(c.known.path)
	c.more = c.known.next()
	if c.gone != "" && within(path, c.gone) {
		return nil
	}
	c.gone = path
	return c.tell(&c.deleted, path)
}

func (c *comparison) tell(list *[]string, path string) error {
	if !utf8.ValidString(path) {
		c.refused.add(readable(path), "its name is not UTF-8")
		return nil
	}
	encoded, err := json.Marshal(path)
	if err != nil {
		return err
	}
	c.bytes += len(encoded) + 1
	if c.bytes > maxChangeBytes || len(c.added)+len(c.changed)+len(c.deleted) >= maxChanges {
		return errTooManyChanges
	}
	*list = append(*list, path)
	return nil
}

// readable writes what no JSON string can hold with escapes.
func readable(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	quoted := strconv.Quote(path)
	return quoted[1 : len(quoted)-1]
}
