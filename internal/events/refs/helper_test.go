package refs_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// key is the public key of a person by name, id an event id by name.
func key(name string) nostr.PubKey { return nostr.PubKey(sha256.Sum256([]byte(name))) }
func id(name string) nostr.ID      { return nostr.ID(sha256.Sum256([]byte(name))) }

// oid is an object id by name, zero for "".
func oid(name string) gitwire.ObjectID {
	if name == "" {
		return gitwire.ObjectID{}
	}
	o, err := gitwire.ParseObjectID(hexOID(name))
	if err != nil {
		panic(err)
	}
	return o
}

func hexOID(name string) string {
	sum := sha1.Sum([]byte(name))
	return hex.EncodeToString(sum[:])
}

func repo(author, d string) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: key(author), D: d}
}

func tag(values ...string) nostr.Tag { return values }

// event is one by that author with an id by name.
func event(name, author string, at int64, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	return &nostr.Event{ID: id(name), PubKey: key(author), CreatedAt: at, Kind: kind, Tags: tags}
}

// set reads "main=a dev=b tags/v1=c": branches have no prefix.
func set(s string) refs.Set {
	var list []refs.Ref
	for f := range strings.FieldsSeq(s) {
		name, object, _ := strings.Cut(f, "=")
		list = append(list, refs.Ref{Name: refName(name), ID: oid(object)})
	}
	return refs.NewSet(list)
}

func refName(s string) string {
	if strings.HasPrefix(s, "tags/") || strings.HasPrefix(s, "nostr/") {
		return "refs/" + s
	}
	if strings.HasPrefix(s, "refs/") || s == "HEAD" {
		return s
	}
	return "refs/heads/" + s
}

// state is one of repository d.
func state(name, author string, at int64, s string) refs.State {
	return refs.State{Stamp: nostr.Stamp{CreatedAt: at, ID: id(name)}, Author: key(author), D: "d", Refs: set(s)}
}

func withHead(s refs.State, branch string) refs.State {
	s.Head = "refs/heads/" + branch
	return s
}

// members are confirmed; a name in brackets is invited only.
func members(names ...string) *grasp.Set {
	s := &grasp.Set{}
	for _, n := range names {
		if in, ok := strings.CutPrefix(n, "("); ok {
			s.Invited = append(s.Invited, key(strings.TrimSuffix(in, ")")))
		} else {
			s.Members = append(s.Members, key(n))
		}
	}
	return s
}

// announcement is what one by that author lists.
func announcement(author string, at int64, d string, lists ...string) refs.Announcement {
	a := refs.Announcement{D: d, Listing: grasp.Listing{Author: key(author), ID: id("announcement of " + author + d), CreatedAt: at}}
	for _, l := range lists {
		a.Listed = append(a.Listed, key(l))
	}
	return a
}

// pullRequest names repository d of that owner.
func pullRequest(name string, at int64, tip string, owners ...string) refs.PullRequest {
	p := refs.PullRequest{Stamp: nostr.Stamp{CreatedAt: at, ID: id(name)}, Tip: oid(tip)}
	if tip != "" {
		p.Commit = hexOID(tip)
	}
	for _, o := range owners {
		p.Repositories = append(p.Repositories, repo(o, "d"))
	}
	return p
}

// ruled is the projection of repository d by alice after these states were complete one after the other.
func ruled(m *grasp.Set, states ...refs.State) refs.Projection {
	var p refs.Projection
	for _, s := range states {
		p = p.Next(repo("alice", "d"), refs.Change{Members: m, States: []refs.State{s}})
	}
	return p
}

// push reads "main:a>b dev:>c tags/v1:d>": what each ref is to go from and to.
func push(s string) refs.Push {
	var p refs.Push
	for f := range strings.FieldsSeq(s) {
		name, move, _ := strings.Cut(f, ":")
		before, after, _ := strings.Cut(move, ">")
		p.Commands = append(p.Commands, gitwire.Command{Ref: refName(name), Old: oid(before), New: oid(after)})
	}
	return p
}

// noon is the time of every push.
const noon = 1_800_014_400 // 2027-01-15 12:00:00 UTC

func standing(p refs.Projection, m *grasp.Set, states ...refs.State) refs.Standing {
	return refs.Standing{Of: repo("alice", "d"), Members: m, Projection: p, States: states, Relay: "wss://git.example.org", Now: noon}
}

// causes are those of the commands in their order, those that succeed as "ok".
func causes(v refs.Verdict) string {
	var words []string
	for _, r := range v.Results {
		if (r.Cause == refs.None) != (r.Reason == "") {
			return fmt.Sprintf("%v with %q", r.Cause, r.Reason)
		}
		words = append(words, strings.Replace(r.Cause.String(), "none", "ok", 1))
	}
	return strings.Join(words, " ")
}

// wantVerdict compares the causes and the state that authorises.
func wantVerdict(t *testing.T, v refs.Verdict, want, state string) {
	t.Helper()
	if got := causes(v); got != want {
		t.Errorf("%s, want %s: %q", got, want, v.Lines)
	}
	switch {
	case state == "" && v.State != nil:
		t.Errorf("by %v, want none", v.State.ID)
	case state != "" && (v.State == nil || v.State.ID != id(state)):
		t.Errorf("not by %s: %+v", state, v.State)
	}
}
