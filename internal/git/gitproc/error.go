package gitproc

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// ErrBusy says that too much work waits for a slot of the kind already, that this work has waited for too long, or that it would have to wait
// although its Run says AtOnce.
var ErrBusy = errors.New("too much waits for git already")

// Error says how a command of git failed.
type Error struct {
	Command string
	Ending  Ending
	Code    int    // exit code, where Ending is Exited
	Stderr  string // what it said: bounded, printable, and without the directories of the repository
	Early   bool   // a limit ended it that was lower than what such work may take; who calls Run knows
}

// Ending says what ended a process that failed.
type Ending uint8

// The endings. A git that says itself that it has no memory left counts as OutOfMemory too.
const (
	Exited Ending = iota // with a code other than 0
	OutOfMemory
	OutOfTime // processor time
	FileTooLarge
	Killed // by anything else
)

// ByLimit reports whether one of the limits ended the process.
func (e Ending) ByLimit() bool { return e == OutOfMemory || e == OutOfTime || e == FileTooLarge }

func (e Ending) String() string {
	return [...]string{"failed", "ran out of memory", "ran out of processor time", "wrote too large a file", "was killed"}[e]
}

func (e *Error) Error() string {
	text := e.Command + " " + e.Ending.String()
	if e.Ending == Exited {
		text += fmt.Sprintf(" with code %d", e.Code)
	}
	if e.Stderr != "" {
		text += ": " + strings.ReplaceAll(e.Stderr, "\n", "; ")
	}
	return text
}

// ending makes an Error of the way a process ended.
func ending(c Command, err error, stderr *tail) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("%s: %w", c, err)
	}
	e := &Error{Command: c.String(), Ending: Killed, Code: exit.ExitCode(), Stderr: stderr.String()}
	status, ok := exit.Sys().(syscall.WaitStatus)
	switch {
	case !ok || status.Exited():
		e.Ending = said(e.Stderr)
	case status.Signal() == syscall.SIGXCPU:
		e.Ending = OutOfTime
	case status.Signal() == syscall.SIGXFSZ:
		e.Ending = FileTooLarge
	}
	return e
}

// said returns the ending that a process itself tells in what it printed: its own, or that of a process which it started.
func said(stderr string) Ending {
	for _, sign := range []struct {
		text   string
		ending Ending
	}{
		{"ut of memory", OutOfMemory}, {"annot allocate memory", OutOfMemory}, {"mmap failed", OutOfMemory},
		{fmt.Sprintf("died of signal %d", syscall.SIGXCPU), OutOfTime}, {fmt.Sprintf("died of signal %d", syscall.SIGXFSZ), FileTooLarge},
	} {
		if strings.Contains(stderr, sign.text) {
			return sign.ending
		}
	}
	return Exited
}
