// PID 1 of a sandbox: prepares itself so that what runs inside can neither end nor read it, reaps, serves.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// exitConfig is sysexits' EX_CONFIG: init was started in a way that cannot work.
const exitConfig = 78

// origin is what PID 1 was started with.
type origin struct {
	env  environment
	user account
	// accounts are the image's own: nothing has run and nothing was laid yet.
	accounts accountBook
	cwd      string
	// key signs what PID 1 says: its public half is the bootId.
	key   ed25519.PrivateKey
	start time.Time
}

func (o *origin) bootID() string { return hex.EncodeToString(o.key.Public().(ed25519.PublicKey)) }

func runInit(arguments []string) int {
	defer endOnFault()
	flags := flag.NewFlagSet("init", flag.ContinueOnError)
	workdir := flags.String("workdir", "", "work directory, made where it is not there")
	userName := flags.String("user", "", "the user that the image names")
	withBaseline := flags.Bool("baseline", false, "remember the root as it is now, for `changes`")
	forgotten := flags.String("forget", "", "beginnings of the names of variables that a platform adds to every container, with commas")
	maxFiles := flags.Int64("max-files", 0, "how many files may be made, 0: as many as there is room for")
	maxProcesses := flags.Int64("max-processes", 0, "how many processes and threads may run, 0: as many as there is room for")
	peerPort := flags.Int("listen", 0, "take TCP connections on this port and close them")
	if err := flags.Parse(arguments); err != nil {
		return exitConfig
	}
	if os.Getpid() != 1 || os.Getuid() != 0 {
		complain("init must be PID 1 and root of its container (is PID %d, uid %d): start the container with user 0",
			os.Getpid(), os.Getuid())
		return exitConfig
	}
	hideFromTracing()
	if err := withholdCapability(); err != nil {
		complain("cannot keep a capability from what runs inside: %v", err)
	}
	dropOtherSignals()
	if err := endOnOuterTermination(); err != nil {
		complain("cannot handle SIGTERM: %v", err)
		return exitConfig
	}
	from, err := readOrigin(*workdir, *userName, *forgotten)
	if err != nil {
		complain("%v", err)
		return exitConfig
	}
	limitRuntime()
	startReaper()
	listener, err := listen()
	if err != nil {
		complain("cannot serve %s: %v", socketPath, err)
		return exitConfig
	}
	s := newSupervisor(from)
	if *withBaseline {
		if s.baseline, err = startBaseline(); err != nil {
			complain("cannot begin the baseline: %v", err)
			return exitConfig
		}
	}
	if *peerPort != 0 {
		if err := listenAsPeer(*peerPort); err != nil {
			complain("cannot listen: %v", err)
			return exitConfig
		}
	}
	beside((&outsiders{peers: s.peers}).watch)
	beside(func() { keepBounds(bounds{files: *maxFiles, processes: *maxProcesses}, from.start) })
	serve(listener, s)
	return 0
}

func readOrigin(workdir, userName, forgotten string) (origin, error) {
	if workdir != "" {
		if err := os.MkdirAll(workdir, 0o755); err != nil {
			return origin{}, err
		}
		if err := os.Chdir(workdir); err != nil {
			return origin{}, err
		}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return origin{}, err
	}
	accounts, err := readAccountBook()
	if err != nil {
		return origin{}, err
	}
	user, err := accounts.lookUpUser(userName, account{Name: "root"})
	if err != nil {
		return origin{}, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return origin{}, err
	}
	return origin{
		env: parseEnvironment(os.Environ()).without(forgotten), user: user, accounts: accounts, cwd: cwd,
		key: key, start: time.Now(),
	}, nil
}

// limitRuntime keeps PID 1 small, and has its threads made before an agent can use up the pids that they need:
// Go ends the program where it cannot make a thread.
func limitRuntime() {
	const threads = 12
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(50)
	made := make(chan struct{})
	release := make(chan struct{})
	for i := 0; i < threads; i++ {
		beside(func() {
			runtime.LockOSThread()
			made <- struct{}{}
			<-release
			runtime.UnlockOSThread()
		})
	}
	for i := 0; i < threads; i++ {
		<-made
	}
	close(release)
}

// environment is a list of variables by name; the last word counts.
type environment map[string]string

func parseEnvironment(entries []string) environment {
	env := environment{}
	for _, entry := range entries {
		if at := strings.IndexByte(entry, '='); at > 0 {
			env[entry[:at]] = entry[at+1:]
		}
	}
	return env
}
