package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ofOne is how many repositories each owner has of very many.
const ofOne = 100

// hoard measures what very many repositories with data take when graspd starts, beside the same events without data.
func (x *ground) hoard(ctx context.Context) error {
	n := x.scaled(100_000, 200)
	x.say("%d repositories with data, and without", n)
	var ready [2]time.Duration
	var memory [2]int64
	for i, name := range []string{"hoard-none", "hoard"} {
		data := x.path(name)
		if err := os.MkdirAll(data, 0o750); err != nil {
			return err
		}
		if err := x.write(ctx, data, n, i == 1); err != nil {
			return err
		}
		var err error
		if ready[i], memory[i], err = x.rises(ctx, data); err != nil {
			return err
		}
	}
	x.report.add(atMost(line{what: fmt.Sprintf("%d repositories with data: from the start until ready", n), measured: span(ready[1]),
		against: "the same events without data: " + span(ready[0]), ratio: ready[1].Seconds() / ready[0].Seconds()}, 1.2))
	more := memory[1] - memory[0]
	x.report.add(line{what: fmt.Sprintf("%d repositories with data: memory when ready and calm", n), measured: size(memory[1]),
		against: "the same events without data: " + size(memory[0]), ratio: float64(memory[1]) / float64(memory[0]), target: "≤ 50 MB more", met: more <= 50e6})
	x.report.note("Those %d repositories were written straight into the store, without signatures, and their directories are there; each owner has %d.", n, ofOne)
	return nil
}

// rises is the median time until graspd is ready on a data directory, and its memory once it is calm and has told of its repositories.
func (x *ground) rises(ctx context.Context, data string) (took time.Duration, memory int64, err error) {
	if took, err = x.starts(ctx, data, "--git"); err != nil {
		return 0, 0, err
	}
	if err = x.open(ctx, data); err != nil {
		return 0, 0, err
	}
	if _, err = x.g.status(ctx); err == nil {
		err = x.g.calm(ctx)
	}
	memory = x.g.size("VmRSS")
	return took, memory, errors.Join(err, x.g.stop())
}

// write puts events of repositories straight into a store, and with data the rows and directories of these.
func (x *ground) write(ctx context.Context, data string, n int, with bool) (err error) {
	service, err := grasp.ParseService(domain)
	if err != nil {
		return err
	}
	s, err := openStore(data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	at := time.Now().Unix() - 1000
	for i := 0; i < n; i += batchSize {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := s.Begin()
		if err != nil {
			return err
		}
		for k := i; k < min(i+batchSize, n) && err == nil; k++ {
			err = x.writeOne(b, service, data, k, at, with)
		}
		if err == nil {
			_, err = b.Commit()
		}
		b.Discard()
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *ground) writeOne(b *store.Batch, service grasp.Service, data string, k int, at int64, with bool) error {
	owner, d := key(20_000+k/ofOne), fmt.Sprint("one-", k)
	pk := owner.PubKey()
	state := &nostr.Event{CreatedAt: at, Kind: nip34.KindState, Tags: nostr.Tags{{"d", d}, {"HEAD", "ref: " + mainRef}, {mainRef, x.small.main.String()}}}
	for _, e := range []*nostr.Event{
		{CreatedAt: at, Kind: nip34.KindRepository, Tags: nostr.Tags{{"d", d}, {"clone", service.CloneURL(pk, d)}, {"relays", string(service.RelayURL())}}},
		state,
	} {
		unsigned(owner, pk, e)
		if _, err := b.Add(e, store.Catchup); err != nil {
			return err
		}
	}
	if !with {
		return nil
	}
	st, err := refs.ReadState(state)
	if err != nil {
		return err
	}
	of := nip34.Address{PubKey: pk, D: d}
	r := refdb.Repository{Of: of, Bytes: 20_000, Moved: at}
	if _, err := rand.Read(r.Dir[:]); err != nil {
		return err
	}
	r.Refs = r.Refs.Next(of, refs.Change{Members: &grasp.Set{Members: []nostr.PubKey{pk}}, States: []refs.State{st}})
	return errors.Join(r.Write(b, false), x.directory(data, gitrepo.ID(r.Dir).String()))
}

// directory makes what there is of a repository beside its packs.
func (x *ground) directory(data, name string) error {
	dir := filepath.Join(data, "git", name[:2], name[2:4], name)
	if err := os.MkdirAll(filepath.Join(dir, "objects", "pack"), 0o700); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(filepath.Join(dir, "refs"), 0o700), os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: "+mainRef+"\n"), 0o600))
}

// waiting counts the files and directories that coordinates take which wait for their data.
func (x *ground) waiting(ctx context.Context) (err error) {
	n := x.scaled(100, 10)
	if err := x.open(ctx, x.path("waits")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.g.stop()) }()
	c, err := connect(ctx, x.g.url)
	if err != nil {
		return err
	}
	defer c.CloseNow()
	git := filepath.Join(x.path("waits"), "git")
	before, err := inodes(git)
	if err != nil {
		return err
	}
	for i := range n {
		p, err := newPlace(ctx, x.g, c, 30_000+i, "waits")
		if err == nil {
			err = c.publish(ctx, p.state(x.small.refs))
		}
		if err != nil {
			return err
		}
	}
	after, err := inodes(git)
	x.report.add(line{what: fmt.Sprintf("%d coordinates that wait, with their states: files and directories", n), measured: fmt.Sprint(after - before), target: "0", met: after == before})
	return err
}

// inodes counts what is in a directory.
func inodes(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(string, os.DirEntry, error) error { n++; return nil })
	return n, err
}
