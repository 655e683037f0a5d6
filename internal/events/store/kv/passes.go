package kv

import (
	"errors"
	"slices"
	"syscall"
)

// passing has what a system says that is short of something, which others may give back.
var passing = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}

// Passes reports whether an error is about something that is short and may be there later: room on the disk or in a quota, open files, memory.
func Passes(err error) bool {
	return slices.ContainsFunc(passing, func(e error) bool { return errors.Is(err, e) })
}
