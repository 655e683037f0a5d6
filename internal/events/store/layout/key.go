package layout

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// One ordered key space holds everything. The first byte of a key is its table:
//
//	m name                               -> meta data: format version, rules, counters; with a commit log, the place in it, and who leads
//	l seq                                -> header, JSON of the event           (the log)
//	x seq                                -> reason, id                          (removals, since the last Open)
//	i id                                 -> what a row holds, and the time
//	index table, value, time, id         -> seq, kind, expiration, cases        (one row per thing to be found by)
//	flagged table, value, time, id       -> rules epoch, kind, why, cases       (the same for remembered events)
//	r id                                 -> the facts of a remembered event
//	q due, id                            -> nothing                             (in which order they are forgotten)
//	s address                            -> the newest version ever accepted
//	n hash of d, seq                     -> seq of the announcement             (in order of first acceptance)
//	d id, author / D address             -> time of the newest deletion, end    (D with an end: author)
//	e expiration, id                     -> nothing
//	v author                             -> the author's newest request to vanish
//	w reason, author                     -> until when, and how far             (removals of an author's events under way)
//	u author, seq                        -> first tag left, time, id            (deletions of which not all is done)
//	c author                             -> how many marks d and D the author's deletions have left, and how many of the deletions are unused
//	U due, id / C id                     -> author / due                        (deletions that have removed nothing, as they age)
//	j seq                                -> header, JSON of an event that waits (the log's twin)
//	o id                                 -> seq, and how it waits
//	h until, id                          -> nothing                             (in which order waits are over)
//	z address                            -> time, id                            (the version that waits)
//	y hash of d, seq                     -> nothing                             (announcements that wait)
//	f author, seq                        -> nothing                             (what of an author waits)
//	S case, seq                          -> header, JSON of the event           (put aside, from the log)
//	p name                               -> a note                              (nothing to do with events)
//	R name                               -> a row                               (changes with events)
//
// Numbers are big endian, so that bytes sort as numbers do. Times in index keys are inverted, so that an index reads as NIP-01 wants it: newest
// first, lowest id first. An event has about eight rows. Its whole id in each takes some 260 bytes on disk. That makes lists of (time, id) ten
// times cheaper than a look into another table for each (0.3 µs instead of 3), and lets indexes be intersected without reading events.
//
// Rows are most of the cost of writing an event, so there is no row that others can stand for. Lists by time alone and by author alone are merged
// from the rows of the usual kinds; events of other kinds have rows for them (kinds.go). And a tag of NIP-22 shares a row with the same value
// under the other case of its name: cases says which the event has.
const (
	TableMeta           = 'm'
	TableLog            = 'l'
	TableRemoved        = 'x'
	TableID             = 'i'
	TableRecord         = 'r'
	TableQueue          = 'q'
	TableSlot           = 's'
	TableAnnouncement   = 'n'
	TableDeletedID      = 'd'
	TableDeletedAddress = 'D'
	TableExpiry         = 'e'
	TableVanished       = 'v'
	TablePurge          = 'w'
	TableUnfinished     = 'u'
	TableMarks          = 'c'
	TableUnused         = 'U'
	TableUnusedDue      = 'C'
	TableNote           = 'p'
	TableRow            = 'R'
	TableAside          = 'S'

	// Of events that wait.
	TableWaiting        = 'j'
	TableWait           = 'o'
	TableWaitOver       = 'h'
	TableWaitSlot       = 'z'
	TableWaitRepository = 'y'
	TableWaitAuthor     = 'f'

	// Index tables. The flagged table of each is its capital.
	TableTime       = 't' // of events whose kind is not usual
	TableKind       = 'k'
	TableAuthor     = 'a' // of events whose kind is not usual
	TableAuthorKind = 'b'
	TableTag        = 'g' // followed by the name under which the tag's rows stand

	FlagBit = 'a' - 'A'
)

// HashLen is how many bytes of SHA-256 stand for a value (of a tag, or an address), and how many bytes of a public key stand for the key. With 128
// bits nobody can make two values collide, so rows need no second look.
const HashLen = 16

// OrderLen is the length of the part of an index key that sorts: inverted time, id.
const OrderLen = 8 + 32

// Hash stands for a value in keys.
type Hash [HashLen]byte

// HashOf returns the beginning of SHA-256 of a value.
func HashOf(value string) Hash {
	var short [192]byte // has room for an id or an address, without an allocation
	sum := sha256.Sum256(append(short[:0], value...))
	return Hash(sum[:HashLen])
}

// numberKey returns the key of a number in a table.
func numberKey(table byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{table}, n)
}

// IDKey returns the key of an event's id, or of a public key, in a table.
func IDKey(table byte, id nostr.ID) []byte {
	return append(append(make([]byte, 0, 1+len(id)), table), id[:]...)
}

// HashKey returns the key of a value's hash in a table.
func HashKey(table byte, h Hash) []byte {
	return append(append(make([]byte, 0, 1+len(h)), table), h[:]...)
}

