package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/interop/wire"
)

const (
	calm        = 4 * time.Second  // for which the honest client is measured before an attack
	patience    = time.Minute      // for what is no attack
	mostRecover = 60 * time.Second // until a publish is answered after an attack
)

// scene is one relay as its attackers have it before them.
type scene struct {
	url    string
	relays []*fakeRelay // that the attack has
	got    tally
	note   string // what the attack brought about itself, for the report

	mu    sync.Mutex
	wrong map[string]bool // what must not be, and was
}

// fault notes that something was that must not be.
func (s *scene) fault(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong == nil {
		s.wrong = map[string]bool{}
	}
	s.wrong[what] = true
}

// leave ends what the attackers have.
func (s *scene) leave() {
	for _, r := range s.relays {
		r.close()
	}
}

// suffer makes an attack on a relay of its own, and says what came of it.
func (g *ground) suffer(ctx context.Context, a attack) (row row, err error) {
	g.say("%s: %s", a.name, a.does)
	data, err := g.copy(a.name)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	flags := a.flags
	if flags == nil {
		flags = []string{"--sync=false"}
	}
	if a.room > 0 {
		floor, err := floorFor(data, a.room)
		if err != nil {
			return row, err
		}
		flags = append(slices.Clone(flags), "--disk-floor", fmt.Sprint(floor))
	}
	p, err := start(g.binary, data, a.hosts, a.files, flags...)
	if err != nil {
		return row, err
	}
	defer func() {
		if stopped := p.stop(); stopped != nil {
			row.died = fmt.Sprintf("when told to stop: %v", stopped)
		}
		if err == nil && a.hosts && row.died == "" {
			row.left = append(row.left, g.unsound(ctx, data)...)
		}
	}()
	h, err := newHonest(ctx, p.url, a.hosts)
	if err != nil {
		return row, err
	}
	defer h.leave()
	who, err := newAttackers(ctx, a, p.url)
	if err != nil {
		return row, err
	}
	row.attack = a
	row.before = h.watch(ctx, calm)
	p.forgetPeak()
	disk := used(data)
	row.tree.data, row.tree.before = data, disk
	came := g.strike(ctx, p, who, h, &row)
	if a.hosts && p.died() == "" {
		row.left = p.leftovers(ctx, a, data)
	}
	row.got, row.note, row.refusal, row.died = came.Got, came.Note, came.Refusal, p.died()
	row.left = append(row.left, came.Faults...)
	row.disk = used(data) - disk
	return row, ctx.Err()
}

// strike lets the attack last while the honest client is measured and newcomers try.
func (g *ground) strike(ctx context.Context, p *process, who *attackers, h *honest, row *row) (came outcome) {
	a := row.attack
	attack, over := context.WithCancel(ctx)
	defer over()
	var parties sync.WaitGroup
	begun := time.Now()
	parties.Go(func() {
		var err error
		if came, err = who.strike(attack); err != nil {
			g.say("%s: %v", a.name, err)
		} else if came.Failed != "" {
			g.say("%s: %s", a.name, came.Failed)
		}
		if err := who.leave(); err != nil {
			g.say("%s: the attackers: %v", a.name, err)
		}
	})
	parties.Go(func() {
		select {
		case <-p.ended:
			row.diedAfter = time.Since(begun)
			over()
		case <-attack.Done():
		}
	})
	parties.Go(func() { row.newcomers = newcomers(attack, p.url, a.builds, g.lasts) })
	parties.Go(func() {
		for sleep(attack, 100*time.Millisecond) == nil {
			row.peak = max(row.peak, p.peak()) // a process that has ended tells nothing any more
		}
	})
	if a.hosts {
		parties.Go(func() { row.tree.watch(attack, p) })
	}
	row.under = h.watch(attack, a.builds+g.lasts)
	over()
	left := time.Now()
	parties.Wait()
	if p.died() == "" {
		row.recovers = h.recover(ctx, left)
	}
	return came
}

// floorFor is how much has to stay free so that there is that much room for the relay.
func floorFor(dir string, room int64) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return max(int64(s.Bavail)*s.Bsize-room, 1), nil
}

// used is the bytes of all files below a directory.
func used(dir string) (n int64) {
	_ = filepath.Walk(dir, func(_ string, i os.FileInfo, err error) error {
		if err == nil && i.Mode().IsRegular() {
			n += i.Size()
		}
		return nil // files come and go
	})
	return n
}

// publishAll publishes for those who make an attack ready, on a connection of each address, as long as within and no answer
// is a failure of the connection. It returns how many were taken.
func publishAll(ctx context.Context, s *scene, addresses int, within time.Duration, events []*nostr.Event) (taken int, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var all sync.WaitGroup
	var mu sync.Mutex
	for n := range addresses {
		all.Go(func() {
			did, failed := publishSome(ctx, s, n, addresses, events)
			mu.Lock()
			defer mu.Unlock()
			taken += did
			err = errors.Join(err, failed)
		})
	}
	all.Wait()
	if ctx.Err() != nil { // the time is up, which cuts the connections
		err = nil
	}
	return taken, err
}

// publishSome publishes every step-th event, beginning with the first-th.
func publishSome(ctx context.Context, s *scene, first, step int, events []*nostr.Event) (taken int, err error) {
	c, err := wire.DialFrom(ctx, s.url, on(helperNet, first))
	if err != nil {
		return 0, err
	}
	defer c.CloseNow()
	for i := first; i < len(events); i += step {
		ok, err := publish(ctx, c, events[i])
		if err != nil {
			return taken, err
		}
		if ok {
			taken++
		}
	}
	return taken, nil
}

// publish waits for the OK and says whether it is one.
func publish(ctx context.Context, c *wire.Client, e *nostr.Event) (bool, error) {
	if err := c.Send(ctx, nostr.AppendEventMsg(nil, e)); err != nil {
		return false, err
	}
	for {
		m, err := c.Receive(ctx)
		if err != nil {
			return false, err
		}
		if ok, is := m.(nostr.OK); is && ok.ID == e.ID {
			return ok.OK, nil
		}
	}
}
