// Command release makes what a release consists of, from the commit that is checked out: archives for each system, packages for
// Debian and for those with rpm, a list of what is linked into each binary, and checksums. Made twice, they are the same byte for
// byte, and it says so only after it has made them twice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := flag.String("root", "..", "the checkout that is released")
	out := flag.String("out", "../dist", "new directory of what is made; one that a release made before is replaced")
	version := flag.String("version", "", "the version, such as 1.2.3 (default: the tag of the commit, or one of development)")
	systems := flag.String("systems", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "systems to build for")
	once := flag.Bool("once", false, "make it once and do not see whether it can be made again")
	warm := flag.Bool("warm", false, "let the second time use what the compiler has kept of the first, which tells less and is soon done")
	c := usual()
	flag.StringVar(&c.maintainer, "maintainer", c.maintainer, "who maintains the packages, as Name <address>")
	flag.StringVar(&c.support, "support", c.support, "where people ask, and report faults")
	flag.StringVar(&c.home, "home", c.home, "where the source and the releases are")
	flag.StringVar(&c.nostr, "nostr", c.nostr, "where ngit clones the source, as nostr://… (default: nowhere)")
	flag.Parse()
	times := []string{"", "cache"}
	switch {
	case *once:
		times = times[:1]
	case *warm:
		times[1] = ""
	}
	if err := run(ctx, *root, *out, *version, *systems, times, c); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes everything as many times as there are names of directories in which the compiler keeps what it has made; "" is its usual one.
func run(ctx context.Context, root, out, version, systems string, times []string, c credits) (err error) {
	targets, err := parseTargets(systems)
	if err != nil {
		return err
	}
	tip, err := commitOf(ctx, root, version)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "graspd-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	// The second tree has another path, of another length: nothing of a path may show in what is made.
	made := []string{filepath.Join(work, "dist"), filepath.Join(work, "again", "dist")}
	for i, cache := range times {
		b := build{commit: tip, credits: c, source: filepath.Join(filepath.Dir(made[i]), "source"), out: made[i]}
		if cache != "" {
			b.cache = filepath.Join(work, cache)
		}
		if err := b.all(ctx, root, targets); err != nil {
			return err
		}
	}
	if len(times) > 1 {
		if err := same(made[0], made[1]); err != nil {
			return err
		}
		fmt.Println("made twice, the same byte for byte")
	}
	return publish(made[0], out)
}

// publish puts what was made where it was asked for, in place of what an earlier release put there.
func publish(made, out string) error {
	if _, err := os.Stat(filepath.Join(out, sumsName)); err == nil {
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(out, os.DirFS(made)); err != nil {
		return fmt.Errorf("%w (a directory that is there already, and that no release made, is left alone)", err)
	}
	sums, err := os.ReadFile(filepath.Join(out, sumsName))
	if err == nil {
		fmt.Print(string(sums))
	}
	return err
}

// target is a system that is built for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "-" + t.arch }

func parseTargets(list string) (out []target, err error) {
	for s := range strings.SplitSeq(list, ",") {
		goos, goarch, ok := strings.Cut(strings.TrimSpace(s), "/")
		if !ok || goos == "" || goarch == "" {
			return nil, fmt.Errorf("-systems: %q is no system such as linux/amd64", s)
		}
		out = append(out, target{goos, goarch})
	}
	return out, nil
}
