// Memory of the sandbox as its cgroup tells it, of version 2 or 1.
package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

func (s *supervisor) usage(e *exchange) (map[string]any, error) {
	if err := e.parse(&emptyRequest{}); err != nil {
		return nil, err
	}
	kills, err := firstNumber("oom_kill", "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
	if err != nil {
		return nil, err
	}
	peak, err := firstNumber("", "/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes")
	if err != nil {
		return nil, err
	}
	return map[string]any{"oomKills": kills, "memoryPeakBytes": peak}, nil
}

// firstNumber reads the line `key NUMBER` (or the only number) of the first file that is there; null of none.
func firstNumber(key string, files ...string) (any, error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if number, ok := numberOf(string(text), key); ok {
			return number, nil
		}
	}
	return nil, nil
}

func numberOf(text, key string) (int64, bool) {
	for _, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if key != "" {
			if len(fields) != 2 || fields[0] != key {
				continue
			}
			fields = fields[1:]
		}
		if len(fields) != 1 {
			continue
		}
		number, err := strconv.ParseInt(fields[0], 10, 64)
		return number, err == nil
	}
	return 0, false
}
