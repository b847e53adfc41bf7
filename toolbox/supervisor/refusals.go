// What was not laid or taken, by name and with why, in bounded memory.
package main

import "fmt"

// maxRefused entries are named; a last one says how many there are beyond.
const maxRefused = 2000

type refusal struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// refusals is a bounded list of what was not done, with why.
type refusals struct {
	list   []refusal
	beyond int
}

func (r *refusals) add(path, why string) {
	if len(r.list) >= maxRefused {
		r.beyond++
		return
	}
	if len(path) > 4096 {
		path = path[:4096]
	}
	r.list = append(r.list, refusal{path, why})
}

func (r *refusals) all() []refusal {
	if r.beyond == 0 {
		return append([]refusal{}, r.list...)
	}
	return append(append([]refusal{}, r.list...), refusal{"...", fmt.Sprintf("and %d more", r.beyond)})
}
