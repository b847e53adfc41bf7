// How the streams of `connect` come to PID 1: as descriptors over the socket, so that no byte of them is copied twice.
package main

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// fcntl's F_SETPIPE_SZ: the syscall package has no name for it.
	setPipeSize = 1031
	// Whole data frames at a time, and fewer turns between us and the runtime, that copies by 32 KiB.
	streamBytes = 256 << 10
	signWait    = 2 * time.Second
)

// handOver sends the two descriptors of `connect`.
func handOver(connection *net.UnixConn, input, output *os.File) error {
	rights := syscall.UnixRights(int(input.Fd()), int(output.Fd()))
	_, _, err := connection.WriteMsgUnix([]byte{0}, rights, nil)
	return err
}

// handedStreams are what a driver speaks to through one `connect`.
type handedStreams struct {
	input, output *os.File
	connection    *net.UnixConn
	// signs has an element for each sign of life, and is closed once `connect` has ended.
	signs chan struct{}
}

func (s *handedStreams) Read(into []byte) (int, error)  { return s.input.Read(into) }
func (s *handedStreams) Write(data []byte) (int, error) { return s.output.Write(data) }

func (s *handedStreams) Close() {
	s.input.Close()
	s.output.Close()
}

var errPeerEnded = errors.New("the process that brought it has ended")

// confirm asks `connect` for a sign of life: an error where it has ended, or is about to. One that is silent was stopped
// from inside, and lives: the streams are ours, and do without it.
func (s *handedStreams) confirm() error {
	select {
	case _, alive := <-s.signs: // one that came too late for who asked for it
		if !alive {
			return errPeerEnded
		}
	default:
	}
	if _, err := s.connection.Write([]byte{0}); err != nil {
		return err
	}
	select {
	case _, alive := <-s.signs:
		if !alive {
			return errPeerEnded
		}
	case <-time.After(signWait):
	}
	return nil
}

// takeStreams receives what handOver sent. The streams break when `connect` ends: its exec is over then.
func takeStreams(connection *net.UnixConn) (*handedStreams, error) {
	space := make([]byte, syscall.CmsgSpace(2*4))
	_, length, _, _, err := connection.ReadMsgUnix(make([]byte, 1), space)
	if err != nil {
		return nil, err
	}
	descriptors, err := rightsIn(space[:length])
	if err == nil && len(descriptors) != 2 {
		err = errors.New("the peer handed over something else than two streams")
	}
	if err != nil {
		for _, descriptor := range descriptors {
			syscall.Close(descriptor)
		}
		return nil, err
	}
	streams := &handedStreams{
		fileOf(descriptors[0], "input"), fileOf(descriptors[1], "output"), connection, make(chan struct{}, 1),
	}
	beside(streams.watch)
	return streams, nil
}

func (s *handedStreams) watch() {
	sign := make([]byte, 1)
	for {
		if _, err := s.connection.Read(sign); err != nil {
			break
		}
		select {
		case s.signs <- struct{}{}:
		default: // nobody waits for it any more
		}
	}
	close(s.signs)
	s.Close()
}

func rightsIn(control []byte) ([]int, error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	var descriptors []int
	for i := range messages {
		some, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return descriptors, err
		}
		descriptors = append(descriptors, some...)
	}
	return descriptors, nil
}

// fileOf lets the runtime poll the descriptor, so that a close ends who waits on it; no thread is taken up by waiting.
func fileOf(descriptor int, name string) *os.File {
	// Where it is no pipe it has no size to set.
	syscall.Syscall(syscall.SYS_FCNTL, uintptr(descriptor), setPipeSize, streamBytes)
	syscall.SetNonblock(descriptor, true)
	return os.NewFile(uintptr(descriptor), name)
}
