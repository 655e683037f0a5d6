package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/graspd/graspd/internal/base/objects/s3"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/backup"
	"github.com/graspd/graspd/internal/operate/progress"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// unreadable marks an error that keeps the check from saying anything about a store.
type unreadable struct{ error }

func (e unreadable) Unwrap() error { return e.error }

// checkOptions are the settings of the check command.
type checkOptions struct {
	Config
	repair bool
	git    gitCheck
}

func (o *checkOptions) settings() []setting {
	return append([]setting{
		boolean("repair", "false", "build the store anew from its events, and mend the git data; keep what is damaged beside it", &o.repair),
		boolean("git", "true", "check the git data too, if there is any", &o.git.wanted),
		text("git-program", "git", "git that checks the git data: a path, or a name on PATH", &o.git.program).as("PATH"),
		bucketSetting("the bucket of the relay, whose git data is checked too: "+s3.Form, &o.Bucket),
	}, o.dataSettings()...)
}

// checkCommand verifies the data of a graspd that does not run, or mends it.
func checkCommand(ctx context.Context, args []string, std stdio, env environment) (err error) {
	var flags checkOptions
	problems, err := parseAlone("check", "", flags.settings(), args, env)
	if err = cmp.Or(err, misused(problems)); err != nil {
		return err
	}
	c, git := &flags.Config, flags.git
	if git.bucket, err = openBucket(flags.Bucket); err != nil {
		return unreadable{fmt.Errorf("check: %w", err)}
	}
	defer c.restoreOwner(&err)
	p := meterOf(std, c.Quiet, "checking", "events")
	defer p.End()
	git.meter = meterOf(std, c.Quiet, "checking", "repositories")
	defer git.meter.End()
	o := storecheck.CheckOptions{Verifier: nostr.Schnorr{}, Progress: func(done, all int64) { p.Show(done, max(done, all), done) }}
	if flags.repair {
		err = c.repair(ctx, std, o, p, git)
	} else {
		err = c.check(ctx, std, o, p, git)
	}
	if _, said := errors.AsType[findings](err); err != nil && !said {
		return unreadable{fmt.Errorf("check: %w", err)}
	}
	return err
}

// openToRead opens a store that exists, for reading alone.
func (c *Config) openToRead() (*store.Store, error) {
	o := c.storeOptions()
	o.ReadOnly = true
	s, err := node.OpenStore(c.Data, o)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (--data says where the data is)", err)
	}
	return s, err
}

// check reads the whole store and the git data, and prints what is wrong.
func (c *Config) check(ctx context.Context, std stdio, o storecheck.CheckOptions, p *progress.Meter, git gitCheck) (err error) {
	if err := c.checkBackup(ctx, std); err != nil {
		return err
	}
	s, err := c.openToRead()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v := s.View()
	defer v.Close()
	r, err := storecheck.CheckWith(ctx, v, o)
	p.End()
	if err = errors.Join(err, s.Failure()); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s with %d index rows, %d remembered with %d rows, %d named rows\n",
		safetext.Number(r.Events, "event", "events"), r.Rows, r.Remembered, r.RememberedRows, r.Named)
	wrong := listed(r.Problems, r.More)
	of := node.StoreIn(c.Data)
	if len(wrong) == 0 { // else the rows of repositories are in doubt, too
		if wrong, err = git.check(ctx, c, std, s); err != nil {
			return err
		}
		of = node.GitIn(c.Data)
	}
	if len(wrong) == 0 {
		fmt.Fprintln(std.out, "sound")
		return nil
	}
	return findings(append(wrong, fmt.Sprintf("%s has problems; stop graspd and run: graspd check --repair --data %s", of, c.Data)))
}

// checkBackup checks a directory that was unpacked from the tar of a backup: that no file is missing and none has changed. It comes before
// all other checks.
func (c *Config) checkBackup(ctx context.Context, std stdio) error {
	if marked, err := backup.Marked(c.Data); err != nil || !marked {
		return err
	}
	problems, err := backup.Verify(ctx, c.Data)
	if errors.Is(err, backup.ErrCut) {
		return findings{fmt.Sprintf("%s: %v: take another one, or save what is here with: graspd check --repair --data %s", c.Data, err, c.Data)}
	}
	if err == nil && len(problems) > 0 {
		return findings(problems)
	}
	if err == nil {
		fmt.Fprintln(std.out, "the backup is whole")
	}
	return err
}

// repair builds the store anew, mends the git data, and prints what became of the old store.
func (c *Config) repair(ctx context.Context, std stdio, o storecheck.CheckOptions, p *progress.Meter, git gitCheck) error {
	if node.InBucket(c.Data) {
		return findings{fmt.Sprintf("%s is a copy of what is in the bucket: remove it and start graspd serve, which fills it again", node.StoreIn(c.Data))}
	}
	if err := backup.Unmark(c.Data); err != nil {
		return err
	}
	so := c.storeOptions()
	so.Dir = node.StoreIn(c.Data)
	r, err := storecheck.Repair(ctx, so, o)
	p.End()
	if err != nil {
		return err
	}
	if r.Salvaged != nil {
		fmt.Fprintf(std.out, "read file by file: %s\n", oneLine(r.Salvaged))
	}
	fmt.Fprintf(std.out, "%s was built anew from %s and is sound", so.Dir, safetext.Number(r.Events, "event", "events"))
	if r.LeftOut > 0 {
		fmt.Fprintf(std.out, "; it leaves out %s, deleted, replaced or there twice", safetext.Number(r.LeftOut, "entry", "entries"))
	}
	fmt.Fprintf(std.out, "\nthe old one is kept in %s until you remove it\n", r.Old)
	lost, err := git.repair(ctx, c, std)
	if err != nil {
		return err
	}
	var said []string
	if len(r.Problems) > 0 {
		said = append([]string{"not everything could be carried over; what other relays have comes back by itself:"}, listed(r.Problems, r.More)...)
	}
	if len(lost) > 0 {
		said = append(append(said, "git data is lost; the damaged repositories are kept in "+filepath.Join(node.GitIn(c.Data), "trash")+" for 30 days:"), lost...)
	}
	if len(said) == 0 {
		return nil
	}
	return findings(said)
}

func listed(problems []string, more bool) []string {
	if more {
		problems = append(problems, "and more")
	}
	return problems
}
