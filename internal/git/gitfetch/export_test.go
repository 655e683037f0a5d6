package gitfetch

import (
	"io"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/pktline"
)

// Offer is what a server offers, as it is read.
type Offer struct {
	Version gitwire.Version
	Refs    *gitwire.Refs
	ByID    bool
	Asked   []byte // what would be asked of it for a pack of one object
}

// ReadAdvert reads an answer to info/refs.
func ReadAdvert(r io.Reader, most int64, refs int) (Offer, error) {
	a, err := readAdvert(lines{pktline.NewReader(r, most)}, refs)
	if err != nil {
		return Offer{}, err
	}
	o := Offer{Version: a.version, Refs: a.refs.list(), ByID: a.byID()}
	o.Asked, _ = a.askPack("graspd", []gitwire.ObjectID{gitwire.ObjectIDOf([20]byte{1})}, nil)
	return o, nil
}

// ReadRefs reads an answer to ls-refs.
func ReadRefs(r io.Reader, most int64, refs int) (*gitwire.Refs, error) {
	s := newShown(refs)
	err := readRefs(lines{pktline.NewReader(r, most)}, s)
	return s.list(), err
}

// ReadPack reads an answer with a pack.
func ReadPack(r io.Reader, v gitwire.Version, most int64) ([]byte, error) {
	left := most
	p, err := openPack(lines{pktline.NewReader(r, 2*most+1000)}, v, &left)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(p)
}
