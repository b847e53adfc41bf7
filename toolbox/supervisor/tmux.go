// The toolbox's own tmux: how its server is started, and what a shell in it gets to see.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	tmuxDir     = toolboxDir + "/tmux"
	tmuxLoader  = tmuxDir + "/lib/ld.so"
	terminalDir = toolboxDir + "/terminal"
	// panePrefix carries the shell's variables through tmux, which must not see some of them (LD_PRELOAD, say).
	panePrefix   = "PASSBAND_PANE_"
	sessionName  = "main"
	historyLines = 10_000_000
)

// tmuxCommand gives the arguments of `supervisor` that become tmux, with its own loader, libraries and socket.
func tmuxCommand(socket string, arguments ...string) []string {
	return append([]string{
		"launch", tmuxLoader, "--inhibit-cache", "--library-path", tmuxDir + "/lib", tmuxDir + "/bin/tmux",
		"-u", "-S", socket, "-f", "/dev/null",
	}, arguments...)
}

// tmuxEnvironment is what tmux itself needs, and the shell's variables out of its way.
func tmuxEnvironment(shell environment) []string {
	entries := []string{"PATH=" + defaultPath, "LC_ALL=C.UTF-8", "LOCPATH=" + tmuxDir + "/locale"}
	for name, value := range shell {
		entries = append(entries, panePrefix+name+"="+value)
	}
	return entries
}

// runPane becomes the shell of the terminal: its own variables are restored, tmux's are left behind but for TERM.
func runPane(argv []string) int {
	if len(argv) == 0 {
		return 64
	}
	env := []string{"TERM=" + os.Getenv("TERM")}
	for _, entry := range os.Environ() {
		if strings.HasPrefix(entry, panePrefix) && !strings.HasPrefix(entry, panePrefix+"TERM=") {
			env = append(env, entry[len(panePrefix):])
		}
	}
	err := syscall.Exec(argv[0], argv, env)
	complain("%s: %v", argv[0], err)
	return exitStatusOf(err)
}

// shellOf gives the login shell of a terminal: bash where the image has one.
func shellOf(path string) ([]string, error) {
	if bash, err := findProgram("bash", path, "/"); err == nil {
		return []string{bash, "--login"}, nil
	}
	sh, err := findProgram("sh", path, "/")
	if err != nil {
		return nil, failure{"not-found", "the image has neither bash nor sh on its PATH: no terminal can be started"}
	}
	return []string{sh, "-l"}, nil
}

// terminalName is the TERM of the shell: what the image's own terminfo describes.
func terminalName() string {
	const wanted, fallback = "xterm-256color", "screen-256color"
	if !describesTerminal(wanted) && describesTerminal(fallback) {
		return fallback
	}
	return wanted
}

func describesTerminal(name string) bool {
	for _, dir := range []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo"} {
		// Folders are named by the first letter, or by its code on file systems that ignore case.
		for _, letter := range []string{name[:1], fmt.Sprintf("%x", name[0])} {
			if _, err := os.Stat(filepath.Join(dir, letter, name)); err == nil {
				return true
			}
		}
	}
	return false
}

// withLocale names UTF-8 where the image says nothing and has it: bash takes typed characters apart in the C locale.
func withLocale(env environment) environment {
	if env["LC_ALL"] != "" || env["LC_CTYPE"] != "" || env["LANG"] != "" {
		return env
	}
	for _, folder := range []string{"C.utf8", "C.UTF-8"} {
		if _, err := os.Stat("/usr/lib/locale/" + folder); err == nil {
			env["LANG"] = "C.UTF-8"
		}
	}
	return env
}

// socketOf makes the user's own folder for the server's socket.
func socketOf(user account) (string, error) {
	dir := filepath.Join(terminalDir, strconv.FormatUint(uint64(user.Uid), 10))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chown(dir, int(user.Uid), int(user.Gid)); err != nil {
		return "", err
	}
	return filepath.Join(dir, "tmux.sock"), nil
}

// sessionArguments are the tmux commands that make the one session, its options set before its shell starts.
func sessionArguments(size terminalSize, shell []string, recording string) []string {
	var arguments []string
	for _, option := range [][2]string{
		{"history-limit", strconv.Itoa(historyLines)},
		{"default-terminal", terminalName()},
		{"status", "off"},
		{"automatic-rename", "off"},
		{"allow-rename", "off"},
	} {
		arguments = append(arguments, "set-option", "-g", option[0], option[1], ";")
	}
	arguments = append(arguments, "new-session", "-d", "-s", sessionName,
		"-x", strconv.Itoa(size.Columns), "-y", strconv.Itoa(size.Rows), programPath, "pane")
	arguments = append(arguments, shell...)
	// After the session is made: tmux 3.3a crashes where it makes a window of a manual size.
	arguments = append(arguments, ";", "set-option", "-g", "window-size", "manual")
	if recording == "" {
		return arguments
	}
	return append(arguments, ";", "pipe-pane", "-t", "="+sessionName+":",
		fmt.Sprintf("exec %s record %s %d %d", programPath, shellQuote(recording), size.Columns, size.Rows))
}

// shellQuote is for `pipe-pane`: tmux expands `#` and time formats in it before the shell reads it.
func shellQuote(text string) string {
	text = strings.NewReplacer("#", "##", "%", "%%").Replace(text)
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
