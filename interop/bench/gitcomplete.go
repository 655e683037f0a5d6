package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// reposOfOne is how many repositories one owner has of those that complete themselves.
const reposOfOne = 20

// completing measures how repositories come over from another server, whose events are stored and of which nothing else is here, beside
// git clone of each.
func (x *ground) completing(ctx context.Context) error {
	base, err := x.backend.add(ctx, x.small, "cold.git")
	if err != nil {
		return err
	}
	n := x.scaled(1000, 40)
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("cold-%d.git", i))
		if err := os.Symlink(filepath.Join(x.backend.root, "cold.git"), filepath.Join(x.backend.root, names[i])); err != nil {
			return err
		}
	}
	at := strings.TrimSuffix(base, "cold.git")
	what := fmt.Sprintf("%d repositories of 100 commits from http-backend, cold", n)
	took, others, calm, err := x.comeOver(ctx, what, at, names)
	if err != nil {
		return err
	}
	wall, least := others.against(what, took), (took.cpu+took.server)/time.Duration(runtime.GOMAXPROCS(0))
	x.report.add(wall)
	x.report.add(atMost(line{what: what + ", wall against what the processors allow", measured: span(took.wall), against: "both sides with nothing idle: " + span(least), ratio: took.wall.Seconds() / least.Seconds()}, 1.3))
	x.report.add(atMost(line{what: what + ", CPU without the server's", measured: span(took.cpu), against: "`git clone`: " + span(others.cpu), ratio: took.cpu.Seconds() / others.cpu.Seconds()}, 1))
	during := late(took.asked)
	x.report.add(line{what: fmt.Sprintf("a client's query for an announcement while those %d come over, 95 of 100", n), measured: "within " + span(during),
		against: "afterwards: " + span(calm), ratio: during.Seconds() / calm.Seconds(), target: "≤ 100 ms", met: during <= 100*time.Millisecond})
	x.report.note("The status showed %d steps while they came over; the bench asked for it every tenth of a second.", took.steps)
	x.report.note("That server shares the processors of this machine, and takes %s of CPU for graspd and %s for `git clone`, so all of it could be %s times as quick as `git clone` in a loop, and no more.",
		span(took.server), span(others.server), figures(others.wall.Seconds()/least.Seconds()))
	const elsewhere = "the same from a server elsewhere"
	if took, others, _, err = x.comeOver(ctx, elsewhere, x.elsewhere(at), names); err != nil {
		return err
	}
	wall = others.against(elsewhere, took)
	wall.target, wall.met = "≥ 4", wall.ratio >= 4
	x.report.add(wall)
	x.report.note("The server elsewhere is the same one as if it stood on another machine: each of its answers is made once, and from then on sent from memory, %s after the request.", span(farAway))
	return nil
}

// comeOver measures how long repositories take to come over from one server, beside git clone of each. calm is what a query takes afterwards.
func (x *ground) comeOver(ctx context.Context, what, at string, names []string) (took, others bill, calm time.Duration, err error) {
	x.say("%s", what)
	var urls []string
	for _, name := range names {
		urls = append(urls, at+name)
	}
	data := x.path("completing-" + strings.NewReplacer("/", "-", ":", "-").Replace(at))
	if err = x.import30617(ctx, data, urls); err != nil {
		return
	}
	if err = x.open(ctx, data, "--sync", "--sync-allow-private"); err != nil {
		return
	}
	if took, err = x.complete(ctx, len(urls)); err == nil {
		calm, err = x.asks(ctx, max(20, len(took.asked)))
	}
	if err = errors.Join(err, x.g.stop()); err != nil {
		return
	}
	others, err = x.cloneEach(ctx, urls)
	return
}

// against is how much quicker another way is than git clone of each.
func (b bill) against(what string, other bill) line {
	return line{what: what + ", wall", measured: span(other.wall), against: "`git clone` of each in a loop: " + span(b.wall), ratio: b.wall.Seconds() / other.wall.Seconds()}
}

// bill is what a way to get all of them takes.
type bill struct {
	wall, cpu, server time.Duration

	asked []time.Duration // that queries of a client took meanwhile
	steps int             // different numbers of repositories that the status told to lack something
}

