package nip34_test

import (
	"reflect"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestParseTip(t *testing.T) {
	one, two := tag("E", id("1").String()), tag("E", id("2").String())
	in := []nip34.Address{repo("alice", "d")}
	for _, tc := range []struct {
		name string
		kind nostr.Kind
		tags nostr.Tags
		want nip34.Tip
	}{
		{"pull request", 1618, nostr.Tags{inRepo, tag("c", oid)}, nip34.Tip{Commit: oid, Repositories: in}},
		{"names a thread", 1618, nostr.Tags{inRepo, tag("c", oid), one}, nip34.Tip{Commit: oid, Repositories: in}},
		{"nothing", 1618, nil, nip34.Tip{}},
		{"no object id", 1618, nostr.Tags{inRepo, tag("c", "main")}, nip34.Tip{Commit: "main", Repositories: in}},
		{"first with a value", 1618, nostr.Tags{tag("c"), tag("c", ""), tag("c", oid), tag("c", oid2)}, nip34.Tip{Commit: oid}},
		{"update", 1619, nostr.Tags{inRepo, tag("c", oid), tag("E", "x"), one, two},
			nip34.Tip{Commit: oid, Repositories: in, Updates: id("1")}},
		{"update without a repository", 1619, nostr.Tags{one, tag("c", oid)}, nip34.Tip{Commit: oid, Updates: id("1")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := nip34.ParseTip(event(tc.kind, tc.tags...))
			tc.want.Event = id("event")
			if err != nil || !reflect.DeepEqual(*got, tc.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	_, err := nip34.ParseTip(event(nip34.KindPatch, tag("c", oid)))
	wantErr(t, err, nip34.ErrKind)
}
