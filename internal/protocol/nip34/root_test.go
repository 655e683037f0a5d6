package nip34_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var inRepo = tag("a", repo("alice", "d").String())

func TestParsePatch(t *testing.T) {
	one := id("1").String()
	two := id("2").String()
	for _, tc := range []struct {
		name string
		tags nostr.Tags
		want nip34.Patch
		err  error
	}{
		{"first", nostr.Tags{inRepo, tag("r", oid), tag("r", oid2), tag("t", "root"), tag("commit", oid2), tag("parent-commit", oid)},
			nip34.Patch{EUC: oid, First: true, Commit: oid2, ParentCommit: oid}, nil},
		{"revision", nostr.Tags{inRepo, tag("t", "root-revision"), tag("e", one, "", "reply")},
			nip34.Patch{First: true, Revision: true, Previous: id("1"), HasPrevious: true}, nil},
		{"revision, older word", nostr.Tags{inRepo, tag("t", "revision-root")}, nip34.Patch{First: true, Revision: true}, nil},
		{"second", nostr.Tags{inRepo, tag("e", one, "", "root"), tag("e", two, "", "reply")},
			nip34.Patch{Previous: id("2"), HasPrevious: true}, nil},
		{"second, only the root named", nostr.Tags{inRepo, tag("e", one, "", "root")},
			nip34.Patch{Previous: id("1"), HasPrevious: true}, nil},
		{"an author where the marker was", nostr.Tags{inRepo, tag("e", "x"), tag("e", one, "", key("bob").String())},
			nip34.Patch{Previous: id("1"), HasPrevious: true}, nil},
		{"no repository but an earlier patch", nostr.Tags{tag("e", one)}, nip34.Patch{Previous: id("1"), HasPrevious: true}, nil},
		{"nothing", nostr.Tags{tag("t", "root"), tag("e", "x")}, nip34.Patch{}, nip34.ErrIncomplete},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := event(nip34.KindPatch, tc.tags...)
			got, err := nip34.ParsePatch(e)
			wantErr(t, err, tc.err)
			if err != nil {
				return
			}
			want := tc.want
			want.ID, want.Author, want.Text, want.Repositories = e.ID, e.PubKey, "text", nip34.Repositories(e)
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("got %+v, want %+v", *got, want)
			}
		})
	}
	_, err := nip34.ParsePatch(event(nip34.KindIssue, inRepo))
	wantErr(t, err, nip34.ErrKind)
}

func TestParsePullRequest(t *testing.T) {
	c, clone := tag("c", oid), tag("clone", "https://a", "https://b")
	full := nostr.Tags{inRepo, tag("r", oid2), tag("subject", "s"), c, clone, tag("clone", "https://c"),
		tag("branch-name", "b"), tag("merge-base", oid2)}
	got, err := nip34.ParsePullRequest(event(nip34.KindPullRequest, full...))
	want := nip34.PullRequest{ID: id("event"), Author: key("alice"), Repositories: []nip34.Address{repo("alice", "d")},
		EUC: oid2, Subject: "s", Branch: "b", Tip: oid, MergeBase: oid2,
		Clone: []string{"https://a", "https://b", "https://c"}, Text: "text"}
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, tc := range []struct {
		name string
		kind nostr.Kind
		tags nostr.Tags
		err  error
	}{
		{"least", 1618, nostr.Tags{inRepo, c, clone}, nil},
		{"no repository", 1618, nostr.Tags{c, clone}, nip34.ErrIncomplete},
		{"no tip", 1618, nostr.Tags{inRepo, clone}, nip34.ErrIncomplete},
		{"tip is no object id", 1618, nostr.Tags{inRepo, tag("c", "main"), clone}, nip34.ErrIncomplete},
		{"tip in capitals", 1618, nostr.Tags{inRepo, tag("c", strings.ToUpper(oid2)), clone}, nip34.ErrIncomplete},
		{"tip a digit short", 1618, nostr.Tags{inRepo, tag("c", oid[1:]), clone}, nip34.ErrIncomplete},
		{"no clone URL", 1618, nostr.Tags{inRepo, c, tag("clone")}, nip34.ErrIncomplete},
		{"an update", 1619, nostr.Tags{inRepo, c, clone}, nip34.ErrKind},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := nip34.ParsePullRequest(event(tc.kind, tc.tags...))
			wantErr(t, err, tc.err)
		})
	}
}

func TestParseUpdate(t *testing.T) {
	c, clone, pr := tag("c", oid), tag("clone", "https://a"), tag("E", id("1").String())
	got, err := nip34.ParseUpdate(event(nip34.KindPullRequestUpdate, tag("E", "x"), pr, c, clone))
	if err != nil || got.Updates != id("1") || got.Tip != oid || len(got.Repositories) != 0 {
		t.Errorf("without a repository: %+v, %v", got, err)
	}
	for _, tc := range []struct {
		name string
		kind nostr.Kind
		tags nostr.Tags
		err  error
	}{
		{"no pull request", 1619, nostr.Tags{inRepo, c, clone, tag("e", id("1").String())}, nip34.ErrIncomplete},
		{"no tip", 1619, nostr.Tags{inRepo, pr, clone}, nip34.ErrIncomplete},
		{"no clone URL", 1619, nostr.Tags{inRepo, pr, c}, nip34.ErrIncomplete},
		{"a pull request", 1618, nostr.Tags{inRepo, pr, c, clone}, nip34.ErrKind},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := nip34.ParseUpdate(event(tc.kind, tc.tags...))
			wantErr(t, err, tc.err)
		})
	}
}

func TestParseIssue(t *testing.T) {
	got, err := nip34.ParseIssue(event(nip34.KindIssue, inRepo, tag("subject", "s"), tag("t", "bug", "x"), tag("t", "ui")))
	want := nip34.Issue{ID: id("event"), Author: key("alice"), Repositories: []nip34.Address{repo("alice", "d")},
		Subject: "s", Labels: []string{"bug", "ui"}, Text: "text"}
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = nip34.ParseIssue(event(nip34.KindIssue, tag("A", repo("alice", "d").String())))
	wantErr(t, err, nip34.ErrIncomplete)
	_, err = nip34.ParseIssue(event(nip34.KindPatch, inRepo))
	wantErr(t, err, nip34.ErrKind)
}
