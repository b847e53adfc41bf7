// What happens between a fork and the program of somebody else: its rank for the OOM killer, its place on PATH.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Exit statuses that shells give for what cannot be executed, and for what is not there.
const (
	exitCannotExecute = 126
	exitNotFound      = 127
)

// jobOomScore is added to PID 1's own, so that PID 1 is the last to be taken for memory.
const jobOomScore = 300

// addOomScore raises this process's oom_score_adj, which its children inherit.
func addOomScore(add int) error {
	const file = "/proc/self/oom_score_adj"
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	own, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	score := own + add
	if score > 1000 {
		score = 1000
	}
	return os.WriteFile(file, []byte(strconv.Itoa(score)), 0)
}

// runLaunch becomes `argv`, an absolute program, below nobody: PID 1 uses it for what is no job.
func runLaunch(argv []string) int {
	if len(argv) == 0 {
		return 64
	}
	if err := addOomScore(jobOomScore); err != nil {
		complain("oom_score_adj: %v", err)
	}
	err := syscall.Exec(argv[0], argv, os.Environ())
	complain("%s: %v", argv[0], err)
	return exitStatusOf(err)
}

func exitStatusOf(err error) int {
	if errors.Is(err, os.ErrNotExist) {
		return exitNotFound
	}
	return exitCannotExecute
}

// findProgram looks `name` up as execvp does; relative entries of PATH count from dir.
func findProgram(name, path, dir string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("no program named: %w", os.ErrNotExist)
	}
	if strings.Contains(name, "/") {
		return name, nil
	}
	if path == "" {
		path = defaultPath
	}
	for _, folder := range strings.Split(path, ":") {
		if folder == "" {
			folder = "."
		}
		file := filepath.Join(folder, name)
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: not found on PATH: %w", name, os.ErrNotExist)
}
