// Command graspd is a Nostr relay for git collaboration (NIP-34) that also hosts the repositories. It gets from other
// relays and git servers whatever these have of its repositories and it does not have yet.
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
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/graspd/graspd/internal/events/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}, environmentOf(os.Environ())))
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
	exitOther = 3 // another graspd writes the bucket now, so that this one must not start again by itself
)

// command is one subcommand.
type command struct {
	name, args, about string
	words             []string // words that the first operand may be
	example           string   // a command line, for its help
	grouped           bool     // its help has the groups of flags
	seldom            []string // flags that it shares with serve and that hardly matter to it
	settings          func(env environment) []setting
	run               func(ctx context.Context, args []string, io stdio, env environment) error
}

// rows returns the flags of a command, with the defaults that the environment gives them.
func (c command) rows(env environment) []setting {
	if c.settings == nil {
		return nil
	}
	return c.settings(env)
}

// usage returns the command line in short, without the name of the program.
func (c command) usage() string { return strings.TrimSpace(c.name + " " + c.args) }

// likeServe reports whether a command other than serve takes the flags of serve.
func (c command) likeServe() bool { return c.grouped && c.name != "serve" }

func commands() []command {
	return []command{
		{name: "serve", args: "[flags]", about: "run the relay (the default)", run: serveCommand, settings: func(environment) []setting { return new(Config).settings() }, grouped: true,
			example: "graspd serve --domain git.example.org --trusted-proxies 127.0.0.1 --bootstrap wss://relay.example.org --data /var/lib/graspd"},
		{name: "demo", args: "[flags]", about: "show on this machine how a relay fills itself from three others", run: demoCommand,
			settings: func(environment) []setting { return new(demoOptions).settings() }, example: "graspd demo --verbose"},
		{name: "status", args: "[flags]", about: "show how a running relay stands; exit code 1 when there is something to mend", run: statusCommand,
			settings: func(env environment) []setting { return new(statusOptions).settings(env) }, example: "graspd status --watch"},
		{name: "import", args: "[flags] FILE|-", about: "store the events of a file, one JSON object a line, by the rules of serve", run: importCommand,
			settings: func(environment) []setting { return new(Config).doorSettings() }, seldom: []string{"listen", "store-cache", "disk-floor", "log-level", "log-format"},
			example: "graspd import --domain git.example.org --data /var/lib/graspd events.jsonl"},
		{name: "export", args: "[flags]", about: "write all stored events, one JSON object a line, in the order in which they were stored; no git data", run: exportCommand,
			settings: func(environment) []setting { return new(Config).dataSettings() }, seldom: besideData, example: "graspd export --data /var/lib/graspd >events.jsonl"},
		{name: "backup", args: "[flags] DIR|-", about: "copy the data into a new directory, or as a tar to the standard output, also while the relay runs", run: backupCommand,
			settings: func(env environment) []setting { return new(backupOptions).settings(env) }, seldom: besideData,
			example: "(umask 077; graspd backup --data /var/lib/graspd - | zstd >graspd-monday.tar.zst)"},
		{name: "check", args: "[flags]", about: "verify the data of a stopped relay, or mend it with --repair", run: checkCommand,
			settings: func(environment) []setting { return new(checkOptions).settings() }, seldom: besideData, example: "graspd check --data /var/lib/graspd"},
		{name: "bucket", args: "[init|status|export DIR] [flags]", about: "put the data of a stopped relay into a bucket, show what a bucket has, or make a data directory of it", words: bucketWords, run: bucketCommand,
			settings: func(environment) []setting { return new(bucketOptions).settings() }, seldom: besideData, example: "graspd bucket init --bucket 's3://name/prefix?endpoint=https://s3.example.org' --from /var/lib/graspd"},
		{name: "key", args: "[export|import FILE|-] [flags]", about: "show the public key of a relay, or carry its secret key to another data directory", words: []string{"export", "import"}, run: keyCommand,
			settings: func(environment) []setting { return new(keyOptions).settings() }, seldom: besideData, example: "graspd key export --data /var/lib/graspd relay.key"},
		{name: "doctor", args: "[flags] [URL]", about: "look at a relay as its users see it, and at this machine, and say what to mend", run: doctorCommand,
			settings: func(environment) []setting { return new(doctorOptions).settings() }, example: "graspd doctor https://git.example.org"},
		{name: "delete", args: "[flags]", about: "take an author, a repository or an event away from a running relay; without --yes, say what would go", run: deleteCommand,
			settings: func(env environment) []setting { return new(deletion).settings(env) }, example: `graspd delete --repository npub1…/tool --reason "stolen code" --yes`},
		{name: "restore", args: "[flags]", about: "list what somebody took away from a running relay, or put it back with --case; or bring one --repository back from a backup", run: restoreCommand,
			settings: func(env environment) []setting { return new(restoration).settings(env) }, example: "graspd restore --case 12"},
		{name: "journal", args: "[flags]", about: "show who has taken what away from a running relay, and why", run: journalCommand,
			settings: func(env environment) []setting { return new(journalOptions).settings(env) }, example: "graspd journal"},
		{name: "reports", args: "[flags]", about: "list what people have reported to a running relay, take it away, or dismiss the reports", run: reportsCommand,
			settings: func(env environment) []setting { return new(reportOptions).settings(env) }, example: `graspd reports --dismiss "event 3bf0…"`},
		{name: "config", args: "[flags]", about: "write a configuration file with comments and the settings in force, or say what is wrong with them", run: configCommand, grouped: true,
			settings: func(environment) []setting { return new(Config).settings() }, example: "graspd config --domain git.example.org --data /var/lib/graspd >/etc/graspd.toml"},
		{name: "completion", args: "bash|zsh|fish", about: "write the completion of graspd's command lines for a shell", words: shells(), run: completionCommand, example: "graspd completion bash >/etc/bash_completion.d/graspd"},
		{name: "man", about: "write the manual page", run: manCommand, example: "graspd man >/usr/local/share/man/man1/graspd.1"},
		{name: "version", about: "print the version", run: versionCommand},
	}
}

