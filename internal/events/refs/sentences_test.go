package refs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var update = flag.Bool("update", false, "write testdata/sentences.txt anew")

// scenes are pushes of which each is refused for another reason, with what is told.
func scenes() (list []scene) {
	m := members("alice", "bob", "(carol)")
	today := int64(noon - 600)
	now := state("now", "alice", today, "main=1 dev=2 tags/v1=3")
	add := func(name string, change func(*refs.Standing), p refs.Push) {
		in := standing(ruled(m, now), m)
		if change != nil {
			change(&in)
		}
		list = append(list, scene{name, in, p})
	}
	states := func(list ...refs.State) func(*refs.Standing) {
		return func(in *refs.Standing) { in.States = list }
	}
	s := func(author string, at int64, rs string) refs.State { return state("state", author, at, rs) }
	flawed := s("bob", noon, "main=4")
	flawed.Flaw = `it has refs/heads/x at 'abc123', which is no object id`
	known := func(kind nostr.Kind, pr refs.PullRequest) func(*refs.Standing) {
		return func(in *refs.Standing) { in.Known = map[nostr.ID]refs.Known{id("pr"): {Kind: kind, PullRequest: pr}} }
	}
	pr := pullRequest("pr", 1, "1", "alice")
	tip := func(move string) refs.Push { return push(pending("pr") + ":" + move) }

	add("no state", nil, push("main:1>4 x:>5"))
	add("a ref is missing", states(s("bob", noon, "main=4 dev=2 tags/v1=3 x=5")), push("main:1>4"))
	add("a ref is to go", states(s("bob", noon, "main=4 tags/v1=3")), push("main:1>4"))
	add("a ref is elsewhere", states(s("bob", noon, "main=4 dev=5 tags/v1=3")), push("main:1>4"))
	add("another value is pushed", states(s("bob", noon, "main=4 dev=2 tags/v1=3")), push("main:1>5"))
	add("a ref too many is pushed", states(s("bob", noon, "main=4 dev=2 tags/v1=3")), push("main:1>4 x:>5"))
	add("a ref is deleted that is to stay", states(s("bob", noon, "main=4 dev=2 tags/v1=3")), push("main:1>4 dev:2>"))
	add("eleven refs differ", states(s("bob", noon, "a=4 b=4 c=4 d=4 e=4 f=4 g=4 h=4 i=4 j=4 main=4 dev=2 tags/v1=3")), push("main:1>5"))
	add("twelve refs differ", states(s("bob", noon, "a=4 b=4 c=4 d=4 e=4 f=4 g=4 h=4 i=4 j=4 k=4 main=4 dev=2 tags/v1=3")), push("main:1>5"))
	add("a state of another day", states(s("bob", noon+90_000, "main=4 dev=2 tags/v1=3 x=5")), push("main:1>4"))
	add("no repository can be so", states(flawed), push("main:1>4"))
	add("a newer state rules", states(s("bob", today-1, "main=4 dev=2 tags/v1=3")), push("main:1>4"))
	add("invited", states(s("carol", noon, "main=4 dev=2 tags/v1=3")), push("main:1>4"))
	add("a stranger", states(s("mallory", noon, "main=4 dev=2 tags/v1=3")), push("main:1>4"))
	add("an identifier of any sort", func(in *refs.Standing) {
		in.Of.D = "a/b\n\x1b[2J\u202e" + strings.Repeat("é", 100)
		s := s("mallory", noon, "main=4 dev=2 tags/v1=3")
		s.D = in.Of.D
		in.States = []refs.State{s}
	}, push("main:1>4"))
	add("moved", nil, push("main:9>4 x:>5"))
	add("here already", nil, push("main:>4"))
	add("not here", nil, push("x:4>5"))
	add("eleven moved", func(in *refs.Standing) {
		in.Projection = ruled(m, state("now", "alice", today, "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1"))
	}, push("a:9>4 b:9>4 c:9>4 d:9>4 e:9>4 f:9>4 g:9>4 h:9>4 i:9>4 j:9>4 k:9>4"))
	add("a name of any sort", states(s("bob", noon, "\u202e\xff"+strings.Repeat("x", 200)+"=4 main=1 dev=2 tags/v1=3 x=6")), push("x:>6"))
	add("another namespace", states(s("bob", noon, "main=4 dev=2 tags/v1=3")), push("main:1>4 refs/notes/commits:>5"))
	atomic := push("main:1>4 refs/notes/commits:>5")
	atomic.Atomic = true
	add("all or nothing", states(s("bob", noon, "main=4 dev=2 tags/v1=3")), atomic)
	add("twice", nil, push("main:1>4 main:1>4"))
	add("no event id", nil, push("refs/nostr/note1xyz:>1"))
	add("another tip", known(nip34.KindPullRequest, pr), tip(">2"))
	add("a tip that is no commit", known(nip34.KindPullRequest, pullRequest("pr", 1, "", "alice")), tip(">2"))
	add("a tip of another repository", known(nip34.KindPullRequest, pullRequest("pr", 1, "1", "bob")), tip(">1"))
	add("a tip of an issue", known(nip34.KindIssue, refs.PullRequest{}), tip(">1"))
	add("a tip is deleted", known(nip34.KindPullRequest, pr), tip("1>"))
	add("a tip of an unknown event is deleted", nil, tip("1>"))
	add("a tip that was elsewhere", nil, tip("2>1"))
	add("another tip is pending", func(in *refs.Standing) {
		in.Pending = &refs.Pending{}
		in.Pending.Begin(noon, in.Of, at("b"), []refs.Tip{{Event: id("pr"), ID: oid("2")}})
	}, tip(">1"))
	var many refs.Push
	for i := range refs.MaxPushTips + 1 {
		many.Commands = append(many.Commands, gitwire.Command{Ref: fmt.Sprintf("refs/nostr/%064x", i), New: oid("1")})
	}
	add("too many tips", nil, many)
	pendingTips := func(n int, of nip34.Address, from string) func(*refs.Standing) {
		return func(in *refs.Standing) {
			in.Pending = &refs.Pending{}
			fill(in.Pending, noon, n, of, from)
		}
	}
	add("the repository is full", pendingTips(refs.MaxRepositoryTips, repo("alice", "d"), "b"), tip(">1"))
	add("the address is full", pendingTips(refs.MaxAddressTips, repo("bob", "d"), ""), tip(">1"))
	fromNetwork := tip(">1")
	fromNetwork.From.Network = "net"
	add("the network is full", func(in *refs.Standing) {
		in.Pending = &refs.Pending{}
		for i := range refs.MaxNetworkTips {
			in.Pending.Begin(noon, repo("bob", fmt.Sprint(i/8)), refs.From{Address: fmt.Sprint(i / 8), Network: "net"}, tips(fmt.Sprint(i)))
		}
	}, fromNetwork)
	add("all is full", func(in *refs.Standing) {
		in.Pending = &refs.Pending{}
		many := refs.MaxTips
		for i := range many {
			in.Pending.Begin(noon, repo("bob", fmt.Sprint(i/8)), at(fmt.Sprint(i/8)), tips(fmt.Sprint(i)))
		}
	}, tip(">1"))
	return list
}