// MetaKey returns the key of a piece of meta data.
func MetaKey(name string) []byte { return append([]byte{TableMeta}, name...) }

// NoteKey returns the key of a note.
func NoteKey(name string) []byte { return append([]byte{TableNote}, name...) }

// LogKey returns the key of an entry in the log.
func LogKey(s Seq) []byte { return numberKey(TableLog, uint64(s)) }

// RemovedKey returns the key of an entry that says that an event was removed.
func RemovedKey(s Seq) []byte { return numberKey(TableRemoved, uint64(s)) }

// TimedKey returns a key of a table with ascending times: time, then id.
func TimedKey(table byte, at int64, id nostr.ID) []byte {
	return append(numberKey(table, uint64(max(at, 0))), id[:]...)
}

// ParseTimedKey reads a TimedKey.
func ParseTimedKey(k []byte) (at int64, id nostr.ID, ok bool) {
	if len(k) != 1+8+32 {
		return 0, id, false
	}
	return int64(binary.BigEndian.Uint64(k[1:])), nostr.ID(k[9:]), true
}

// DeletedIDKey returns the key of the mark that an author's deletions left for an id.
func DeletedIDKey(id nostr.ID, author nostr.PubKey) []byte {
	return append(append(append(make([]byte, 0, 1+len(id)+len(author)), TableDeletedID), id[:]...), author[:]...)
}

// AnnouncementKey returns the key of an address among the announcements with that d. first is the entry by which the address came.
func AnnouncementKey(d Hash, first Seq) []byte {
	return binary.BigEndian.AppendUint64(HashKey(TableAnnouncement, d), uint64(first))
}

// The prefixes of the index tables: what all rows of one value have in common.

// TimePrefix returns the prefix of all events whose kind is not usual.
func TimePrefix() []byte { return []byte{TableTime} }

// KindPrefix returns the prefix of the events of a kind.
func KindPrefix(k nostr.Kind) []byte {
	return binary.BigEndian.AppendUint16([]byte{TableKind}, uint16(k))
}

// AuthorPrefix returns the prefix of an author's events whose kind is not usual.
func AuthorPrefix(p nostr.PubKey) []byte {
	return append([]byte{TableAuthor}, p[:HashLen]...)
}

// OwnPrefix returns the prefix of all events of an author, kind by kind.
func OwnPrefix(p nostr.PubKey) []byte { return appendOwn(nil, p) }

func appendOwn(dst []byte, p nostr.PubKey) []byte {
	return append(append(dst, TableAuthorKind), p[:HashLen]...)
}

// AuthorKindPrefix returns the prefix of an author's events of a kind.
func AuthorKindPrefix(p nostr.PubKey, k nostr.Kind) []byte { return AppendAuthorKind(nil, p, k) }

// AppendAuthorKind appends AuthorKindPrefix to dst.
func AppendAuthorKind(dst []byte, p nostr.PubKey, k nostr.Kind) []byte {
	return binary.BigEndian.AppendUint16(appendOwn(dst, p), uint16(k))
}

// TagPrefix returns the prefix of the rows of a tag's value, for both cases where these share rows.
func TagPrefix(name byte, h Hash) []byte { return appendTagPrefix(nil, name, h) }

func appendTagPrefix(dst []byte, name byte, h Hash) []byte {
	name, _ = Shared(name)
	return append(append(dst, TableTag, name), h[:]...)
}

// MaxPrefix is the length of the longest prefix of an index table.
const MaxPrefix = 1 + HashLen + 2

// Flagged turns a prefix of an index table into that of the flagged table, in place, and returns its argument.
func Flagged(prefix []byte) []byte {
	prefix[0] -= FlagBit
	return prefix
}

// OrderOf returns the last OrderLen bytes of an index key: inverted time, id.
func OrderOf(time int64, id nostr.ID) (o [OrderLen]byte) {
	binary.BigEndian.PutUint64(o[:], ^uint64(time))
	copy(o[8:], id[:])
	return o
}

// TimeOf returns the unix time in an order by OrderOf.
func TimeOf(o [OrderLen]byte) int64 { return int64(^binary.BigEndian.Uint64(o[:])) }

// AppendOrder appends the inverted time and the id to a prefix of an index table.
func AppendOrder(prefix []byte, time int64, id nostr.ID) []byte {
	o := OrderOf(time, id)
	return append(prefix, o[:]...)
}

// RowID returns the id in an index key.
func RowID(key []byte) (id nostr.ID, ok bool) {
	if len(key) < 1+OrderLen {
		return id, false
	}
	return nostr.ID(key[len(key)-len(id):]), true
}

// PrefixEnd returns the first key after all that begin with prefix.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// Behind returns the place right after o; the last place of all is behind itself.
func Behind(o [OrderLen]byte) [OrderLen]byte {
	next := o
	for i := OrderLen - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			return next
		}
	}
	return o
}
