// Entry point: one static program, several parts to play inside a sandbox (toolbox/PROTOCOL.md).
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const (
	protocolVersion = 2
	toolboxDir      = "/opt/passband"
	runDir          = toolboxDir + "/run"
	socketPath      = runDir + "/supervisor.sock"
	programPath     = toolboxDir + "/bin/supervisor"
	// selfPath is this very program, even after its file was deleted or replaced.
	selfPath = "/proc/self/exe"
)

const usageText = `usage: supervisor init [--workdir DIR] [--user USER] [--baseline] [--forget PREFIX,...] [--max-files N] [--max-processes N] [--listen PORT] | connect | record FILE COLUMNS ROWS | copy FROM TO | again POLICY ARGV... | idle | version
(shim, launch and pane are its own, started by init)
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usageText)
		os.Exit(64)
	}
	arguments := os.Args[2:]
	switch os.Args[1] {
	case "init":
		os.Exit(runInit(arguments))
	case "connect":
		os.Exit(runConnect())
	case "shim":
		os.Exit(runShim())
	case "launch":
		os.Exit(runLaunch(arguments))
	case "pane":
		os.Exit(runPane(arguments))
	case "record":
		os.Exit(runRecord(arguments))
	case "copy":
		os.Exit(runCopy(arguments))
	case "again":
		os.Exit(runAgain(arguments))
	case "idle":
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
		<-stop
	case "version":
		fmt.Printf("passband supervisor, protocol %d\n", protocolVersion)
	default:
		fmt.Fprint(os.Stderr, usageText)
		os.Exit(64)
	}
}

// complain says why the program cannot go on; the engine's log of the container keeps it.
func complain(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "supervisor: "+format+"\n", arguments...)
}