// complete waits until all repositories are here, from the first fetch on, and is a client meanwhile.
func (x *ground) complete(ctx context.Context, n int) (b bill, err error) {
	var begun time.Time
	var own, server time.Duration
	c, err := connect(ctx, x.g.url)
	if err != nil {
		return b, err
	}
	defer c.CloseNow()
	told := map[int]bool{}
	var failed error
	err = x.g.until(ctx, 100*time.Millisecond, func(s admin.Status) bool {
		if s.Git != nil && s.Git.Sync != nil {
			told[s.Git.Sync.Lacking] = true
		}
		d, _, err := timed(func() (int, error) { return c.ask(ctx, announcements) })
		if b.asked = append(b.asked, d); err != nil {
			failed = err
			return true
		}
		if begun.IsZero() && s.Git != nil && s.Git.Sync != nil && s.Git.Sync.Lacking > 0 {
			begun, own, server = time.Now(), x.g.tree(), children()
		}
		return s.Git != nil && s.Git.Repositories == n && s.Git.Sync.Lacking == 0
	})
	if err := errors.Join(err, failed); err != nil {
		return b, err
	}
	b.wall, b.steps = time.Since(begun), len(told)
	x.backend.running.Wait()
	if err := x.g.childless(ctx); err != nil {
		return b, err
	}
	b.cpu, b.server = x.g.tree()-own, children()-server
	return b, nil
}

// announcements asks for the newest one.
var announcements = nostr.Filter{Kinds: []nostr.Kind{nip34.KindRepository}, Limit: new(1)}

// asks is the time within which 95 of 100 queries are answered, of so many with a pause between.
func (x *ground) asks(ctx context.Context, n int) (time.Duration, error) {
	c, err := connect(ctx, x.g.url)
	if err != nil {
		return 0, err
	}
	defer c.CloseNow()
	var all []time.Duration
	for range n {
		d, _, err := timed(func() (int, error) { return c.ask(ctx, announcements) })
		if err != nil {
			return 0, err
		}
		all = append(all, d)
		time.Sleep(10 * time.Millisecond)
	}
	return late(all), nil
}

// late is the time within which 95 of 100 are; there is one at least.
func late(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)*95/100]
}

// cloneEach clones them one after the other.
func (x *ground) cloneEach(ctx context.Context, urls []string) (b bill, err error) {
	begun, before := time.Now(), children()
	for _, u := range urls {
		to := x.path("cold-clone")
		_, c, err := git(ctx, x.dir, nil, "clone", "-q", "--bare", u, to)
		if err != nil {
			return b, err
		}
		b.cpu += c.cpu
		b.wall = time.Since(begun)
		if err := os.RemoveAll(to); err != nil {
			return b, err
		}
	}
	x.backend.running.Wait()
	b.server = children() - before - b.cpu
	return b, nil
}

// import30617 brings the events of such repositories into a data directory, as a graspd without git data would have them.
func (x *ground) import30617(ctx context.Context, data string, urls []string) error {
	s, err := grasp.ParseService(domain)
	if err != nil {
		return err
	}
	file, err := os.Create(x.path("completing.jsonl"))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	at := time.Now().Unix() - 1000
	for i, u := range urls {
		owner, d := key(5000+i/reposOfOne), fmt.Sprint("cold-", i)
		for _, e := range []*nostr.Event{
			sign(owner, at, nip34.KindRepository, "", nostr.Tag{"d", d}, nostr.Tag{"clone", s.CloneURL(owner.PubKey(), d), u}, nostr.Tag{"relays", service}),
			sign(owner, at, nip34.KindState, "", nostr.Tag{"d", d}, nostr.Tag{"HEAD", "ref: " + mainRef}, nostr.Tag{mainRef, x.small.main.String()}),
		} {
			if _, err := out.Write(append(e.AppendJSON(nil), '\n')); err != nil {
				return errors.Join(err, file.Close())
			}
		}
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		return err
	}
	text, err := exec.CommandContext(ctx, x.binary, "import", "--data", data, "--domain", domain, "--quiet", file.Name()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("import: %w\n%s", err, text)
	}
	return nil
}
