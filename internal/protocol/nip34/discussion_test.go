package nip34_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestParseStatus(t *testing.T) {
	one, two, three := id("1").String(), id("2").String(), id("3").String()
	for _, tc := range []struct {
		name string
		kind nostr.Kind
		tags nostr.Tags
		want nip34.Status
		err  error
	}{
		{"marked root", 1630, nostr.Tags{tag("e", two, "", "reply"), tag("e", three), tag("e", one, "", "root")},
			nip34.Status{Root: id("1"), Revisions: []nostr.ID{id("2")}}, nil},
		{"no marker", 1632, nostr.Tags{tag("e", "x", "", "root"), tag("e", one), tag("e", two)}, nip34.Status{Root: id("1")}, nil},
		{"applied", 1631, nostr.Tags{tag("e", one, "", "root"), tag("merge-commit", oid), tag("applied-as-commits", oid, oid2), inRepo},
			nip34.Status{Root: id("1"), MergeCommit: oid, Applied: []string{oid, oid2}, Repositories: []nip34.Address{repo("alice", "d")}}, nil},
		{"only a revision", 1633, nostr.Tags{tag("e", one, "", "reply")}, nip34.Status{}, nip34.ErrIncomplete},
		{"no root", 1633, nostr.Tags{inRepo}, nip34.Status{}, nip34.ErrIncomplete},
		{"wrong kind", 1634, nostr.Tags{tag("e", one, "", "root")}, nip34.Status{}, nip34.ErrKind},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := nip34.ParseStatus(event(tc.kind, tc.tags...))
			wantErr(t, err, tc.err)
			if err != nil {
				return
			}
			tc.want.ID, tc.want.Author, tc.want.Kind, tc.want.Text = id("event"), key("alice"), tc.kind, "text"
			if !reflect.DeepEqual(*got, tc.want) {
				t.Errorf("got %+v, want %+v", *got, tc.want)
			}
		})
	}
}

func TestParseComment(t *testing.T) {
	one, two := id("1").String(), id("2").String()
	onRepo := nip34.Scope{Address: repo("alice", "a:b"), Kind: "30617"}
	address := onRepo.Address.String()
	issue := nip34.Scope{ID: id("1"), Kind: "1621"}
	for _, tc := range []struct {
		name         string
		tags         nostr.Tags
		root, parent nip34.Scope
		err          error
	}{
		{"top level on an issue", nostr.Tags{tag("E", one), tag("K", "1621"), tag("e", one), tag("k", "1621")}, issue, issue, nil},
		{"nested", nostr.Tags{tag("E", one), tag("K", "1621"), tag("e", two), tag("k", "1111")},
			issue, nip34.Scope{ID: id("2"), Kind: "1111"}, nil},
		{"on a repository", nostr.Tags{tag("A", address), tag("K", "30617"), tag("a", address), tag("e", two), tag("k", "30617")},
			onRepo, nip34.Scope{Address: onRepo.Address, ID: id("2"), Kind: "30617"}, nil},
		{"on a page", nostr.Tags{tag("I", "https://x"), tag("K", "web"), tag("i", "https://x"), tag("k", "web")},
			nip34.Scope{External: "https://x", Kind: "web"}, nip34.Scope{External: "https://x", Kind: "web"}, nil},
		{"no parent", nostr.Tags{tag("E", one), tag("K", "1621")}, issue, issue, nil},
		{"no kinds", nostr.Tags{tag("E", one), tag("e", two)}, nip34.Scope{ID: id("1")}, nip34.Scope{ID: id("2")}, nil},
		{"first usable counts", nostr.Tags{tag("E", "x"), tag("E", one), tag("E", two), tag("K", "1621")}, issue, issue, nil},
		{"no root", nostr.Tags{tag("e", one), tag("k", "1621"), tag("K", "1621")}, nip34.Scope{}, nip34.Scope{}, nip34.ErrIncomplete},
		{"no usable root", nostr.Tags{tag("E", "x"), tag("A", "y"), tag("I")}, nip34.Scope{}, nip34.Scope{}, nip34.ErrIncomplete},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := nip34.ParseComment(event(nostr.KindComment, tc.tags...))
			wantErr(t, err, tc.err)
			if err != nil {
				return
			}
			want := nip34.Comment{ID: id("event"), Author: key("alice"), Root: tc.root, Parent: tc.parent, Text: "text"}
			if *got != want {
				t.Errorf("got %+v, want %+v", *got, want)
			}
		})
	}
	_, err := nip34.ParseComment(event(1, tag("E", one)))
	wantErr(t, err, nip34.ErrKind)
}

func TestScopeKind(t *testing.T) {
	for _, tc := range []struct {
		in   string
		kind nostr.Kind
		ok   bool
	}{{"1621", 1621, true}, {"65535", 65535, true}, {"web", 0, false}, {"", 0, false}, {"65536", 0, false}, {"-1", 0, false}} {
		if k, ok := (nip34.Scope{Kind: tc.in}).NostrKind(); ok != tc.ok || ok && k != tc.kind {
			t.Errorf("%q: %d, %v", tc.in, k, ok)
		}
	}
}

// FuzzParsers feeds any tags to every parser: they give a view or an error, and never both.
func FuzzParsers(f *testing.F) {
	for _, kind := range []uint16{1111, 1617, 1618, 1619, 1621, 1631, 30617, 30618} {
		f.Add(kind, []byte(`[[],["d","a:b"],["a","30617:`+key("alice").String()+`:d"],["e","`+id("1").String()+`","","root"],["E"],["m",""],["c"]]`))
	}
	f.Fuzz(func(t *testing.T, kind uint16, raw []byte) {
		var tags nostr.Tags
		if json.Unmarshal(raw, &tags) != nil {
			return
		}
		e := event(nostr.Kind(kind), tags...)
		check := func(view any, err error) {
			if reflect.ValueOf(view).IsNil() != (err != nil) {
				t.Fatalf("%T %v with %v", view, view, err)
			}
		}
		a, err := nip34.ParseAnnouncement(e)
		check(a, err)
		s, err := nip34.ParseState(e)
		check(s, err)
		p, err := nip34.ParsePatch(e)
		check(p, err)
		pr, err := nip34.ParsePullRequest(e)
		check(pr, err)
		u, err := nip34.ParseUpdate(e)
		check(u, err)
		tip, err := nip34.ParseTip(e)
		check(tip, err)
		i, err := nip34.ParseIssue(e)
		check(i, err)
		st, err := nip34.ParseStatus(e)
		check(st, err)
		c, err := nip34.ParseComment(e)
		check(c, err)
		refs := nip34.References(e)
		if len(refs.Addresses)+len(refs.IDs) > nip34.MaxReferences || len(nip34.Repositories(e)) > nip34.MaxReferences {
			t.Fatal("too many references")
		}
	})
}
