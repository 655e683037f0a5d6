package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// branch is the only ref of a repository of the demo.
const branch = "refs/heads/main"

// What people of the demo call things and say: repositories, subjects of issues and commits, and answers.
var (
	names    = []string{"amber-relay", "quiet-parser", "tide-clock", "paper-boat", "north-star", "small-forge"}
	subjects = []string{
		"Crash when the remote has no HEAD", "Typo in the manual", "Could the log be shorter?", "Tests fail on big-endian machines",
		"A clone over a slow line never ends", "Please tag a release", "Paths with spaces are cut", "Say which key was refused",
	}
	answers = []string{"I see the same here.", "Which version is that?", "A fix is on the way: it only shows when the list is empty.", "Thank you, that helps."}
)

// project is a repository of one maintainer, and what others write about it.
type project struct {
	key     nostr.SecretKey // the maintainer's
	address nip34.Address
	on      []*neighbour     // that host it
	commits []string         // one line, the oldest first
	signed  []*nostr.Event   // by the maintainer, for the next push
	threads [][]*nostr.Event // issues, each with the comments on it
}

// newProject makes number i of the projects, which is to be hosted at those places.
func newProject(i int, at []grasp.Service, commits []string, now int64) *project {
	p := &project{key: newKey(), commits: commits}
	p.address = nip34.Address{Kind: nip34.KindRepository, PubKey: p.key.PubKey(), D: names[i]}
	clone, relays := nostr.Tag{"clone"}, nostr.Tag{"relays"}
	for _, s := range at {
		clone, relays = append(clone, s.CloneURL(p.address.PubKey, names[i])), append(relays, string(s.RelayURL()))
	}
	begun := now - 90*86_400
	p.signed = []*nostr.Event{
		signed(p.key, begun, nip34.KindRepository, "", nostr.Tag{"d", names[i]}, nostr.Tag{"name", names[i]}, nostr.Tag{"description", "A repository of the demo"}, clone, relays),
		p.state(begun),
	}
	for k := range 20 - 2*i {
		asked := p.issue(begun+int64(k)*86_400, subjects[(i+k)%len(subjects)])
		thread := []*nostr.Event{asked}
		for n := range k % 4 {
			thread = append(thread, comment(asked, answers[(k+n)%len(answers)], asked.CreatedAt+int64(3600*(n+1))))
		}
		p.threads = append(p.threads, thread)
	}
	return p
}

// newKey makes the key of a new person.
func newKey() nostr.SecretKey {
	key, err := nostr.GenerateKey(rand.Reader)
	if err != nil {
		panic("demo: " + err.Error()) // the system's source of randomness does not fail
	}
	return key
}

// signed makes an event.
func signed(by nostr.SecretKey, at int64, kind nostr.Kind, content string, tags ...nostr.Tag) *nostr.Event {
	e := &nostr.Event{CreatedAt: at, Kind: kind, Tags: tags, Content: content}
	if err := by.Sign(e, [32]byte{}); err != nil {
		panic("demo: " + err.Error()) // a generated key signs a generated event
	}
	return e
}

// state makes the maintainer's signed state (kind 30618) of the commits.
func (p *project) state(at int64) *nostr.Event {
	return signed(p.key, at, nip34.KindState, "", nostr.Tag{"d", p.address.D}, nostr.Tag{"HEAD", "ref: " + branch}, nostr.Tag{branch, p.tip()})
}

// issue makes an issue about the project, by a new person.
func (p *project) issue(at int64, subject string) *nostr.Event {
	return signed(newKey(), at, nip34.KindIssue, "The demo says hello.",
		nostr.Tag{"a", p.address.String()}, nostr.Tag{"p", p.address.PubKey.String()}, nostr.Tag{"subject", subject})
}

// comment makes a comment (NIP-22) on an issue, by a new person.
func comment(on *nostr.Event, text string, at int64) *nostr.Event {
	id, kind, author := on.ID.String(), strconv.Itoa(int(on.Kind)), on.PubKey.String()
	return signed(newKey(), at, nostr.KindComment, text, nostr.Tag{"E", id, "", author}, nostr.Tag{"K", kind}, nostr.Tag{"P", author},
		nostr.Tag{"e", id, "", author}, nostr.Tag{"k", kind}, nostr.Tag{"p", author})
}

func (p *project) tip() string { return p.commits[len(p.commits)-1] }

// url returns the clone URL of the project at a relay.
func (p *project) url(n *node.Node) string {
	return n.Service().CloneURL(p.address.PubKey, p.address.D)
}

// commit adds a commit, and signs the state with it for the next push.
func (p *project) commit(ctx context.Context, in bench) error {
	id, err := in.git(ctx, nil, "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "commit-tree", p.tip()+"^{tree}", "-p", p.tip(), "-m", "Say what changed")
	if err != nil {
		return err
	}
	p.commits = append(p.commits, strings.TrimSpace(id))
	p.signed = []*nostr.Event{p.state(time.Now().Unix())}
	return nil
}

// push publishes what the maintainer has signed at a relay and pushes the commits there. It returns when the relay serves both.
func (p *project) push(ctx context.Context, from bench, to *neighbour) error {
	if err := to.publish(ctx, p.signed...); err != nil {
		return fmt.Errorf("announce %q: %w", p.address.D, err)
	}
	if _, err := from.git(ctx, nil, "push", "--quiet", p.url(to.Node), p.tip()+":"+branch); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, e := range p.signed {
		if err := awaitEvent(patient, to.Store, e.ID); err != nil {
			return fmt.Errorf("%q was pushed and is not served: %w", p.address.D, err)
		}
	}
	return nil
}

// servedBy reports whether a relay serves the newest commit.
func (p *project) servedBy(n *node.Node) (bool, error) {
	r, _, err := n.Host.Find(p.address)
	return slices.ContainsFunc(r.Refs.List, func(x gitwire.Ref) bool { return x.Name == branch && x.ID.String() == p.tip() }), err
}
