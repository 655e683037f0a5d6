// Command graspd is a Nostr relay for git collaboration (NIP-34) that keeps
// itself complete from the other relays that its repositories name.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/graspd/graspd/internal/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}, os.LookupEnv))
}

// stdio is what a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// Exit codes.
const (
	exitOK    = 0
	exitFail  = 1 // something went wrong while running
	exitUsage = 2 // the command line or a setting is wrong; check: the store could not be read
)

// command is one subcommand.
type command struct {
	name, args, about string
	run               func(ctx context.Context, args []string, io stdio, env lookup) error
}

func commands() []command {
	return []command{
		{"serve", "[flags]", "run the relay (the default)", serveCommand},
		{"demo", "[flags]", "show on this machine how a relay fills from three others", demoCommand},
		{"status", "[flags]", "show how a running relay stands; exit code 1 when something needs looking after", statusCommand},
		{"import", "[flags] FILE|-", "store the events of a JSON lines file, by the rules of serve", importCommand},
		{"export", "[flags]", "write all stored events as JSON lines, in the order in which they were stored", exportCommand},
		{"backup", "[flags] DIR", "copy the data into a new directory, also while the relay runs", backupCommand},
		{"check", "[flags]", "verify the data of a stopped relay; --repair builds the store anew from its events and mends the git data", checkCommand},
		{"version", "", "print the version", versionCommand},
	}
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, io stdio, env lookup) int {
	name := "serve"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		name, args = args[0], args[1:]
	} else if len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "-help") {
		name = "help"
	}
	if name == "help" {
		usage(io.out)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == name {
			return exitCode(c.run(ctx, args, io, env), io.err)
		}
	}
	fmt.Fprintf(io.err, "graspd: unknown command %q\n\n", name)
	usage(io.err)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "graspd is a Nostr relay for git collaboration that keeps itself complete.\n\nUsage:\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  graspd %-8s %-16s %s\n", c.name, c.args, c.about)
	}
	fmt.Fprint(w, "\n\"graspd COMMAND --help\" lists the flags of a command.\n")
}

// trouble is what the operator is told, a line each, and the exit code that goes with it.
type trouble struct {
	code     int
	problems []string
}

func (t *trouble) Error() string { return strings.Join(t.problems, "\n") }

// misused says everything that is wrong with a command line; nil where there is nothing.
func misused(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return &trouble{exitUsage, problems}
}

// unwell says what the operator should look after.
func unwell(problems ...string) error { return &trouble{exitFail, problems} }

// exitCode prints an error, one line per problem, and chooses the code.
func exitCode(err error, w io.Writer) int {
	var t *trouble
	var blind unreadable
	switch {
	case err == nil, errors.Is(err, errHelp):
		return exitOK
	case errors.As(err, &t):
		for _, p := range t.problems {
			fmt.Fprintf(w, "graspd: %s\n", p)
		}
		return t.code
	}
	fmt.Fprintf(w, "graspd: %s%s\n", oneLine(err), advice(err))
	if errors.As(err, &blind) {
		return exitUsage
	}
	return exitFail
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// advice is what to do about trouble with the disk.
func advice(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return " (the user that runs graspd must be allowed to write there)"
	case errors.Is(err, syscall.EROFS):
		return " (mount it for writing, or give another directory)"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG), errors.Is(err, store.ErrFull):
		return " (make room on that disk, then start again)"
	}
	return ""
}

// version is set by release builds with -ldflags "-X main.version=…".
var version = ""

func versionString() string {
	if version != "" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return "dev"
}

func versionCommand(_ context.Context, args []string, io stdio, _ lookup) error {
	if len(args) > 0 {
		return misused([]string{fmt.Sprintf("version takes no arguments, got %q", args)})
	}
	fmt.Fprintf(io.out, "graspd %s\n", versionString())
	return nil
}