type scene struct {
	name string
	in   refs.Standing
	push refs.Push
}

// TestSentences holds what people are told when a push is refused. Every cause occurs, every text is one printable line.
func TestSentences(t *testing.T) {
	var b strings.Builder
	told := map[refs.Cause]bool{refs.None: true}
	for _, s := range scenes() {
		v := refs.Judge(s.in, s.push)
		fmt.Fprintf(&b, "%s\n", s.name)
		for i, r := range v.Results {
			told[r.Cause] = true
			if r.Cause != refs.None {
				fmt.Fprintf(&b, "  ng %q %s\n", s.push.Commands[i].Ref, r.Reason)
			}
			wantLine(t, r.Reason)
		}
		for _, l := range v.Lines {
			fmt.Fprintf(&b, "  remote: %s\n", l)
			wantLine(t, l)
		}
		if len(v.Lines) > 11 {
			t.Errorf("%s: %d lines", s.name, len(v.Lines))
		}
	}
	for c := range refs.Causes {
		if !told[c] {
			t.Errorf("%v does not occur", c)
		}
	}
	name := filepath.Join("testdata", "sentences.txt")
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines, wants := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wants)) {
		var l, w string
		if i < len(lines) {
			l = lines[i]
		}
		if i < len(wants) {
			w = wants[i]
		}
		if l != w {
			t.Fatalf("line %d is %q, want %q: if that is meant, go test ./internal/events/refs -run TestSentences -update", i+1, l, w)
		}
	}
}

func wantLine(t *testing.T, s string) {
	t.Helper()
	const most = 500
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || len(s) > most {
		t.Errorf("not a printable line of %d bytes: %q", most, s)
	}
}

func TestCauses(t *testing.T) {
	seen := map[string]bool{}
	for c := range refs.Causes {
		if s := c.String(); s == "" || s == "unknown" || seen[s] {
			t.Errorf("%d is %q", c, s)
		}
		seen[c.String()] = true
	}
	if s := refs.Causes.String(); s != "unknown" {
		t.Error(s)
	}
}
