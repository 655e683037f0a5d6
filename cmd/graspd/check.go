package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"graspd/internal/node"
	"graspd/internal/nostr"
	"graspd/internal/progress"
	"graspd/internal/store"
)

// unreadable is an error after which nothing can be said about a store.
type unreadable struct{ error }

func (e unreadable) Unwrap() error { return e.error }

// checkCommand verifies a store that no graspd has open, or builds it anew.
func checkCommand(ctx context.Context, args []string, std stdio, env lookup) error {
	var c Config
	var repair bool
	rows := append(c.dataSettings(), boolean("repair", "false", "build the store anew from its events; the old one is kept beside it", &repair))
	rest, problems, err := parse("check", rows, args, std, env)
	if err != nil {
		return err
	}
	for _, a := range rest {
		problems = append(problems, fmt.Sprintf("check takes no argument %q", a))
	}
	if len(problems) > 0 {
		return &usageError{problems}
	}
	p := meterOf(std, c.Quiet, "checking")
	defer p.End()
	o := store.CheckOptions{Verifier: nostr.Schnorr{}, Progress: func(done, all int64) { p.Show(done, max(done, all), done) }}
	if repair {
		err = c.repair(ctx, std, o, p)
	} else {
		err = c.check(ctx, std, o, p)
	}
	var ill *unwell
	if err != nil && !errors.As(err, &ill) {
		return unreadable{fmt.Errorf("check: %w", err)}
	}
	return err
}

// openToRead opens a store that is there.
func (c *Config) openToRead() (*store.Store, error) {
	o := c.storeOptions()
	o.ReadOnly = true
	s, err := node.OpenStore(c.Data, o)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w (--data says where the data is)", err)
	}
	return s, err
}

// check reads everything and prints what is wrong.
func (c *Config) check(ctx context.Context, std stdio, o store.CheckOptions, p *progress.Meter) (err error) {
	s, err := c.openToRead()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v := s.View()
	defer v.Close()
	r, err := v.CheckWith(ctx, o)
	p.End()
	if err = errors.Join(err, s.Failure()); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%d events with %d index rows, %d remembered with %d rows\n", r.Events, r.Rows, r.Remembered, r.RememberedRows)
	if len(r.Problems) == 0 {
		fmt.Fprintln(std.out, "sound")
		return nil
	}
	return &unwell{append(listed(r.Problems, r.More), fmt.Sprintf("%s has problems; stop graspd and run: graspd check --repair --data %s", node.StoreIn(c.Data), c.Data))}
}

// repair builds the store anew and says what became of the old one.
func (c *Config) repair(ctx context.Context, std stdio, o store.CheckOptions, p *progress.Meter) error {
	so := c.storeOptions()
	so.Dir = node.StoreIn(c.Data)
	r, err := store.Repair(ctx, so, o)
	p.End()
	if err != nil {
		return err
	}
	if r.Salvaged != nil {
		fmt.Fprintf(std.out, "read file by file: %s\n", oneLine(r.Salvaged))
	}
	fmt.Fprintf(std.out, "%s was built anew from %d events and is sound", so.Dir, r.Events)
	if r.LeftOut > 0 {
		fmt.Fprintf(std.out, "; %d entries were left out, being deleted, replaced or there twice", r.LeftOut)
	}
	fmt.Fprintf(std.out, "\nthe old one is kept in %s until you remove it\n", r.Old)
	if len(r.Problems) == 0 {
		return nil
	}
	return &unwell{append([]string{"not everything could be carried over; what other relays have comes back by itself:"}, listed(r.Problems, r.More)...)}
}

func listed(problems []string, more bool) []string {
	if more {
		problems = append(problems, "and more")
	}
	return problems
}
