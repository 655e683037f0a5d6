package refdb_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func sampleUpload() refdb.Upload {
	return refdb.Upload{
		Name: [16]byte{1, 15: 2}, Of: nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{7}, D: "a:b"}, Network: "2001:db8::/48", Until: 1 << 40,
		Tips:  []refs.Tip{{Event: nostr.ID{3}, ID: id(4)}, {Event: nostr.ID{5}, ID: id(6)}},
		Packs: refdb.Manifest{pack(9)},
	}
}

func TestUploadsAreReadAsTheyWereWritten(t *testing.T) {
	bare := sampleUpload()
	bare.Network, bare.Packs = "", refdb.Manifest{}
	for _, u := range []refdb.Upload{sampleUpload(), bare} {
		row := u.Append(nil)
		if got, err := refdb.ParseUpload(u.RowName(), row); err != nil || !reflect.DeepEqual(got, u) {
			t.Errorf("%v\n%+v\n%+v", err, got, u)
		}
		for n := range row {
			if _, err := refdb.ParseUpload(u.RowName(), row[:n]); err == nil {
				t.Fatalf("cut after %d bytes", n)
			}
		}
	}
	bad := map[string]refdb.Upload{}
	change := func(what string, do func(*refdb.Upload)) {
		u := sampleUpload()
		do(&u)
		bad[what] = u
	}
	change("no tips", func(u *refdb.Upload) { u.Tips = nil })
	change("too many tips", func(u *refdb.Upload) { u.Tips = make([]refs.Tip, refs.MaxPushTips+1) })
	change("a long network", func(u *refdb.Upload) { u.Network = strings.Repeat("x", 65) })
	change("no time", func(u *refdb.Upload) { u.Until = -1 })
	change("no address", func(u *refdb.Upload) { u.Of.Kind = 1 })
	for what, u := range bad {
		if got, err := refdb.ParseUpload(u.RowName(), u.Append(nil)); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	row := sampleUpload().Append(nil)
	for _, name := range []string{"", "upload/", "upload/00", sampleUpload().RowName() + "00", "upload/" + strings.Repeat("x", 32)} {
		if got, err := refdb.ParseUpload(name, row); err == nil {
			t.Errorf("named %q: %+v", name, got)
		}
	}
	if _, err := refdb.ParseUpload(sampleUpload().RowName(), append([]byte{2}, row[1:]...)); err == nil {
		t.Error("another format")
	}
}

func FuzzUpload(f *testing.F) {
	name := sampleUpload().RowName()
	f.Add(sampleUpload().Append(nil))
	f.Fuzz(func(t *testing.T, row []byte) {
		u, err := refdb.ParseUpload(name, row)
		if err != nil {
			return
		}
		again, err := refdb.ParseUpload(name, u.Append(nil))
		if err != nil || !reflect.DeepEqual(again, u) {
			t.Fatalf("%v: %+v, %+v", err, u, again)
		}
	})
}

// TestUploadsOfTheLastTerm: they are found by events that come, those whose events came before are told, and those in the trash are not held.
func TestUploadsOfTheLastTerm(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	waits, served, later := d.pullRequest(2, 4, repo), d.pullRequest(2, 1, repo), d.pullRequest(3, 6, repo)
	d.wants(refs.Wait, waits)
	d.wants(refs.Store, served)
	u := sampleUpload()
	u.Of, u.Tips = addressOf(repo), nil
	for i, e := range []*nostr.Event{waits, served, later} {
		u.Tips = append(u.Tips, refs.Tip{Event: e.ID, ID: id(byte(4 + i))})
	}
	d.must(d.turn(func(x refdb.Turn) error { return d.ledger.Hold(x, u) }))
	v := d.store.View()
	row, err := v.Row(u.RowName())
	v.Close()
	if got, bad := refdb.ParseUpload(u.RowName(), row); err != nil || bad != nil || !reflect.DeepEqual(got, u) {
		t.Errorf("%v, %v, %+v", err, bad, got)
	}
	d.restart()
	var n uint64
	d.must(d.turn(func(x refdb.Turn) (err error) {
		var came []nostr.ID
		n, came, err = d.ledger.Reopen(x, u, 77)
		if !reflect.DeepEqual(came, []nostr.ID{waits.ID, served.ID}) {
			t.Errorf("%v came", came)
		}
		return err
	}))
	if events, bytes := d.ledger.Uploads(); events != 3 || bytes != 77 {
		t.Errorf("%d events, %d bytes", events, bytes)
	}
	d.found = nil
	d.come(later)
	if len(d.found) != 1 || !strings.HasSuffix(d.found[0], later.ID.String()) {
		t.Errorf("%q, of upload %d", d.found, n)
	}
	d.must(d.turn(func(x refdb.Turn) error { return d.ledger.Forget(x, []string{u.RowName()}) }))
	d.must(d.turn(func(x refdb.Turn) error { return d.ledger.Trash(x, []string{pack(9).Object()}) }))
	if err := d.turn(func(x refdb.Turn) error { return d.ledger.Hold(x, u) }); !errors.Is(err, refdb.ErrTrashed) {
		t.Error(err)
	}
	v = d.store.View()
	defer v.Close()
	if row, err := v.Row(u.RowName()); err != nil || !bytes.Equal(row, nil) {
		t.Errorf("%x, %v", row, err)
	}
}
