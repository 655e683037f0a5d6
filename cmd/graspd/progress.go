package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/progress"
	"github.com/graspd/graspd/internal/status"
)

// screenOf returns a screen where w is a terminal and the operator wants to see progress, else nil.
func screenOf(w io.Writer, quiet bool) *progress.Screen {
	if quiet || !isTerminal(w) {
		return nil
	}
	return progress.NewScreen(w, func() int { return terminalWidth(w) })
}

// meterOf returns a meter that shows on the standard error output how far a command has come.
func meterOf(std stdio, quiet bool, what, unit string) *progress.Meter {
	return progress.NewMeter(screenOf(std.err, quiet), what, unit, time.Now)
}

// above returns the writer for lines that stand above what the screen draws; without a screen that is w.
func above(s *progress.Screen, w io.Writer) io.Writer {
	if s != nil {
		return s
	}
	return w
}

// showCatchup looks every catchupLook, and ends when nothing was under way for catchupCalm beyond the batch window.
const (
	catchupLook = 250 * time.Millisecond
	catchupCalm = time.Second // more may become wanted within the batch window
)

// showCatchup draws the progress of the first catch-up until nothing is under way any more, and prints what the catch-up brought, and what is
// not served yet.
func showCatchup(ctx context.Context, n *node.Node, window time.Duration, s *progress.Screen) {
	tick := time.NewTicker(catchupLook)
	defer tick.Stop()
	defer s.Clear()
	begun, moved := time.Now(), time.Now()
	for {
		look, cancel := context.WithTimeout(ctx, time.Second)
		ready := len(n.Engine.CaughtUp(look, 0)) == 0
		c := countCatchup(n.Engine.Relays(look))
		cancel()
		if !ready && c.live == 0 || c.busy > 0 { // it does not wait for relays that fail
			moved = time.Now()
		}
		if time.Since(moved) > window+catchupCalm {
			s.Clear()
			if c.live > 0 {
				fmt.Fprintln(s, c.result(moved.Sub(begun)))
				if r := n.Readiness(); !r.Ready {
					fmt.Fprintln(s, r)
				}
			}
			return
		}
		if c.relays > 0 {
			s.Draw(c.line())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// catchup sums up the states of the relays.
type catchup struct {
	live, busy, relays int // connected and complete; on the way there; all
	confirmed, wanted  int64
	events             uint64
}

func countCatchup(relays []status.Relay) (c catchup) {
	for _, r := range relays {
		c.relays++
		switch r.Phase {
		case status.PhaseLive, status.PhaseUnproven: // all that there is to ask was asked
			c.live++
		case "idle", "syncing", "dialing":
			c.busy++
		}
		c.wanted += int64(r.Want.Items())
		c.confirmed += int64(r.Confirmed.Items())
		c.events += r.Events()
	}
	return c
}

func (c catchup) line() string {
	return fmt.Sprintf("catching up %s %d of %d relays  %s of %s items  %s events", progress.Bar(24, c.confirmed, c.wanted),
		c.live, c.relays, progress.Count(c.confirmed), progress.Count(c.wanted), progress.Count(int64(c.events)))
}

func (c catchup) result(took time.Duration) string {
	s := fmt.Sprintf("caught up with %d of %d relays in %v: %s events are new", c.live, c.relays, took.Round(time.Second/10), progress.Count(int64(c.events)))
	if c.live < c.relays {
		s += "; the others are tried again (graspd status)"
	}
	return s
}
