package refdb

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// UploadPrefix is the beginning of the names of rows with an Upload.
const UploadPrefix = "upload/"

// Upload is what a row keeps of commits that were pushed before their events, where packs are kept in an object store: whoever pushed heard that they
// are here. The next term has them from there.
type Upload struct {
	Name    [16]byte // random
	Of      nip34.Address
	Network string // from where they were pushed; may be empty
	Until   int64  // unix time at which they wait no longer
	Tips    []refs.Tip
	Packs   Manifest // what they need beside the repository; empty where that is nothing
}

// RowName returns the name of the upload's row.
func (u Upload) RowName() string { return UploadPrefix + hex.EncodeToString(u.Name[:]) }

const uploadFormat = 1 // the first byte of an upload's row

const maxNetwork = 64 // bytes of the name of a network

var errUpload = errors.New("the row of an upload is damaged")

// Append appends the row: the format, the address and the network with their lengths before them, the time, how many tips there are and each, and then
// the manifest as that has its row.
func (u Upload) Append(dst []byte) []byte {
	dst = appendText(appendText(append(dst, uploadFormat), u.Of.String()), u.Network)
	dst = binary.AppendUvarint(dst, uint64(u.Until))
	dst = binary.AppendUvarint(dst, uint64(len(u.Tips)))
	for _, t := range u.Tips {
		dst = appendID(append(dst, t.Event[:]...), t.ID)
	}
	return u.Packs.Append(dst)
}

// ParseUpload reads the row of an upload, which has that name.
func ParseUpload(name string, row []byte) (u Upload, err error) {
	p := parser{b: row}
	if f := p.byte(); f != uploadFormat {
		p.fail(fmt.Sprintf("format %d", f))
	}
	u.Of, u.Network = p.address(), p.text()
	until := p.number()
	if len(u.Network) > maxNetwork || until > 1<<62 {
		p.fail("network or time")
	}
	u.Until = int64(until)
	n := p.count(len(nostr.ID{}) + idLen)
	if n < 1 || n > refs.MaxPushTips {
		p.fail("number of tips")
		n = 0
	}
	for range n {
		var t refs.Tip
		copy(t.Event[:], p.take(len(t.Event)))
		t.ID = p.id()
		u.Tips = append(u.Tips, t)
	}
	raw, bad := hex.DecodeString(name[min(len(name), len(UploadPrefix)):])
	if p.err == nil && (bad != nil || len(raw) != len(u.Name)) {
		p.fail("name")
	}
	if p.err != nil {
		return Upload{}, fmt.Errorf("%w: %w", errUpload, p.err)
	}
	copy(u.Name[:], raw)
	if u.Packs, err = ParseManifest(p.b); err != nil {
		return Upload{}, fmt.Errorf("%w: %w", errUpload, err)
	}
	return u, nil
}

// Hold keeps an upload, whose objects are in the object store.
func (l *Ledger) Hold(t Turn, u Upload) error {
	if err := taken(t, nil, u.Packs); err != nil {
		return err
	}
	return t.SetRow(u.RowName(), u.Append(nil))
}

// Reopen counts an upload that a term before has held, as its row says. It returns the number of the upload, and for which of its tips the events have
// come already, served or waiting: Outcomes does not have those.
func (l *Ledger) Reopen(t Turn, u Upload, bytes int64) (n uint64, came []nostr.ID, err error) {
	for _, x := range u.Tips {
		k, err := t.Known(x.Event)
		if err != nil {
			return 0, nil, err
		}
		if k.State == store.Stored || k.State == store.InWaiting {
			came = append(came, x.Event)
		}
	}
	n = l.pending.Begin(t.Now.Unix(), u.Of, refs.From{Network: u.Network}, u.Tips)
	l.inBatch.begin(n)
	l.pending.Resize(n, bytes)
	l.inBatch.file(n, u.Tips)
	return n, came, nil
}
