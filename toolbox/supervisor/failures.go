// Failures as the protocol names them.
package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// failure is an error with a kind of the protocol: bad-request, not-found, integrity, conflict, limit, io, internal.
type failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (f failure) Error() string { return f.Message }

func badRequest(format string, arguments ...any) error {
	return failure{"bad-request", fmt.Sprintf(format, arguments...)}
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// asFailure gives any error its kind; what the operating system refuses is `io`, what it is out of is `limit`.
func asFailure(err error) failure {
	var known failure
	if errors.As(err, &known) {
		return known
	}
	var number syscall.Errno
	switch {
	case noSpace(err), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return failure{"limit", err.Error()}
	case errors.Is(err, os.ErrNotExist):
		return failure{"not-found", err.Error()}
	case errors.As(err, &number):
		return failure{"io", err.Error()}
	}
	return failure{"internal", err.Error()}
}
