package refdb_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func id(n byte) gitwire.ObjectID { return gitwire.ObjectIDOf([20]byte{n}) }

func sample() refdb.Repository {
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{7}, D: "a:b/c \x00" + strings.Repeat("d", 300)}
	return refdb.Repository{
		Of: of, Dir: refdb.Dir{1, 2}, Bytes: 1 << 40, Moved: 1_700_000_000, Gone: 5,
		Refs: refs.Projection{
			Generation: 300,
			Ruling: refs.Ruling{Ruled: true, State: refs.State{
				Stamp: nostr.Stamp{CreatedAt: -1, ID: nostr.ID{3}}, Author: nostr.PubKey{4}, D: of.D, Head: "refs/heads/main",
				Refs: refs.NewSet([]refs.Ref{{Name: "refs/heads/main", ID: id(1)}, {Name: "refs/tags/v1", ID: id(2)}}),
			}},
			PullRequests: refs.Pulls{
				{Stamp: nostr.Stamp{CreatedAt: 1_700_000_000, ID: nostr.ID{8}}, Author: nostr.PubKey{5}, Tip: id(3)},
				{Stamp: nostr.Stamp{CreatedAt: -7, ID: nostr.ID{9}}, Author: nostr.PubKey{6}, Tip: id(4)},
			},
		},
		Peeled: map[gitwire.ObjectID]gitwire.ObjectID{id(2): id(1), id(1): {}},
	}
}

func TestRowsAreReadAsTheyWereWritten(t *testing.T) {
	for _, r := range []refdb.Repository{sample(), {Of: sample().Of}} {
		row := r.Append(nil)
		got, err := refdb.Parse(row)
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%v\n%+v\n%+v", err, got, r)
		}
		if n, dir, err := refdb.Head(row); err != nil || n != r.Refs.Generation || dir != r.Dir {
			t.Errorf("head: %d %x %v", n, dir, err)
		}
		brief := r
		brief.Refs, brief.Peeled = refs.Projection{Generation: r.Refs.Generation}, nil
		if got, err := refdb.Brief(row); err != nil || !reflect.DeepEqual(got, brief) {
			t.Errorf("in brief: %v\n%+v", err, got)
		}
	}
}

func TestDamagedRowsAreToldApart(t *testing.T) {
	row := sample().Append(nil)
	for n := range row {
		if _, err := refdb.Parse(row[:n]); err == nil {
			t.Fatalf("cut after %d bytes", n)
		}
	}
	if _, err := refdb.Parse(append(row[:len(row):len(row)], 0)); err == nil {
		t.Error("one byte more")
	}
	other := bytes.Clone(row)
	other[0]++
	if _, _, err := refdb.Head(other); err == nil {
		t.Error("another format")
	}
	if _, err := refdb.Brief(other); err == nil {
		t.Error("another format, in brief")
	}
}

func FuzzRow(f *testing.F) {
	f.Add(sample().Append(nil))
	f.Add(refdb.Repository{Of: sample().Of}.Append(nil))
	f.Fuzz(func(t *testing.T, row []byte) {
		r, err := refdb.Parse(row)
		if err != nil {
			return
		}
		again, err := refdb.Parse(r.Append(nil))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%v: %+v, %+v", err, r, again)
		}
	})
}

// rows is one row under a name.
type rows map[string][]byte

func (r rows) Row(name string) ([]byte, error) { return r[name], nil }

func TestARepositoryIsReadFromItsOwnRow(t *testing.T) {
	r := sample()
	if got, err := refdb.Read(rows{refdb.RowName(r.Of): r.Append(nil)}, r.Of); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%v: %+v", err, got)
	}
	other := r.Of
	other.D = "other"
	if got, err := refdb.Read(rows{}, other); err != nil || !reflect.DeepEqual(got, refdb.Repository{Of: other}) {
		t.Errorf("without a row: %v: %+v", err, got)
	}
	if _, err := refdb.Read(rows{refdb.RowName(other): r.Append(nil)}, other); err == nil {
		t.Error("the row of another repository")
	}
}

// Rows of the format before have no times and authors of pull requests.
func TestUndatedRowsAreRead(t *testing.T) {
	want := sample()
	for i := range want.Refs.PullRequests {
		p := &want.Refs.PullRequests[i]
		p.CreatedAt, p.Author = 0, nostr.PubKey{}
	}
	got, err := refdb.Parse(refdb.AppendUndated(nil, want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
}
