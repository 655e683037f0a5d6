package index

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Sketch tells without a read that a key is not there, which is true of most keys that a decision asks for. It is a Bloom filter of every key of
// some tables that was found at the start or written since, so it holds for every state since the start. Nothing leaves it: a key that is gone,
// or was never committed, costs a read. One goroutine adds keys, any may ask.
type Sketch struct {
	seed   maphash.Seed
	covers [256]bool // tables all of whose keys it knows; set before others see the sketch
	tags   [256]bool // names of tags for which it knows all values of stored events; set before others see the sketch
	layers atomic.Pointer[[]*layer]
	left   int // keys that the last layer has room for
	most   int // keys of a table, or of a tag, that Load reads; one with more is not covered
}

// layer is a part of a fixed size, in blocks of a cache line. A key sets four bits in one block. With 16 bits for each key, about one in 300
// keys that are not there seems to be there.
type layer [][blockWords]atomic.Uint64

const (
	blockWords  = 8
	keysInBlock = 32
	firstKeys   = 1 << 14
	layerGrowth = 4
	maxLayers   = 5 // 11 MB; the last one goes on filling, so that more keys cost a read
	maxSketched = 250_000
)

// sketched has the tables in which decisions look for keys that are mostly not there.
var sketched = []byte{layout.TableID, layout.TableRecord, layout.TableDeletedID, layout.TableDeletedAddress, layout.TableVanished, layout.TableSlot,
	layout.TableTag - layout.FlagBit, layout.TableAuthorKind - layout.FlagBit}

// sketchedTags has the tags that name events, e in either case. Sync asks for each new event who names it, and mostly nobody does.
const sketchedTags = "eq"

// NewSketch makes a sketch that covers no table yet.
func NewSketch() *Sketch {
	k := &Sketch{seed: maphash.MakeSeed(), most: maxSketched}
	k.layers.Store(new([]*layer))
	return k
}

// sketchKey returns the part of a key that the sketch knows: of an index row the value that it stands under.
func sketchKey(key []byte) []byte {
	switch key[0] {
	case layout.TableTag, layout.TableTag - layout.FlagBit, layout.TableAuthorKind - layout.FlagBit:
		return key[:max(len(key)-layout.OrderLen, 1)]
	}
	return key
}

// Load reads the keys in the store. It does not cover a table that it cannot read: whoever needs the table meets the failure.
func (k *Sketch) Load(r pebble.Reader) {
	for _, table := range sketched {
		whole, err := k.loadRange(r, []byte{table})
		k.covers[table] = whole && err == nil
	}
	for _, name := range []byte(sketchedTags) {
		whole, err := k.loadRange(r, []byte{layout.TableTag, name})
		k.tags[name] = whole && err == nil
	}
}

func (k *Sketch) loadRange(r pebble.Reader, prefix []byte) (whole bool, err error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: layout.PrefixEnd(prefix)})
	if err != nil {
		return false, err
	}
	defer CloseAfter(it.Close, &err)
	n := 0
	for it.First(); it.Valid(); it.Next() {
		if n++; n > k.most {
			return false, nil
		}
		k.add(sketchKey(it.Key()))
	}
	return true, it.Error()
}

// Wrote adds a key that the writer puts into the open batch.
func (k *Sketch) Wrote(key []byte) {
	if k.knows(key) {
		k.add(sketchKey(key))
	}
}

// knows reports whether the sketch covers keys like this one.
func (k *Sketch) knows(key []byte) bool {
	return k.covers[key[0]] || key[0] == layout.TableTag && k.tags[key[1]]
}

// Lacks reports whether a key is certainly not there; of a flagged index or a tag, whether nothing stands under its value.
func (k *Sketch) Lacks(key []byte) bool {
	return k.knows(key) && !k.has(key)
}

// Unknown reports whether an id is certainly neither stored nor remembered.
func (k *Sketch) Unknown(id nostr.ID) bool {
	return k.Lacks(layout.IDKey(layout.TableID, id)) && k.Lacks(layout.IDKey(layout.TableRecord, id))
}

// add adds a key, unless the sketch has it: many rows stand under one value.
func (k *Sketch) add(key []byte) {
	if k.has(key) {
		return
	}
	layers := *k.layers.Load()
	if k.left == 0 && len(layers) < maxLayers {
		size := firstKeys
		for range layers {
			size *= layerGrowth
		}
		l := make(layer, size/keysInBlock)
		layers = append(layers[:len(layers):len(layers)], &l)
		k.layers.Store(&layers)
		k.left = size
	}
	k.left = max(k.left-1, 0)
	h := maphash.Bytes(k.seed, key)
	block := layers[len(layers)-1].block(h)
	for range 4 {
		block[h%blockWords].Or(1 << (h / blockWords % 64))
		h >>= 9
	}
}

func (k *Sketch) has(key []byte) bool {
	h := maphash.Bytes(k.seed, key)
	for _, l := range *k.layers.Load() {
		if l.has(h) {
			return true
		}
	}
	return false
}

// block returns the block of a hash, which the upper half chooses. The lower half chooses the bits in it.
func (l *layer) block(h uint64) *[blockWords]atomic.Uint64 {
	return &(*l)[(h>>36)%uint64(len(*l))]
}

func (l *layer) has(h uint64) bool {
	block := l.block(h)
	for range 4 {
		if block[h%blockWords].Load()&(1<<(h/blockWords%64)) == 0 {
			return false
		}
		h >>= 9
	}
	return true
}
