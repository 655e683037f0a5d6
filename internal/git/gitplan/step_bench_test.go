package gitplan_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// BenchmarkOneHost is a fetch from its beginning to its end while a thousand repositories wait for the same host.
func BenchmarkOneHost(b *testing.B) {
	const many = 1000
	p := gitplan.New(gitplan.Config{Hosts: 10, Repositories: 2 * many})
	now := backoff.Now{Mono: time.Hour, Wall: time.Unix(1_700_000_000, 0)}
	lacks := func(i int, event nostr.ID) {
		of := nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{byte(i / 20)}, D: fmt.Sprint(i)}
		p.Lacks(now, gitplan.Lack{Of: of, Needs: []gitplan.Need{{Event: event}}, Sources: []grasp.Source{grasp.Source(fmt.Sprintf("https://h.example.org/%d.git", i))}})
	}
	for i := range many {
		lacks(i, nostr.ID{})
	}
	var running []gitplan.Fetch
	for n := 1; b.Loop(); n++ {
		now.Mono, now.Wall = now.Mono+time.Second, now.Wall.Add(time.Second)
		running = append(running, p.Step(now).Start...)
		p.Ended(now, running[0].ID, gitplan.Outcome{Brought: running[0].Needs})
		i, err := strconv.Atoi(running[0].Of.D)
		if err != nil {
			b.Fatal(err)
		}
		lacks(i, nostr.ID{byte(n), byte(n >> 8), byte(n >> 16)}) // the next one
		running = append(running[1:], p.Step(now).Start...)
	}
}

// BenchmarkStep is a fetch from its beginning to its end while so many repositories wait, each for a host of its own that has failed. It is
// to take as long beside many as beside few.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := gitplan.New(gitplan.Config{Hosts: 2 * n, Repositories: 2 * n})
			now := backoff.Now{Mono: time.Hour, Wall: time.Unix(1_700_000_000, 0)}
			address := func(i int) nip34.Address {
				return nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{byte(i), byte(i >> 8), byte(i >> 16)}, D: "x"}
			}
			needs := []gitplan.Need{{Event: nostr.ID{1}}}
			end := func(o gitplan.Outcome) {
				for _, f := range p.Step(now).Start {
					p.Ended(now, f.ID, o)
				}
				p.Step(now)
			}
			for i := range n {
				p.Lacks(now, gitplan.Lack{Of: address(i), Needs: needs, Sources: []grasp.Source{grasp.Source(fmt.Sprintf("https://h%d.example.org/x.git", i))}})
				end(gitplan.Outcome{Answer: gitplan.Failed})
			}
			one := gitplan.Lack{Of: address(n), Needs: needs, Sources: []grasp.Source{"https://good.example.org/x.git"}}
			for b.Loop() {
				p.Lacks(now, one)
				end(gitplan.Outcome{Brought: []nostr.ID{{1}}})
			}
			if s := p.Stats(now); s.Lacking != n || s.Resting != n {
				b.Fatalf("%+v", s)
			}
		})
	}
}