// besideData names the flags of commands that open the store which hardly matter to a command that only reads.
var besideData = []string{"store-cache", "disk-floor", "log-level", "log-format", "quiet"}

func commandNamed(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// commandNames returns the names of all commands, and help.
func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return append(names, "help")
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, std stdio, env environment) int {
	args = withCommand(args)
	root := commandTree(std, env, strings.HasPrefix(args[0], cobra.ShellCompRequestCmd))
	root.SetArgs(args)
	return exitCode(root.ExecuteContext(ctx), std.err)
}

// withCommand puts the command first that a command line means: serve, where it names none.
func withCommand(args []string) []string {
	if len(args) == 0 {
		return []string{"serve"}
	}
	switch first := args[0]; {
	case slices.Contains([]string{"-h", "-help", "--help"}, first):
		return []string{"help"}
	case slices.Contains([]string{"-v", "-version", "--version"}, first):
		return append([]string{"version"}, args[1:]...)
	case first == "" || first[0] == '-':
		return append([]string{"serve"}, args...)
	case strings.HasPrefix(first, cobra.ShellCompRequestCmd) && len(args) > 1 && strings.HasPrefix(args[1], "-"):
		return append([]string{first, "serve"}, args[1:]...)
	}
	return args
}

// commandTree returns the commands as cobra has them. Each parses its flags itself, as cobra would stop at the first problem; where cobra
// completes a line for a shell, it has the flags.
func commandTree(std stdio, env environment, completing bool) *cobra.Command {
	root := &cobra.Command{Use: "graspd", SilenceErrors: true, SilenceUsage: true, DisableFlagParsing: !completing, Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return usageError{noSuchCommand(args[0])} }}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetOut(std.out)
	root.SetErr(std.err)
	for _, c := range commands() {
		cmd := &cobra.Command{Use: c.usage(), Short: c.about, Example: c.example, ValidArgs: c.words, DisableFlagParsing: !completing,
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.run(cmd.Context(), args, std, env.withFile(c, args))
			}}
		cmd.SetHelpFunc(func(*cobra.Command, []string) { helpOn(std.out, c, c.rows(env)) })
		rows := c.rows(env)
		cmd.Flags().AddFlagSet(flagSet(rows, func(string, string) error { return nil }))
		for _, r := range rows {
			if values := r.choices(); values != nil {
				_ = cmd.RegisterFlagCompletionFunc(r.name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for a flag that there is not
			}
		}
		root.AddCommand(cmd)
	}
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]...", Short: "show the help of a command", ValidArgs: commandNames(), DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, names []string) error { return help(names, std.out, env) }})
	return root
}

// help prints the help of graspd, or of the commands that are named.
func help(names []string, w io.Writer, env environment) error {
	if len(names) == 0 {
		names = []string{"help"}
	}
	for _, name := range names {
		c, ok := commandNamed(name)
		switch {
		case ok:
			helpOn(w, c, c.rows(env))
		case withCommand([]string{name})[0] == "help":
			usage(w)
		default:
			return usageError{noSuchCommand(name)}
		}
	}
	return nil
}

// usageError has everything that is wrong with a command line or with the settings.
type usageError []string

func (e usageError) Error() string { return strings.Join(e, "\n") }

// findings is an error with what the operator should look after.
type findings []string

func (f findings) Error() string { return strings.Join(f, "\n") }

// misused returns an error with everything that is wrong with a command line; nil where nothing is.
func misused(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return usageError(problems)
}

// exitCode prints an error, one line per problem, and returns the exit code.
func exitCode(err error, w io.Writer) int {
	var usage usageError
	var found findings
	var blind unreadable
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return say(w, usage, exitUsage)
	case errors.As(err, &found):
		return say(w, found, exitFail)
	}
	fmt.Fprintf(w, "graspd: %s%s\n", oneLine(err), advice(err))
	switch {
	case errors.As(err, &blind):
		return exitUsage
	case errors.Is(err, store.ErrDeposed):
		return exitOther
	}
	return exitFail
}

// say prints the lines of an error, and returns the exit code that it has.
func say(w io.Writer, lines []string, code int) int {
	for _, l := range lines {
		fmt.Fprintf(w, "graspd: %s\n", l)
	}
	return code
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// advice says what the operator can do about trouble with the disk; "" for any other error.
func advice(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return " (the user that runs graspd must be allowed to write there)"
	case errors.Is(err, syscall.EROFS):
		return " (mount it for writing, or give another directory)"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG), errors.Is(err, store.ErrFull):
		return " (make room on that disk, then start again)"
	case errors.Is(err, store.ErrLogged):
		return " (the data directory is of a relay in a bucket: use --bucket, or make one that needs none with graspd bucket export)"
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

func versionCommand(_ context.Context, args []string, io stdio, _ environment) error {
	if len(args) > 0 {
		return misused([]string{fmt.Sprintf("version takes no arguments, got %q", args)})
	}
	fmt.Fprintf(io.out, "graspd %s\n", versionString())
	return nil
}
